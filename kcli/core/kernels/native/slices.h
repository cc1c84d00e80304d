/* Slices: where keys and values stand in a text; see slices.py. */
#ifndef KCLI_SLICES_H
#define KCLI_SLICES_H

#include "arguments.h"

/* Positions count from the beginning of the text. */
struct slice {
    int32_t key;
    int32_t key_size; /* -1: null */
    int32_t value;
    int32_t value_size;
};

/* Slices and the text that they are of. */
struct slices {
    Py_buffer text;
    PyObject *owner;
    const uint8_t *data; /* not aligned, perhaps */
    int64_t count;
};

static inline struct slice
get_slice(const struct slices *slices, int64_t index)
{
    struct slice slice;
    memcpy(&slice, slices->data + (size_t)index * sizeof slice, sizeof slice);
    return slice;
}

/* False for what does not stand in the text. */
static inline bool
get_bytes(const struct slices *slices, int32_t at, int32_t size, struct span *bytes)
{
    *bytes = (struct span){NULL, 0};
    if (size < 0)
        return true;
    if (at < 0 || (int64_t)at + size > slices->text.len)
        return false;
    *bytes = (struct span){(const uint8_t *)slices->text.buf + at, (size_t)size};
    return true;
}

/* A text and packed slices of it. Needs the GIL, as all that follows. */
bool take_slices(struct slices *slices, PyObject *text, PyObject *packed);

/* To be called wherever take_slices was, or with all zero. */
void drop_slices(struct slices *slices);

/* The ValueError for a slice that is not in the text. */
PyObject *refuse_slice(int64_t index);

#endif
