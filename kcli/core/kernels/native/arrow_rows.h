/* The records that pass some predicates, read out of batches and runs. Knows no Python object; needs no GIL. */
#ifndef KCLI_ARROW_ROWS_H
#define KCLI_ARROW_ROWS_H

#include "parts.h"
#include "scratch.h"
#include "writer.h"

enum { NO_EPOCH = -1 };

/* Which records are wanted. Keys are in the order of compare_keys. */
struct filter {
    bool by_time;
    int64_t since;
    int64_t until;
    bool by_key;
    const struct span *keys;
    size_t key_count;
    bool null_key;
    bool not_null;
};

/* A record that is wanted: a null has no data. One line of the processor's cache. */
struct row {
    const uint8_t *key;
    const uint8_t *value;
    const uint8_t *headers; /* the block, with its count */
    int64_t offset;
    int64_t timestamp;
    int32_t key_size;
    int32_t value_size;
    int32_t headers_size;
    int32_t header_count;
    int32_t leader_epoch;
    int8_t timestamp_type;
    uint8_t not_text; /* a bit for each field that turned out not to be UTF-8 */
};

struct rows {
    struct filter filter;
    struct scratch scratch;
    struct row *items; /* in there */
    int64_t count;
    int64_t room;
    int64_t seen; /* records at wanted offsets, whether they passed the filter or not */
    struct corruption fault;
};

/* An order in which keys can be searched: by size first. */
int compare_keys(const void *one, const void *other);

/* Adds the wanted records of a part. Every record of it is checked, wanted or not. */
enum verdict add_part(struct rows *rows, const struct part *part);

#endif
