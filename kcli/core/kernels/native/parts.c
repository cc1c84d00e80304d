#include "parts.h"

#include "batch.h"

/* The batch at ``*at`` of a run, as a part; ``*at`` is moved behind it. False at the end, and with NO_RUN. */
static bool
next_batch(const struct part *run, int64_t *at, struct part *part, enum verdict *verdict)
{
    const int64_t left = run->size - *at;
    if (left == 0)
        return false;
    *verdict = NO_RUN;
    if (left < HEADER_SIZE)
        return false;
    const struct batch batch = load_batch(run->data + *at);
    const int64_t size = LENGTH_END + batch.length;
    if (size < HEADER_SIZE || size > left)
        return false;
    *part = (struct part){
        .data = run->data + *at + HEADER_SIZE,
        .size = size - HEADER_SIZE,
        .count = batch.count,
        .base_offset = batch.base_offset,
        .last_delta = batch.last_delta,
        .base_timestamp = batch.base_timestamp,
        .max_timestamp = batch.max_timestamp,
        .timestamp_type = batch.attributes & APPEND_TIME ? LOG_APPEND_TIME : CREATE_TIME,
        .leader_epoch = batch.leader_epoch,
        .first = run->first,
        .last = run->last,
    };
    *at += size;
    *verdict = GOOD;
    return true;
}

enum verdict
read_part(const struct part *part, read_batch *read, void *reading)
{
    enum verdict verdict = GOOD;
    struct part batch;
    if (part->count != FRAMED)
        return read(reading, part);
    for (int64_t at = 0; verdict == GOOD && next_batch(part, &at, &batch, &verdict);)
        verdict = read(reading, &batch);
    return verdict;
}
