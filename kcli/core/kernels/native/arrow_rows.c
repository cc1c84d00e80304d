#include "arrow_rows.h"

#include <stdlib.h>
#include <string.h>

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
    row->timestamp = timestamp_of(part, record);
    row->leader_epoch = (int32_t)part->leader_epoch;
    row->timestamp_type = (int8_t)part->timestamp_type;
    row->not_text = 0;
}

/* Adds the records of one batch, whose data are only these. */
static enum verdict
add_batch(struct rows *rows, const struct part *part)
{
    const struct filter *filter = &rows->filter;
    const bool all = !filter->by_time && !filter->by_key && !filter->not_null;
    struct scan scan;
    struct record record;
    const enum verdict verdict = begin_scan(&scan, part);
    if (verdict == BAD_PART)
        return verdict;
    while (verdict == GOOD && next_wanted(&scan, &record)) {
        if (!make_room_for_row(rows))
            return NO_MEMORY;
        struct row *row = &rows->items[rows->count];
        set_row(row, part, part->data, &record);
        rows->seen += 1;
        rows->count += all || passes(filter, row);
    }
    if (verdict == GOOD && end_scan(&scan))
        return GOOD;
    rows->fault = scan.reader.fault;
    return CORRUPT;
}

static enum verdict
add_run(struct rows *rows, const struct part *run)
{
    enum verdict verdict = GOOD;
    struct part part;
    for (int64_t at = 0; verdict == GOOD && next_batch(run, &at, &part, &verdict);)
        verdict = add_batch(rows, &part);
    return verdict;
}

enum verdict
add_part(struct rows *rows, const struct part *part)
{
    return part->count == FRAMED ? add_run(rows, part) : add_batch(rows, part);
}
