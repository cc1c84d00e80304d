#include "arrow_rows.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "quick.h"

enum { FIRST_ROOM = 1024 };

int
compare_keys(const void *one, const void *other)
{
    const struct span *left = one, *right = other;
    if (left->size != right->size)
        return left->size < right->size ? -1 : 1;
    return left->size ? memcmp(left->data, right->data, left->size) : 0;
}

static bool
is_wanted_key(const struct filter *filter, const struct row *row)
{
    if (row->key == NULL)
        return filter->null_key;
    const struct span key = {row->key, (size_t)row->key_size};
    return bsearch(&key, filter->keys, filter->key_count, sizeof key, compare_keys) != NULL;
}

/* A record without a timestamp is at no time. */
static bool
passes(const struct filter *filter, const struct row *row)
{
    if (filter->by_time
        && (row->timestamp == NO_TIMESTAMP || row->timestamp < filter->since
            || row->timestamp >= filter->until))
        return false;
    if (filter->not_null && row->key == NULL)
        return false;
    return !filter->by_key || is_wanted_key(filter, row);
}

static bool
make_room_for_row(struct rows *rows)
{
    if (rows->count < rows->room)
        return true;
    const int64_t room = rows->room ? 2 * rows->room : FIRST_ROOM;
    if (!grow_scratch(&rows->scratch, (size_t)room, sizeof *rows->items))
        return false;
    rows->items = rows->scratch.memory;
    rows->room = (int64_t)(rows->scratch.size / sizeof *rows->items);
    return true;
}

static inline void
set_row(struct row *row, const struct part *part, const uint8_t *data, const struct record *record)
{
    row->key = record->key < 0 ? NULL : data + record->key;
    row->key_size = (int32_t)(record->key_end - record->key);
    row->value = record->value < 0 ? NULL : data + record->value;
    row->value_size = (int32_t)(record->value_end - record->value);
    row->headers = data + record->headers;
    row->headers_size = (int32_t)(record->end - record->headers);
    row->header_count = record->header_count;
    row->offset = part->base_offset + record->offset_delta;
    row->timestamp = part->timestamp_type == LOG_APPEND_TIME
                         ? part->max_timestamp
                         /* One that is no int64 is refused in the end. */
                         : (int64_t)((uint64_t)part->base_timestamp + (uint64_t)record->timestamp_delta);
    row->leader_epoch = (int32_t)part->leader_epoch;
    row->timestamp_type = (int8_t)part->timestamp_type;
    row->not_text = 0;
}

/* Notes the first record at ``at`` that is well-formed and still cannot be. ``before``: the last offset delta. */
static inline void
check_deltas(struct corruption *odd, const struct part *part, const struct record *record, int64_t at,
             int64_t before)
{
    int64_t unused;
    const int64_t delta = record->offset_delta;
    if (odd->why != NULL)
        return;
    if (delta <= before)
        *odd = (struct corruption){at, "the offset delta %lld follows %lld", delta, before};
    else if (delta > part->last_delta)
        *odd = (struct corruption){at, "the offset delta is %lld, the last should be %lld", delta,
                                   part->last_delta};
    else if (part->timestamp_type != LOG_APPEND_TIME
             && __builtin_add_overflow(part->base_timestamp, record->timestamp_delta, &unused))
        *odd = (struct corruption){at, "the timestamp is no int64", 0, 0};
}

static bool
read_records(struct rows *rows, const struct part *part, struct reader *reader, enum verdict *verdict)
{
    const struct filter *filter = &rows->filter;
    const bool all = !filter->by_time && !filter->by_key && !filter->not_null;
    struct corruption odd = {0};
    struct record record;
    int64_t before = -1;
    for (int64_t index = 0; index < part->count; index++) {
        const int64_t at = reader->at;
        if (!next_record(reader, &record))
            return false;
        check_deltas(&odd, part, &record, at, before);
        before = record.offset_delta;
        const int64_t offset = part->base_offset + record.offset_delta;
        if (odd.why != NULL || offset < part->first || offset > part->last)
            continue;
        if (!make_room_for_row(rows)) {
            *verdict = NO_MEMORY;
            return true;
        }
        struct row *row = &rows->items[rows->count];
        set_row(row, part, reader->data, &record);
        rows->seen += 1;
        rows->count += all || passes(filter, row);
    }
    if (!check_end(reader))
        return false;
    if (odd.why == NULL)
        return true;
    reader->fault = odd;
    return false;
}

/* Adds the records of one batch, whose data are only these. */
static enum verdict
add_batch(struct rows *rows, const struct part *part)
{
    if (part->base_offset < 0 || part->last_delta < 0 || part->last_delta > INT32_MAX
        || part->base_offset > INT64_MAX - part->last_delta)
        return BAD_PART;
    struct reader reader = open_reader(part->data, part->size);
    enum verdict verdict = GOOD;
    if (check_count(&reader, part->count) && read_records(rows, part, &reader, &verdict))
        return verdict;
    rows->fault = reader.fault;
    return CORRUPT;
}

static enum verdict
add_run(struct rows *rows, const struct part *run)
{
    int64_t at = 0;
    while (at < run->size) {
        if (run->size - at < HEADER_SIZE)
            return NO_RUN;
        const struct batch batch = load_batch(run->data + at);
        const int64_t size = LENGTH_END + batch.length;
        if (size < HEADER_SIZE || size > run->size - at)
            return NO_RUN;
        const struct part part = {
            .data = run->data + at + HEADER_SIZE,
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
        const enum verdict verdict = add_batch(rows, &part);
        if (verdict != GOOD)
            return verdict;
        at += size;
    }
    return GOOD;
}

enum verdict
add_part(struct rows *rows, const struct part *part)
{
    return part->count == FRAMED ? add_run(rows, part) : add_batch(rows, part);
}
