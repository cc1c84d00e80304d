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

/* How a line becomes a key and a value; see _pure_text.py. NULL where there is no such thing. */
struct cut {
    struct span key_delimiter;
    struct span key;
    struct span null_marker;
    bool empty_is_null;
};

/* The place of the first ``needle``, which has at least one byte, or NULL. */
const uint8_t *find_bytes(const uint8_t *data, size_t size, struct span needle);

/* The size of the next line without its delimiter; -1 when there is none, or when it is too long. */
int64_t line_size(const struct region *region);

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
