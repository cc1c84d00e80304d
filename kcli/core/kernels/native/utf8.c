#include "utf8.h"

/* How many of the first bytes are below 0x80, rounded down to whole words. */
static size_t
skip_ascii(const uint8_t *data, size_t size)
{
    uint64_t words[2];
    size_t at = 0;
    for (; at + sizeof words <= size; at += sizeof words) {
        memcpy(words, data + at, sizeof words);
        if ((words[0] | words[1]) & 0x8080808080808080)
            break;
    }
    return at;
}

bool
is_utf8(const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (at < size) {
        if (data[at] < 0x80) {
            const size_t many = skip_ascii(data + at, size - at);
            at += many ? many : 1;
            continue;
        }
        const size_t width = utf8_size(data + at, size - at);
        if (!width)
            return false;
        at += width;
    }
    return true;
}
