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

static enum verdict
add_batch(void *reading, const struct part *part)
{
    struct rows *rows = reading;
    const struct filter *filter = &rows->filter;
    const bool all = !filter->by_time && !filter->by_key && !filter->not_null;
    struct scan scan;
    struct record record;
    if (!begin_scan(&scan, part))
        return BAD_PART;
    while (next_wanted(&scan, &record)) {
        if (!make_room_for_row(rows))
            return NO_MEMORY;
        struct row *row = &rows->items[rows->count];
        set_row(row, part, part->data, &record);
        rows->seen += 1;
        rows->count += all || passes(filter, row);
    }
    return end_scan(&scan, &rows->fault);
}

enum verdict
add_part(struct rows *rows, const struct part *part)
{
    return read_part(part, add_batch, rows);
}
