/* Reading the usual record without a call: lengths and deltas of up to four bytes, and no headers.
 *
 * All that it takes is checked as in reader.c; what is unusual, wrong, or too near the end, it leaves to that.
 */
#ifndef KCLI_QUICK_H
#define KCLI_QUICK_H

#include "reader.h"

enum {
    QUICK_VARINT = 4,  /* bytes */
    QUICK_WINDOW = 24, /* record length, attributes, two deltas, two lengths, header count */
};

/* How many bytes the varint has, QUICK_VARINT at most; 0 when it is longer. So many can be read. */
static inline int
quick_varint(const uint8_t *at, uint32_t *raw)
{
    uint32_t digits = at[0];
    if (digits < 0x80) {
        *raw = digits;
        return 1;
    }
    digits = (digits & 0x7F) | (uint32_t)at[1] << 7;
    if (at[1] < 0x80) {
        *raw = digits;
        return 2;
    }
    digits = (digits & 0x3FFF) | (uint32_t)at[2] << 14;
    if (at[2] < 0x80) {
        *raw = digits;
        return 3;
    }
    *raw = (digits & 0x1FFFFF) | (uint32_t)at[3] << 21;
    return at[3] < 0x80 ? 4 : 0;
}

/* A key or value whose length is at ``at``; false for what is not usual. Odd in zigzag form is negative. */
static inline bool
quick_bytes(const uint8_t *data, int64_t *at, int64_t record_end, int64_t *start, int64_t *end)
{
    uint32_t raw;
    const int width = quick_varint(data + *at, &raw);
    if (!width)
        return false;
    if (raw == 1) {
        *start = *end = -1;
        *at += width;
        return true;
    }
    *start = *at + width;
    *end = *at = *start + (raw >> 1);
    return !(raw & 1) && *end <= record_end;
}

/* False, with nothing read, for a record that is not usual. */
static inline bool
read_quickly(struct reader *reader, struct record *record)
{
    const uint8_t *data = reader->data;
    uint32_t length, time, offset;
    int64_t at = reader->at;
    if (reader->size - at < QUICK_WINDOW)
        return false;
    int width = quick_varint(data + at, &length);
    at += width;
    record->end = at + (length >> 1);
    if (!width || length & 1 || record->end > reader->size)
        return false;
    at += 1; /* attributes */
    width = quick_varint(data + at, &time);
    at += width;
    if (!width)
        return false;
    width = quick_varint(data + at, &offset);
    at += width;
    if (!width || !quick_bytes(data, &at, record->end, &record->key, &record->key_end)
        || reader->size - at < QUICK_VARINT
        || !quick_bytes(data, &at, record->end, &record->value, &record->value_end))
        return false;
    if (at + 1 != record->end || data[at])
        return false;
    record->timestamp_delta = unzigzag(time);
    record->offset_delta = (int32_t)unzigzag(offset);
    record->headers = at;
    record->header_count = 0;
    reader->at = record->end;
    return true;
}

/* As read_record. */
static inline bool
next_record(struct reader *reader, struct record *record)
{
    return read_quickly(reader, record) || read_record(reader, record);
}

#endif
