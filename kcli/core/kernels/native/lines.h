/* The lines of a region of text, and what of a line is key and value. Knows no Python object; needs no GIL. */
#ifndef KCLI_LINES_H
#define KCLI_LINES_H

#include <stdbool.h>

#include "writer.h"

struct region {
    const uint8_t *text;
    int64_t at; /* where the next line begins */
    int64_t end;
    struct span delimiter;
    int64_t longest; /* the size of the longest line that is taken */
};

/* How a line becomes a key and a value; see pure/text.py. NULL where there is no such thing. */
struct cut {
    struct span key_delimiter;
    struct span key;
    struct span null_marker;
    bool empty_is_null;
};

/* As find_bytes, for any needle. */
const uint8_t *find_long(const uint8_t *data, size_t size, struct span needle);

/* The place of the first ``needle``, which has at least one byte, or NULL. */
static inline const uint8_t *
find_bytes(const uint8_t *data, size_t size, struct span needle)
{
    return needle.size == 1 ? memchr(data, needle.data[0], size) : find_long(data, size, needle);
}

/* The size of the next line without its delimiter; -1 when there is none, or when it is too long. */
static inline int64_t
line_size(const struct region *region)
{
    const int64_t left = region->end - region->at;
    if (left <= 0 || region->longest < 0)
        return -1;
    /* A delimiter that is further away does not matter: a line that long would be searched again and again. */
    const int64_t width = (int64_t)region->delimiter.size;
    const int64_t reach = region->longest < left - width ? region->longest + width : left;
    const uint8_t *start = region->text + region->at;
    const uint8_t *found = find_bytes(start, (size_t)reach, region->delimiter);
    if (found != NULL)
        return found - start;
    return left <= region->longest ? left : -1;
}

/* Where the line behind one of ``size`` bytes begins. */
static inline int64_t
behind_line(const struct region *region, int64_t size)
{
    const int64_t next = region->at + size + (int64_t)region->delimiter.size;
    return next < region->end ? next : region->end;
}

/* The key and the value of a line. */
void cut_line(const struct cut *cut, struct span line, struct span *key, struct span *value);

#endif
