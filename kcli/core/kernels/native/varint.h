/* Zigzag varints: what they are as numbers, how long they get, how they are written.
 *
 * Reading them is in reader.h, as it needs bounds and an error position.
 */
#ifndef KCLI_VARINT_H
#define KCLI_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    VARINT_BYTES = 5,   /* at most, of an int32 */
    VARLONG_BYTES = 10, /* at most, of an int64 */
};

/* 0, -1, 1, -2 become 0, 1, 2, 3. Shifting as unsigned: a negative number must not be shifted left in C. */
static inline uint64_t
zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t
unzigzag(uint64_t raw)
{
    return (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
}

/* Seven bits a byte, rounded up; zero has one byte too. 9/64 is near enough to 1/7 for up to 64 bits. Small numbers are
 * compared, as finding the highest bit is slow on some processors. */
static inline size_t
varint_size(int64_t value)
{
    const uint64_t raw = zigzag(value);
    if (raw < 0x80)
        return 1;
    if (raw < 0x4000)
        return 2;
    if (raw < 0x200000)
        return 3;
    const unsigned highest = 63 - (unsigned)__builtin_clzll(raw);
    return (highest * 9 + 73) / 64;
}

/* As varint_size, for what is not negative. */
static inline size_t
length_size(size_t length)
{
    return length < 0x40 ? 1 : length < 0x2000 ? 2 : varint_size((int64_t)length);
}

/* A varint of up to three bytes, in the order in which they are written. */
struct short_varint {
    uint32_t bytes;
    uint32_t size;
};

enum { SHORT_VARINT = 1 << 20 }; /* above all that fit: a bit is for the sign */

/* ``value`` is not negative and below SHORT_VARINT. */
static inline struct short_varint
short_varint(uint32_t value)
{
    const uint32_t raw = value << 1;
    if (raw < 0x80)
        return (struct short_varint){raw, 1};
    const uint32_t two = (raw & 0x7F) | 0x80 | (raw & 0x3F80) << 1;
    if (raw < 0x4000)
        return (struct short_varint){two, 2};
    return (struct short_varint){two | 0x8000 | (raw >> 14) << 16, 3};
}

/* Writes the varint, and garbage up to the fourth byte; returns the place behind the varint. */
static inline uint8_t *
write_short(uint8_t *at, struct short_varint varint)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(at, &varint.bytes, sizeof varint.bytes);
#else
    for (int index = 0; index < 3; index++)
        at[index] = (uint8_t)(varint.bytes >> 8 * index);
#endif
    return at + varint.size;
}

/* Writes varint_size(value) bytes and returns the place behind them. */
static inline uint8_t *
write_varint(uint8_t *at, int64_t value)
{
    uint64_t rest = zigzag(value);
    if (rest < 0x80) {
        *at = (uint8_t)rest;
        return at + 1;
    }
    if (rest < 0x4000) {
        at[0] = (uint8_t)(rest | 0x80);
        at[1] = (uint8_t)(rest >> 7);
        return at + 2;
    }
    while (rest > 0x7F) {
        *at++ = (uint8_t)(rest | 0x80);
        rest >>= 7;
    }
    *at++ = (uint8_t)rest;
    return at;
}

#endif
