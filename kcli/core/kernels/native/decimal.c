#include "decimal.h"

#include <string.h>

static const char PAIRS[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                            "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";
static const int64_t DAY_MS = 86400000;
static const int64_t LAST_TIME = 253402300799999; /* 9999-12-31T23:59:59.999Z */

uint8_t *
write_digits(uint8_t *at, uint64_t magnitude, bool negative)
{
    /* Written from the end, and copied with what is behind: a copy of fixed size is no call. */
    uint8_t digits[2 * MOST_DIGITS] = {0};
    uint8_t *first = digits + MOST_DIGITS;
    while (magnitude >= 100) {
        first -= 2;
        memcpy(first, PAIRS + 2 * (magnitude % 100), 2);
        magnitude /= 100;
    }
    if (magnitude >= 10) {
        first -= 2;
        memcpy(first, PAIRS + 2 * magnitude, 2);
    } else {
        *--first = (uint8_t)('0' + magnitude);
    }
    if (negative)
        *--first = '-';
    memcpy(at, first, MOST_DIGITS);
    return at + (digits + MOST_DIGITS - first);
}

uint8_t *
write_sum(uint8_t *at, int64_t one, int32_t other)
{
    int64_t sum;
    if (!__builtin_add_overflow(one, (int64_t)other, &sum))
        return write_number(at, sum);
    if (one > 0)
        return write_digits(at, (uint64_t)one + (uint64_t)other, false);
    return write_digits(at, -(uint64_t)one + -(uint64_t)(int64_t)other, true);
}

bool
is_time(int64_t timestamp)
{
    return timestamp >= 0 && timestamp <= LAST_TIME;
}

static void
write_two(char *at, int64_t number)
{
    memcpy(at, PAIRS + 2 * number, 2);
}

/* Days since 1970 to a date of the Gregorian calendar. Years begin in March here, so that leap days are their last. */
static void
set_day(struct day *day, int64_t number)
{
    const int64_t shifted = number + 719468; /* since March 1st of the year 0 */
    const int64_t era = shifted / 146097, of_era = shifted % 146097;
    const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t month = (5 * of_year + 2) / 153;
    const int64_t year = year_of_era + era * 400 + (month >= 10);
    write_two(day->text, year / 100);
    write_two(day->text + 2, year % 100);
    day->text[4] = day->text[7] = '-';
    write_two(day->text + 5, month < 10 ? month + 3 : month - 9);
    write_two(day->text + 8, of_year - (153 * month + 2) / 5 + 1);
    day->number = number;
}

uint8_t *
write_time(uint8_t *at, int64_t timestamp, struct day *day)
{
    const int64_t number = timestamp / DAY_MS, rest = timestamp % DAY_MS;
    if (number != day->number)
        set_day(day, number);
    char *text = (char *)at;
    memcpy(text, day->text, sizeof day->text);
    memcpy(text + 10, "T00:00:00.000Z", 14);
    write_two(text + 11, rest / 3600000);
    write_two(text + 14, rest / 60000 % 60);
    write_two(text + 17, rest / 1000 % 60);
    text[20] = (char)('0' + rest % 1000 / 100);
    write_two(text + 21, rest % 100);
    return at + TIME_SIZE;
}
