/* A message is a polynomial over the two-element field, its checksum the remainder of a division by POLYNOMIAL.
 *
 * Numbers are reflected: the highest bit is the coefficient of x^0. Addition is exclusive or, so checksums are linear:
 * lanes of one buffer can be summed up apart and merged, and the effect of changed bytes can be added afterwards.
 * That both ends are inverted (RFC 3720) is dealt with by the public functions; the static ones see bare remainders.
 */
#include "checksum.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#if defined(__clang__)
#define HARDWARE __attribute__((target("sse4.2,crc32")))
#else
#define HARDWARE __attribute__((target("sse4.2")))
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#define HARDWARE __attribute__((target("+crc")))
#elif defined(__aarch64__) && defined(__APPLE__)
#define HARDWARE __attribute__((target("crc")))
#endif

static const uint32_t POLYNOMIAL = 0x82F63B78;
static const uint32_t X8 = 0x00800000; /* x^8: one byte more */

static uint32_t tables[8][256]; /* [n][b]: what byte b becomes with n bytes behind it */
static uint32_t powers[64];     /* [n]: x^(8 * 2^n), which shifts by 2^n bytes */

/* a * b modulo the polynomial, in the same time for all numbers. */
static uint32_t
multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (int bit = 31; bit >= 0; bit--) {
        product ^= b & (0 - (a >> bit & 1));
        b = b >> 1 ^ (POLYNOMIAL & (0 - (b & 1)));
    }
    return product;
}

static uint64_t
load_little_endian(const uint8_t *data)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t word;
    memcpy(&word, data, sizeof word);
    return word;
#else
    uint64_t word = 0;
    for (int index = 7; index >= 0; index--)
        word = word << 8 | data[index];
    return word;
#endif
}

/* Slicing by 8: the eight bytes of a word are looked up at once, each in the table of its place. */
static uint32_t
extend_by_tables(uint32_t crc, const uint8_t *data, size_t size)
{
    for (; size >= 8; data += 8, size -= 8) {
        const uint64_t word = load_little_endian(data) ^ crc;
        crc = 0;
        for (int byte = 0; byte < 8; byte++)
            crc ^= tables[7 - byte][word >> 8 * byte & 0xFF];
    }
    for (; size; data++, size--)
        crc = crc >> 8 ^ tables[0][(crc ^ *data) & 0xFF];
    return crc;
}

#ifdef HARDWARE

#if defined(__x86_64__)

static bool
has_hardware(void)
{
    unsigned a, b, c, d; /* asked here, as not every compiler brings what __builtin_cpu_supports asks */
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_2;
}

HARDWARE static inline uint32_t
step(uint32_t crc, uint8_t byte)
{
    return _mm_crc32_u8(crc, byte);
}

HARDWARE static inline uint32_t
step_word(uint32_t crc, uint64_t word)
{
    return (uint32_t)_mm_crc32_u64(crc, word);
}

#else

static bool
has_hardware(void)
{
#if defined(__APPLE__)
    return true; /* every 64-bit processor of theirs */
#else
    return getauxval(AT_HWCAP) & 1UL << 7; /* HWCAP_CRC32 */
#endif
}

/* In assembler, as the header with the intrinsics wants -march for the whole file. */
HARDWARE static inline uint32_t
step(uint32_t crc, uint8_t byte)
{
    __asm__("crc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)byte));
    return crc;
}

HARDWARE static inline uint32_t
step_word(uint32_t crc, uint64_t word)
{
    __asm__("crc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
    return crc;
}

#endif

/* The instruction takes one word a cycle, but three cycles until its result is there: three lanes, side by side,
 * keep it busy. Merging them costs some 50 ns, which long lanes hide and short inputs must not pay. */
enum { LANE_SIZES = 3 };
static const unsigned lane_logs[LANE_SIZES] = {15, 12, 9};

HARDWARE static uint32_t
extend_in_lanes(uint32_t crc, const uint8_t *data, unsigned lane_log)
{
    const size_t lane = (size_t)1 << lane_log;
    uint32_t second = 0, third = 0;
    for (size_t at = 0; at < lane; at += 8) {
        crc = step_word(crc, load_little_endian(data + at));
        second = step_word(second, load_little_endian(data + lane + at));
        third = step_word(third, load_little_endian(data + 2 * lane + at));
    }
    const uint32_t two = multiply(crc, powers[lane_log]) ^ second;
    return multiply(two, powers[lane_log]) ^ third;
}

HARDWARE static uint32_t
extend_by_hardware(uint32_t crc, const uint8_t *data, size_t size)
{
    for (int index = 0; index < LANE_SIZES; index++) {
        const size_t block = (size_t)3 << lane_logs[index];
        for (; size >= block; data += block, size -= block)
            crc = extend_in_lanes(crc, data, lane_logs[index]);
    }
    for (; size >= 8; data += 8, size -= 8)
        crc = step_word(crc, load_little_endian(data));
    for (; size; data++, size--)
        crc = step(crc, *data);
    return crc;
}

#endif

static uint32_t (*extend)(uint32_t crc, const uint8_t *data, size_t size) = extend_by_tables;

static void
fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (POLYNOMIAL & (0 - (crc & 1)));
        tables[0][byte] = crc;
    }
    for (int behind = 1; behind < 8; behind++)
        for (int byte = 0; byte < 256; byte++) {
            const uint32_t crc = tables[behind - 1][byte];
            tables[behind][byte] = crc >> 8 ^ tables[0][crc & 0xFF];
        }
}

void
start_checksum(void)
{
    fill_tables();
    powers[0] = X8;
    for (int index = 1; index < 64; index++)
        powers[index] = multiply(powers[index - 1], powers[index - 1]);
#ifdef HARDWARE
    if (has_hardware())
        extend = extend_by_hardware;
#endif
}

uint32_t
extend_checksum(uint32_t crc, const uint8_t *data, size_t size)
{
    return ~extend(~crc, data, size);
}

uint32_t
extend_checksum_by_tables(uint32_t crc, const uint8_t *data, size_t size)
{
    return ~extend_by_tables(~crc, data, size);
}

uint32_t
shift_difference(uint32_t difference, uint64_t size)
{
    for (int index = 0; size; index++, size >>= 1)
        if (size & 1)
            difference = multiply(difference, powers[index]);
    return difference;
}
