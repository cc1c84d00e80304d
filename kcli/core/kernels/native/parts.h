/* Parts: the records of batches and runs, in the order of their offsets. Knows no Python object; needs no GIL.
 *
 * A part is of one batch, or of a run of whole batches, each of which is a part of its own (``read_part``).
 */
#ifndef KCLI_PARTS_H
#define KCLI_PARTS_H

#include "quick.h"

enum {
    CREATE_TIME = 0,
    LOG_APPEND_TIME = 1,
    NO_TIMESTAMP = -1, /* as a timestamp, and as its type */
    FRAMED = -1, /* as the count of a part: it is a run of whole batches, each with its header */
};

enum verdict {
    GOOD,
    CORRUPT,    /* as a fault says */
    NO_RUN,     /* the data is no run of batches */
    BAD_PART,   /* offsets that cannot be */
    NO_MEMORY,
    TOO_LARGE,  /* for 32-bit offsets */
    BAD_NAME,   /* a header name that is not UTF-8 */
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

/* Reads the records of a batch. All zero but for what begin_scan sets. */
struct scan {
    const struct part *part;
    struct reader reader;
    int64_t left;           /* records */
    int64_t before;         /* the last offset delta */
    bool cut;               /* a record is missing or not well-formed: ``reader.fault`` */
    struct corruption odd;  /* the first record that is well-formed and still cannot be */
};

/* Reads the records of one batch, whose data are only these. */
typedef enum verdict read_batch(void *reading, const struct part *batch);

/* Has the batches of a part read in their order, until one is not GOOD. */
enum verdict read_part(const struct part *part, read_batch *read, void *reading);

/* False: the offsets cannot be. Data too small for the records are a fault that ``end_scan`` returns. */
static inline bool
begin_scan(struct scan *scan, const struct part *part)
{
    if (part->base_offset < 0 || part->last_delta < 0 || part->last_delta > INT32_MAX
        || part->base_offset > INT64_MAX - part->last_delta)
        return false;
    *scan = (struct scan){.part = part, .left = part->count, .before = -1};
    scan->reader = open_reader(part->data, part->size);
    if (!check_count(&scan->reader, part->count)) {
        scan->cut = true;
        scan->left = 0;
    }
    return true;
}

/* Notes the first record at ``at`` that is well-formed and still cannot be. */
static inline void
check_deltas(struct scan *scan, const struct record *record, int64_t at)
{
    int64_t unused;
    const struct part *part = scan->part;
    const int64_t delta = record->offset_delta;
    if (scan->odd.why != NULL)
        return;
    if (delta <= scan->before)
        scan->odd = (struct corruption){at, "the offset delta %lld follows %lld", delta, scan->before};
    else if (delta > part->last_delta)
        scan->odd = (struct corruption){at, "the offset delta is %lld, the last should be %lld", delta,
                                        part->last_delta};
    else if (part->timestamp_type != LOG_APPEND_TIME
             && __builtin_add_overflow(part->base_timestamp, record->timestamp_delta, &unused))
        scan->odd = (struct corruption){at, "the timestamp is no int64", 0, 0};
}

/* The next record at a wanted offset; the others are checked too. False at the end, and where a record is damaged. */
static inline bool
next_wanted(struct scan *scan, struct record *record)
{
    while (scan->left > 0) {
        const int64_t at = scan->reader.at;
        scan->left -= 1;
        if (!next_record(&scan->reader, record)) {
            scan->cut = true;
            scan->left = 0;
            return false;
        }
        check_deltas(scan, record, at);
        scan->before = record->offset_delta;
        const int64_t offset = scan->part->base_offset + record->offset_delta;
        if (scan->odd.why == NULL && offset >= scan->part->first && offset <= scan->part->last)
            return true;
    }
    return false;
}

/* After the last record: GOOD, or CORRUPT and why. */
static inline enum verdict
end_scan(struct scan *scan, struct corruption *fault)
{
    if (scan->cut || !check_end(&scan->reader))
        *fault = scan->reader.fault;
    else if (scan->odd.why != NULL)
        *fault = scan->odd;
    else
        return GOOD;
    return CORRUPT;
}

/* One that is no int64 is refused by check_deltas. */
static inline int64_t
timestamp_of(const struct part *part, const struct record *record)
{
    return part->timestamp_type == LOG_APPEND_TIME
               ? part->max_timestamp
               : (int64_t)((uint64_t)part->base_timestamp + (uint64_t)record->timestamp_delta);
}

#endif
