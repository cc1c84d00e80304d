/* Writing one record of magic 2 into memory that was measured before.
 *
 * A record is: length, attributes (0), timestamp delta, offset delta, key length, key, value length, value, headers.
 * Knows no Python object; needs no GIL.
 */
#ifndef KCLI_WRITER_H
#define KCLI_WRITER_H

#include "copy.h"
#include "varint.h"

/* Bytes that belong to somebody else; data is NULL for Kafka's null, which is not the same as no bytes. */
struct span {
    const uint8_t *data;
    size_t size;
};

struct fields {
    struct span key;
    struct span value;
    struct span headers; /* an encoded block */
    int64_t timestamp_delta;
    int64_t offset_delta;
};

/* The size of a key or value with its length in front. */
static inline size_t
field_size(struct span field)
{
    return field.data == NULL ? 1 : length_size(field.size) + field.size;
}

/* What the length in front of a record says: the size of all that follows it. */
static inline size_t
body_size(const struct fields *record)
{
    return 1 + varint_size(record->timestamp_delta) + varint_size(record->offset_delta)
           + field_size(record->key) + field_size(record->value) + record->headers.size;
}

/* The size of the whole record. */
static inline size_t
record_size(size_t body)
{
    return length_size(body) + body;
}

static inline uint8_t *
write_bytes(uint8_t *at, struct span bytes)
{
    if (bytes.size == 1) { /* an empty header block, a delimiter: not worth a call */
        *at = bytes.data[0];
        return at + 1;
    }
    copy_bytes(at, bytes.data, bytes.size);
    return at + bytes.size;
}

static inline uint8_t *
write_field(uint8_t *at, struct span field)
{
    if (field.data == NULL)
        return write_varint(at, -1);
    return write_bytes(write_varint(at, (int64_t)field.size), field);
}

/* Writes all of a record but its headers, where ``body`` is body_size(record), and returns the place behind that. */
static inline uint8_t *
write_front(uint8_t *at, const struct fields *record, size_t body)
{
    at = write_varint(at, (int64_t)body);
    *at++ = 0; /* attributes */
    at = write_varint(at, record->timestamp_delta);
    at = write_varint(at, record->offset_delta);
    at = write_field(at, record->key);
    return write_field(at, record->value);
}

/* Writes record_size(body) bytes and returns the place behind them. */
static inline uint8_t *
write_record(uint8_t *at, const struct fields *record, size_t body)
{
    return write_bytes(write_front(at, record, body), record->headers);
}

#endif
