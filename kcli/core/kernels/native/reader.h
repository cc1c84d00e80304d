/* Reading records and headers out of untrusted bytes, one after the other.
 *
 * Every length is checked against the bytes that are there before it is believed, and no byte behind the payload is
 * ever read. Positions are numbers, not pointers: a pointer past its buffer may not even be computed in C, and the
 * numbers are what an error names. Knows no Python object; needs no GIL.
 */
#ifndef KCLI_READER_H
#define KCLI_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "varint.h"

enum {
    SMALLEST_RECORD = 7, /* seven fields of at least one byte each */
    SMALLEST_HEADER = 2, /* two lengths */
};

/* What contradicts itself. Kernels run without the GIL, so they only note it; module.c raises it later. */
struct corruption {
    int64_t position; /* in the decompressed payload */
    const char *why;  /* a format with up to two %lld */
    long long first;
    long long second;
};

struct reader {
    const uint8_t *data;
    int64_t size;
    int64_t at;
    int64_t item;    /* where the record or header begins that is being read */
    const char *cut; /* what it means when the payload ends inside of it */
    struct corruption fault;
};

/* Positions in the payload, as in Columns of the pure twin; a null starts and ends at -1. */
struct record {
    int64_t timestamp_delta;
    int32_t offset_delta;
    int32_t header_count;
    int64_t key, key_end;
    int64_t value, value_end;
    int64_t headers; /* the header block, from its count on; it ends where the record ends */
    int64_t end;
};

struct header {
    int64_t name, name_end;
    int64_t value, value_end; /* value is -1 for a null */
};

static inline struct reader
open_reader(const void *data, int64_t size)
{
    return (struct reader){.data = data, .size = size};
}

/* False, for the caller to return; ``fault`` tells the rest. */
bool refuse(struct reader *reader, int64_t position, const char *why, long long first, long long second);

/* A varint of any length, 32 or 64 bits wide. */
bool read_long_varint(struct reader *reader, int limit, int bits, int64_t *value);

/* An int32. Lengths and deltas have one or two bytes nearly always: these are read here, without a call. */
static inline bool
read_varint(struct reader *reader, int32_t *value)
{
    if (reader->at + 2 <= reader->size) {
        const uint32_t low = reader->data[reader->at];
        const uint32_t high = reader->data[reader->at + 1];
        if (low < 0x80) {
            *value = (int32_t)unzigzag(low);
            reader->at += 1;
            return true;
        }
        if (high < 0x80) {
            *value = (int32_t)unzigzag((low & 0x7F) | high << 7);
            reader->at += 2;
            return true;
        }
    }
    int64_t wide;
    if (!read_long_varint(reader, VARINT_BYTES, 32, &wide))
        return false;
    *value = (int32_t)wide;
    return true;
}

/* An int64. */
static inline bool
read_varlong(struct reader *reader, int64_t *value)
{
    if (reader->at < reader->size && reader->data[reader->at] < 0x80) {
        *value = unzigzag(reader->data[reader->at]);
        reader->at += 1;
        return true;
    }
    return read_long_varint(reader, VARLONG_BYTES, 64, value);
}

/* Whether ``count`` records fit into the payload; to be checked before memory is allocated for them. */
bool check_count(struct reader *reader, int64_t count);

/* The record at ``reader->at``, its headers checked and counted; leaves the reader behind it. */
bool read_record(struct reader *reader, struct record *record);

/* The payload must end where its last record does. */
bool check_end(struct reader *reader);

/* The number of headers in a block that ends at ``end``, with a check that so many can stand there. */
bool read_header_count(struct reader *reader, int64_t end, int32_t *count);

/* The headers from ``reader->at`` on, with their count in front, are all that there is before ``end``. */
bool check_headers(struct reader *reader, int64_t end);

/* The next header of a block that ends at ``end``. */
bool read_header(struct reader *reader, int64_t end, struct header *header);

#endif
