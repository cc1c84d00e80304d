/* murmur2 as Java's default partitioner has it. Knows no Python object; needs no GIL. */
#ifndef KCLI_HASH_H
#define KCLI_HASH_H

#include "writer.h"

enum { HASH_MIX = 0x5BD1E995 };

static inline uint32_t
load_word(const uint8_t *data)
{
    return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

/* Java's Utils.murmur2; its int arithmetic wraps as unsigned arithmetic does here. */
static inline uint32_t
hash_key(struct span key)
{
    const uint32_t mix = HASH_MIX;
    uint32_t digest = 0x9747B28C ^ (uint32_t)key.size;
    const uint8_t *at = key.data;
    size_t left = key.size;
    for (; left >= 4; at += 4, left -= 4) {
        uint32_t word = load_word(at) * mix;
        word = (word ^ word >> 24) * mix;
        digest = digest * mix ^ word;
    }
    if (left) {
        for (size_t index = 0; index < left; index++)
            digest ^= (uint32_t)at[index] << 8 * index;
        digest *= mix;
    }
    digest = (digest ^ digest >> 13) * mix;
    return digest ^ digest >> 15;
}

/* The hash without its sign, of which the partition is the rest of a division. */
static inline int64_t
positive_hash(struct span key)
{
    return hash_key(key) & 0x7FFFFFFF;
}

#endif
