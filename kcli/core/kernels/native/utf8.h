/* Which bytes are UTF-8, and which of these are plain, many at a time. Knows no Python object; needs no GIL. */
#ifndef KCLI_UTF8_H
#define KCLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The size of the character that begins at ``at``, at a byte from 0x80 on: 2 to 4; 0 where it is not well-formed.
 * No surrogates, nothing longer than need be, nothing behind U+10FFFF. */
static inline size_t
utf8_size(const uint8_t *at, size_t left)
{
    const uint8_t first = at[0];
    if (first < 0xC2 || first > 0xF4 || left < 2)
        return 0;
    uint8_t low = 0x80, high = 0xBF;
    if (first == 0xE0)
        low = 0xA0;
    else if (first == 0xED)
        high = 0x9F;
    else if (first == 0xF0)
        low = 0x90;
    else if (first == 0xF4)
        high = 0x8F;
    if (at[1] < low || at[1] > high)
        return 0;
    const size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (size > left)
        return 0;
    for (size_t index = 2; index < size; index++)
        if ((at[index] & 0xC0) != 0x80)
            return 0;
    return size;
}

/* Is all of it UTF-8? */
bool is_utf8(const uint8_t *data, size_t size);

#endif
