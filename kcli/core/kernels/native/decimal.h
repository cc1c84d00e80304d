/* Numbers and points in time as text. Knows no Python object; needs no GIL. */
#ifndef KCLI_DECIMAL_H
#define KCLI_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MOST_DIGITS = 24, /* of a number with its sign, and some */
    TIME_SIZE = 24,   /* 2026-11-21T10:00:00.123Z */
};

/* The day that was written last: neighbours nearly always have the same. */
struct day {
    int64_t number; /* since 1970 */
    char text[10];
};

/* Writes a number and returns the place behind it. Garbage may stand there, up to MOST_DIGITS in all. */
uint8_t *write_digits(uint8_t *at, uint64_t magnitude, bool negative);

static inline uint8_t *
write_number(uint8_t *at, int64_t number)
{
    return write_digits(at, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0);
}

/* As write_number, for one and another, whose sum may be beyond an int64. */
uint8_t *write_sum(uint8_t *at, int64_t one, int32_t other);

/* Can this be written as a time: not before 1970, not behind the year 9999? */
bool is_time(int64_t timestamp);

/* Writes TIME_SIZE bytes. ``day`` may be all zero with a text of 1970-01-01. */
uint8_t *write_time(uint8_t *at, int64_t timestamp, struct day *day);

#endif
