#include "digest.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 32 }; /* one for each word of a group of 256 bytes */

/* The first numbers of SplitMix64 from 0, as in the pure twin; the factor is of the next two. */
static const uint64_t keys[KEYS] = {
    0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC,
    0x1B39896A51A8749B, 0x53CB9F0C747EA2EA, 0x2C829ABE1F4532E1, 0xC584133AC916AB3C,
    0x3EE5789041C98AC3, 0xF3B8488C368CB0A6, 0x657EECDD3CB13D09, 0xC2D326E0055BDEF6,
    0x8621A03FE0BBDB7B, 0x8E1F7555983AA92F, 0xB54E0F1600CC4D19, 0x84BB3F97971D80AB,
    0x7D29825C75521255, 0xC3CF17102B7F7F86, 0x3466E9A083914F64, 0xD81A8D2B5A4485AC,
    0xDB01602B100B9ED7, 0xA9038A921825F10D, 0xEDF5F1D90DCA2F6A, 0x54496AD67BD2634C,
    0xDD7C01D4F5407269, 0x935E82F1DB4C4F7B, 0x69B82EBC92233300, 0x40D29EB57DE1D510,
    0xA2F09DABB45C6316, 0xEE521D7A0F4D3872, 0xF16952EE72F3454F, 0x377D35DEA8E40225,
};
static const struct digest factor = {0x031F7A019258EEAC, 0x01560B4DC446B14A}; /* less than 2^126 */

/* --- Arithmetic -------------------------------------------------------------------------------------- */

#if defined(__SIZEOF_INT128__) && !defined(KCLI_NARROW)

static inline struct digest
multiply(uint64_t one, uint64_t other)
{
    const unsigned __int128 product = (unsigned __int128)one * other;
    return (struct digest){(uint64_t)(product >> 64), (uint64_t)product};
}

#else

static inline struct digest
multiply(uint64_t one, uint64_t other)
{
    const uint64_t one_low = (uint32_t)one, one_high = one >> 32;
    const uint64_t other_low = (uint32_t)other, other_high = other >> 32;
    const uint64_t low = one_low * other_low;
    const uint64_t left = one_high * other_low + (low >> 32);
    const uint64_t right = one_low * other_high + (uint32_t)left;
    return (struct digest){one_high * other_high + (left >> 32) + (right >> 32), right << 32 | (uint32_t)low};
}

#endif

/* Modulo 2^128; returns the carry. */
static inline uint64_t
add(struct digest *sum, struct digest more)
{
    uint64_t high;
    const uint64_t carry = __builtin_add_overflow(sum->low, more.low, &sum->low);
    const uint64_t first = __builtin_add_overflow(sum->high, more.high, &high);
    const uint64_t second = __builtin_add_overflow(high, carry, &sum->high);
    return first | second;
}

static inline void
add_words(struct digest *sum, uint64_t one, uint64_t other, const uint64_t *of)
{
    add(sum, multiply(one + of[0], other + of[1]));
}

/* The digest times the factor, and the sum of a group. Their sum is less than 2^254 + 2^128, so what is above the lowest
 * 127 bits has 127 as well, and both together have 128 at most. */
static inline void
add_group(struct digest *digest, struct digest group)
{
    struct digest low = multiply(digest->low, factor.low);
    struct digest high = multiply(digest->high, factor.high);
    const struct digest left = multiply(digest->high, factor.low);
    const struct digest right = multiply(digest->low, factor.high);
    const uint64_t carry =
        add(&low, (struct digest){left.low, 0}) + add(&low, (struct digest){right.low, 0}) + add(&low, group);
    add(&high, (struct digest){0, left.high});
    add(&high, (struct digest){0, right.high});
    add(&high, (struct digest){0, carry});
    const struct digest above = {high.high << 1 | high.low >> 63, high.low << 1 | low.high >> 63};
    low.high &= INT64_MAX;
    add(&low, above);
    *digest = low;
}

/* --- Bytes ------------------------------------------------------------------------------------------- */

static inline uint64_t
load_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static void
store_word(uint8_t *at, uint64_t word)
{
    for (int index = 0; index < 8; index++)
        at[index] = (uint8_t)(word >> 8 * index);
}

/* Adds the last ``left`` bytes before ``end``, 1 to 15, filled up with zeros. There are at least 16 before ``end``. */
static inline void
add_rest(struct digest *sum, const uint8_t *end, size_t left, const uint64_t *of)
{
    const uint64_t low = load_word(end - BLOCK), high = load_word(end - 8);
    if (left <= 8) {
        add_words(sum, high >> (64 - 8 * left), 0, of);
        return;
    }
    const unsigned shift = (unsigned)(8 * (BLOCK - left)); /* 8 to 56 */
    add_words(sum, low >> shift | high << (64 - shift), high >> shift, of);
}

/* Adds a record: its timestamp, its size and its bytes, in groups of words. */
static inline void
add_bytes(struct digest *digest, int64_t timestamp, const uint8_t *bytes, size_t size)
{
    struct digest sum = {0};
    const uint8_t *end = bytes + size;
    const uint64_t *of = keys + 2;
    add_words(&sum, (uint64_t)timestamp, size, keys);
    if (size < BLOCK) {
        uint8_t filled[BLOCK] = {0};
        memcpy(filled, bytes, size);
        add_words(&sum, load_word(filled), load_word(filled + 8), of);
        add_group(digest, sum);
        return;
    }
    for (;;) {
        for (; end - bytes >= BLOCK && of < keys + KEYS; bytes += BLOCK, of += 2)
            add_words(&sum, load_word(bytes), load_word(bytes + 8), of);
        if (of < keys + KEYS)
            break;
        add_group(digest, sum);
        sum = (struct digest){0};
        of = keys;
    }
    if (bytes < end)
        add_rest(&sum, end, (size_t)(end - bytes), of);
    else if (of == keys)
        return;
    add_group(digest, sum);
}

struct digest
load_digest(const uint8_t *bytes)
{
    return (struct digest){load_word(bytes + 8), load_word(bytes)};
}

void
store_digest(const struct digest *digest, uint8_t *bytes)
{
    struct digest least = {digest->high & INT64_MAX, digest->low};
    add(&least, (struct digest){0, digest->high >> 63});
    if (least.high >> 63 || (least.high == INT64_MAX && least.low == UINT64_MAX)) {
        add(&least, (struct digest){0, 1}); /* 2^127 - 1 is 0 */
        least.high &= INT64_MAX;
    }
    store_word(bytes, least.low);
    store_word(bytes + 8, least.high);
}

/* --- Records ----------------------------------------------------------------------------------------- */

/* Whether the bytes before ``at`` are the shortest varint of a number: longer ones end with a zero, as only 0 does. */
static inline bool
is_shortest(const uint8_t *data, int64_t at, int64_t number)
{
    return data[at - 1] != 0 || number == 0;
}

static inline bool
fits(int64_t start, int64_t end, int64_t number)
{
    return end - start == (int64_t)varint_size(number);
}

/* Whether all numbers in a header block are the shortest. The block has been checked. */
static bool
is_short_block(const uint8_t *data, const struct record *record)
{
    struct reader reader = open_reader(data, record->end);
    struct header header;
    int32_t count;
    reader.at = record->headers;
    bool all = read_header_count(&reader, record->end, &count) && fits(record->headers, reader.at, count);
    while (all && count-- > 0) {
        const int64_t at = reader.at;
        if (!read_header(&reader, record->end, &header))
            return false;
        const int64_t value_size = header.value < 0 ? -1 : header.value_end - header.value;
        all = fits(at, header.name, header.name_end - header.name)
              && fits(header.name_end, header.value < 0 ? header.value_end : header.value, value_size);
    }
    return all;
}

/* Where the length of the key is, if all numbers from there on are the shortest; else -1. */
static inline int64_t
start_of_key(const uint8_t *data, const struct record *record)
{
    const int64_t key_size = record->key < 0 ? -1 : record->key_end - record->key;
    const int64_t value_size = record->value < 0 ? -1 : record->value_end - record->value;
    const int64_t value = record->value < 0 ? record->headers : record->value;
    const int64_t behind_key = value - (int64_t)varint_size(value_size);
    if (!is_shortest(data, value, value_size))
        return -1;
    if (record->header_count ? !is_short_block(data, record) : record->end != record->headers + 1)
        return -1;
    if (key_size < 0)
        return data[behind_key - 1] == 1 ? behind_key - 1 : -1;
    if (behind_key != record->key_end || !is_shortest(data, record->key, key_size))
        return -1;
    return record->key - (int64_t)varint_size(key_size);
}

/* A length, and bytes unless it is -1. */
static uint8_t *
write_field(uint8_t *at, const uint8_t *data, int64_t start, int64_t end)
{
    if (start < 0)
        return write_varint(at, -1);
    at = write_varint(at, end - start);
    memcpy(at, data + start, (size_t)(end - start));
    return at + (end - start);
}

/* The record from the length of its key on, with the shortest numbers: not longer than it is. NULL: no memory. */
static uint8_t *
shorten(const uint8_t *data, const struct record *record, size_t *size)
{
    const int64_t key_size = record->key < 0 ? 0 : record->key_end - record->key;
    const int64_t value_size = record->value < 0 ? 0 : record->value_end - record->value;
    const int64_t headers_size = record->end - record->headers;
    uint8_t *made = malloc((size_t)(key_size + value_size + headers_size) + 2 * VARINT_BYTES);
    if (made == NULL)
        return NULL;
    uint8_t *at = write_field(made, data, record->key, record->key_end);
    at = write_field(at, data, record->value, record->value_end);
    struct reader reader = open_reader(data, record->end);
    struct header header;
    int32_t count = 0;
    reader.at = record->headers;
    read_header_count(&reader, record->end, &count); /* the block has been checked */
    at = write_varint(at, count);
    for (; count > 0 && read_header(&reader, record->end, &header); count--) {
        at = write_field(at, data, header.name, header.name_end);
        at = write_field(at, data, header.value, header.value_end);
    }
    *size = (size_t)(at - made);
    return made;
}

bool
add_to_digest(struct digest *digest, int64_t timestamp, const uint8_t *data, const struct record *record)
{
    const int64_t start = start_of_key(data, record);
    if (start >= 0) {
        add_bytes(digest, timestamp, data + start, (size_t)(record->end - start));
        return true;
    }
    size_t size;
    uint8_t *made = shorten(data, record, &size);
    if (made == NULL)
        return false;
    add_bytes(digest, timestamp, made, size);
    free(made);
    return true;
}
