/* The records that pass some predicates, read out of batches and runs. Knows no Python object; needs no GIL. */
#ifndef KCLI_ARROW_ROWS_H
#define KCLI_ARROW_ROWS_H

#include "reader.h"
#include "scratch.h"
#include "writer.h"

enum {
    CREATE_TIME = 0,
    LOG_APPEND_TIME = 1,
    NO_TIMESTAMP = -1, /* as a timestamp, and as its type */
    NO_EPOCH = -1,
    FRAMED = -1, /* as the count of a part: it is a run of whole batches, each with its header */
};

/* The records of one batch, or of a run, and what they have in common. */
struct part {
    const uint8_t *data;
    int64_t size;
    int64_t count;
    int64_t base_offset;
    int64_t last_delta;
    int64_t base_timestamp;
    int64_t max_timestamp;
    int64_t timestamp_type;
    int64_t leader_epoch;
    int64_t first; /* the offsets that are wanted: from here */
    int64_t last;  /* to here */
};

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

enum verdict {
    GOOD,
    CORRUPT,    /* as ``fault`` says */
    NO_RUN,     /* the data is no run of batches */
    BAD_PART,   /* offsets that cannot be */
    NO_MEMORY,
    TOO_LARGE,  /* for 32-bit offsets */
    BAD_NAME,   /* a header name that is not UTF-8 */
};

/* An order in which keys can be searched: by size first. */
int compare_keys(const void *one, const void *other);

/* Adds the wanted records of a part. Every record of it is checked, wanted or not. */
enum verdict add_part(struct rows *rows, const struct part *part);

#endif
