/* Copying a few bytes without a call. Keys and values are short: what a call of memcpy costs is what they cost. */
#ifndef KCLI_COPY_H
#define KCLI_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WORTH_A_CALL = 256 };

/* ``width`` must be a constant; the two copies overlap where the size is not twice that. */
#define COPY_ENDS(to, from, size, width)                                                                     \
    do {                                                                                                     \
        memcpy(to, from, width);                                                                             \
        memcpy((to) + (size) - (width), (from) + (size) - (width), width);                                   \
    } while (0)

static inline void
copy_bytes(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size > WORTH_A_CALL) {
        memcpy(to, from, size);
    } else if (size >= 32) {
        const size_t last = size - 32;
        for (size_t at = 0; at < last; at += 32) {
            memcpy(to + at, from + at, 16);
            memcpy(to + at + 16, from + at + 16, 16);
        }
        memcpy(to + last, from + last, 16);
        memcpy(to + last + 16, from + last + 16, 16);
    } else if (size >= 16) {
        COPY_ENDS(to, from, size, 16);
    } else if (size >= 8) {
        COPY_ENDS(to, from, size, 8);
    } else if (size >= 4) {
        COPY_ENDS(to, from, size, 4);
    } else {
        for (size_t at = 0; at < size; at++)
            to[at] = from[at];
    }
}

#endif
