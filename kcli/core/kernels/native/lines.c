#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for memmem */
#endif
#include "lines.h"

const uint8_t *
find_long(const uint8_t *data, size_t size, struct span needle)
{
    return memmem(data, size, needle.data, needle.size);
}

static bool
is_null(const struct cut *cut, struct span field)
{
    if (cut->empty_is_null && !field.size)
        return true;
    const struct span marker = cut->null_marker;
    return marker.data != NULL && field.size == marker.size && !memcmp(field.data, marker.data, marker.size);
}

static struct span
nullable(const struct cut *cut, struct span field)
{
    return is_null(cut, field) ? (struct span){NULL, 0} : field;
}

void
cut_line(const struct cut *cut, struct span line, struct span *key, struct span *value)
{
    *key = cut->key;
    *value = line;
    if (cut->key_delimiter.data != NULL) {
        const uint8_t *found = find_bytes(line.data, line.size, cut->key_delimiter);
        *key = (struct span){NULL, 0};
        if (found != NULL) {
            const size_t size = (size_t)(found - line.data), skipped = size + cut->key_delimiter.size;
            *key = nullable(cut, (struct span){line.data, size});
            *value = (struct span){line.data + skipped, line.size - skipped};
        }
    }
    *value = nullable(cut, *value);
}
