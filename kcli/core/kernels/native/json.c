#include "json.h"

#include "base64.h"
#include "utf8.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    PIECE = 4096,     /* input bytes for which room is made at once */
    MOST_ESCAPED = 6, /* \u00XX */
    SLACK = 8,        /* a character that reaches into the next piece */
};

enum form { STRICT, ESCAPED, AS_IS };

static const char LOWER[] = "0123456789abcdef";
static const char UPPER[] = "0123456789ABCDEF";

/* The letter behind the backslash; 0 for those that have none. */
static const char SHORT[256] = {
    [8] = 'b', [9] = 't', [10] = 'n', [12] = 'f', [13] = 'r', ['"'] = '"', ['\\'] = '\\',
};

static inline bool
is_clean(uint8_t byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* Copies bytes up to the first that is not clean; how many. Behind them, up to ``size``, garbage may be written. */
static inline size_t
copy_clean(uint8_t *to, const uint8_t *from, size_t size)
{
    size_t at = 0;
#ifdef __SSE2__
    const __m128i space = _mm_set1_epi8(0x20), quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    for (; at + 16 <= size; at += 16) {
        const __m128i word = _mm_loadu_si128((const __m128i *)(const void *)(from + at));
        _mm_storeu_si128((__m128i *)(void *)(to + at), word);
        /* As signed numbers, those from 0x80 on are below the space too. */
        const __m128i escaped = _mm_or_si128(_mm_cmpeq_epi8(word, quote), _mm_cmpeq_epi8(word, backslash));
        const int mask = _mm_movemask_epi8(_mm_or_si128(_mm_cmplt_epi8(word, space), escaped));
        if (mask)
            return at + (size_t)__builtin_ctz((unsigned)mask);
    }
#else
    const uint64_t ones = 0x0101010101010101, tops = ones << 7;
    for (; at + 8 <= size; at += 8) {
        uint64_t word;
        memcpy(&word, from + at, 8);
        memcpy(to + at, from + at, 8);
        const uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        /* Says too much only about bytes behind one that is not clean. */
        const uint64_t escaped = ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash);
        if ((word | (word - ones * 0x20) | escaped) & tops)
            break;
    }
#endif
    for (; at < size && is_clean(from[at]); at++)
        to[at] = from[at];
    return at;
}

static inline uint8_t *
write_escape(uint8_t *at, uint8_t byte, const char *digits)
{
    at[0] = '\\';
    if (SHORT[byte]) {
        at[1] = (uint8_t)SHORT[byte];
        return at + 2;
    }
    memcpy(at + 1, "u00", 3);
    at[4] = (uint8_t)digits[byte >> 4];
    at[5] = (uint8_t)digits[byte & 15];
    return at + 6;
}

/* The \xNN that stands for one byte, with its backslash escaped. */
static inline uint8_t *
write_replacement(uint8_t *at, uint8_t byte)
{
    memcpy(at, "\\\\x", 3);
    at[3] = (uint8_t)LOWER[byte >> 4];
    at[4] = (uint8_t)LOWER[byte & 15];
    return at + 5;
}

/* Writes what begins at ``from`` with a byte that is not clean; 0 where the form has nothing to say. */
static inline size_t
put_odd(struct output *output, const uint8_t *from, size_t left, enum form form)
{
    if (*from < 0x80) {
        output->at = write_escape(output->at, *from, form == AS_IS ? UPPER : LOWER);
        return 1;
    }
    if (form == AS_IS) {
        *output->at++ = *from;
        return 1;
    }
    const size_t size = utf8_size(from, left);
    if (size) {
        memcpy(output->at, from, size);
        output->at += size;
        return size;
    }
    if (form == STRICT)
        return 0;
    output->at = write_replacement(output->at, *from);
    return 1;
}

/* A string with its quotes. ``good`` is false for one of form STRICT that is not UTF-8: what was written is of no use. */
static inline bool
put_string(struct output *output, struct span bytes, enum form form, bool *good)
{
    *good = true;
    size_t at = 0;
    if (!put_byte(output, '"'))
        return false;
    while (at < bytes.size) {
        const size_t stop = bytes.size - at < PIECE ? bytes.size : at + PIECE;
        if (!make_room(output, MOST_ESCAPED * (stop - at) + SLACK))
            return false;
        while (at < stop) {
            const size_t clean = copy_clean(output->at, bytes.data + at, stop - at);
            output->at += clean;
            at += clean;
            while (at < stop && !is_clean(bytes.data[at])) {
                const size_t size = put_odd(output, bytes.data + at, bytes.size - at, form);
                at += size;
                if (!size) {
                    *good = false;
                    return true;
                }
            }
        }
    }
    return put_byte(output, '"');
}

bool
put_json(struct output *output, struct span bytes, bool *is_text)
{
    const size_t start = output_size(output);
    if (!put_string(output, bytes, STRICT, is_text))
        return false;
    if (*is_text)
        return true;
    output->at = (uint8_t *)output->scratch.memory + start;
    return put_byte(output, '"') && put_base64(output, bytes) && put_byte(output, '"');
}

bool
put_json_escaped(struct output *output, struct span bytes)
{
    bool good;
    return put_string(output, bytes, ESCAPED, &good);
}

bool
put_json_as_is(struct output *output, struct span bytes)
{
    bool good;
    return put_string(output, bytes, AS_IS, &good);
}

/* --- CSV ----------------------------------------------------------------------------------------------- */

static bool
needs_quotes(struct span bytes)
{
    for (size_t index = 0; index < bytes.size; index++) {
        const uint8_t byte = bytes.data[index];
        if (byte == ',' || byte == '"' || byte == '\r' || byte == '\n')
            return true;
    }
    return !bytes.size;
}

bool
put_csv(struct output *output, struct span bytes)
{
    if (!is_utf8(bytes.data, bytes.size))
        return put_base64(output, bytes);
    const size_t start = output_size(output);
    return put_bytes(output, bytes) && (!needs_quotes(bytes) || quote_csv(output, start));
}

bool
quote_csv(struct output *output, size_t start)
{
    const size_t size = output_size(output) - start;
    const uint8_t *from = (uint8_t *)output->scratch.memory + start;
    size_t more = 2;
    for (size_t index = 0; index < size; index++)
        more += from[index] == '"';
    if (!make_room(output, more))
        return false;
    /* From the end: what is moved makes room for what comes before it. */
    from = output->at;
    output->at += more;
    uint8_t *to = output->at;
    *--to = '"';
    for (size_t index = 0; index < size; index++) {
        *--to = *--from;
        if (*to == '"')
            *--to = '"';
    }
    *--to = '"';
    return true;
}
