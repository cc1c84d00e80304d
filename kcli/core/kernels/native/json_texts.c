/* The texts at a path of JSON documents, as Spark's get_json_object has them: a column of Arrow from a column of Arrow.
 *
 * What is read and written is what Jackson does there: single quotes and bare control characters pass, what follows the
 * outermost value is not read, a number with a fraction or an exponent becomes a double's text as of Java. The twin in
 * kernels/pure describes it.
 */
#include "module.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow_memory.h"
#include "output.h"

enum {
    DEEPEST = 1000,    /* StreamReadConstraints of Jackson: levels, */
    LONGEST = 1000,    /* and the characters of a number */
    EXACT_DIGITS = 15, /* so many digits survive a double */
    SAFE_EXPONENT = 290,
};

enum found { ABSENT, FOUND, BROKEN };

struct step {
    struct span name; /* of no data: an index */
    int64_t index;
};

struct document {
    const uint8_t *at;
    const uint8_t *end;
    struct output *output;
    struct output *name; /* a decoded name */
    int depth;
    bool no_memory;
};

static const char DIGITS[] = "0123456789ABCDEF";

static void
skip_space(struct document *document)
{
    while (document->at < document->end
           && (*document->at == ' ' || *document->at == '\n' || *document->at == '\r' || *document->at == '\t'))
        document->at++;
}

/* The next byte that is no space, 0 at the end: no document has it there. */
static uint8_t
next_byte(struct document *document)
{
    skip_space(document);
    return document->at < document->end ? *document->at : 0;
}

static bool
put(struct document *document, struct output *output, struct span bytes)
{
    if (put_bytes(output, bytes))
        return true;
    document->no_memory = true;
    return false;
}

#define PUT(document, text) put(document, (document)->output, (struct span){(const uint8_t *)(text), sizeof(text) - 1})

/* --- Strings ----------------------------------------------------------------------------------------- */

static int
hexadecimal(uint8_t digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    const uint8_t lower = digit | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The UTF-16 unit of an escape, whose letter is next; -1: there is no such escape. */
static int
escaped_unit(struct document *document)
{
    if (document->at >= document->end)
        return -1;
    switch (*document->at++) {
    case 'b': return 8;
    case 't': return 9;
    case 'n': return 10;
    case 'f': return 12;
    case 'r': return 13;
    case '"': return '"';
    case '\'': return '\'';
    case '/': return '/';
    case '\\': return '\\';
    case 'u': {
        int unit = 0;
        for (int count = 0; count < 4; count++) {
            const int digit = document->at < document->end ? hexadecimal(*document->at++) : -1;
            if (digit < 0)
                return -1;
            unit = unit << 4 | digit;
        }
        return unit;
    }
    default: return -1;
    }
}

/* Passes a string, whose quote is next. ``plain``: what is between the quotes, if there are no escapes, else no data. */
static bool
skip_string(struct document *document, struct span *plain)
{
    const uint8_t quote = *document->at++, *const start = document->at;
    bool escapes = false;
    while (document->at < document->end) {
        const uint8_t byte = *document->at++;
        if (byte == quote) {
            *plain = (struct span){escapes ? NULL : start, (size_t)(document->at - 1 - start)};
            return true;
        }
        if (byte == '\\') {
            escapes = true;
            if (escaped_unit(document) < 0)
                return false;
        }
    }
    return false;
}

static size_t
write_utf8(uint8_t *at, uint32_t character)
{
    if (character < 0x80) {
        at[0] = (uint8_t)character;
        return 1;
    }
    if (character < 0x800) {
        at[0] = (uint8_t)(0xC0 | character >> 6);
        at[1] = (uint8_t)(0x80 | (character & 63));
        return 2;
    }
    if (character < 0x10000) {
        at[0] = (uint8_t)(0xE0 | character >> 12);
        at[1] = (uint8_t)(0x80 | (character >> 6 & 63));
        at[2] = (uint8_t)(0x80 | (character & 63));
        return 3;
    }
    at[0] = (uint8_t)(0xF0 | character >> 18);
    at[1] = (uint8_t)(0x80 | (character >> 12 & 63));
    at[2] = (uint8_t)(0x80 | (character >> 6 & 63));
    at[3] = (uint8_t)(0x80 | (character & 63));
    return 4;
}

static bool
is_surrogate(int unit)
{
    return unit >= 0xD800 && unit <= 0xDFFF;
}

/* The character of an escape, with its second half where it has one: -1 for a half alone, which UTF-8 has not. */
static int32_t
escaped_character(struct document *document)
{
    const int unit = escaped_unit(document);
    if (!is_surrogate(unit))
        return unit;
    if (unit >= 0xDC00 || document->end - document->at < 2 || document->at[0] != '\\' || document->at[1] != 'u')
        return -1;
    document->at += 1;
    const int low = escaped_unit(document);
    return low < 0xDC00 || low > 0xDFFF ? -1 : 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

/* Writes the string whose quote is next, as it means. False: it is broken, or there is no memory. */
static bool
decode_string(struct document *document, struct output *output)
{
    const uint8_t quote = *document->at++;
    while (document->at < document->end) {
        const uint8_t *const start = document->at;
        while (document->at < document->end && *document->at != quote && *document->at != '\\')
            document->at++;
        if (!put(document, output, (struct span){start, (size_t)(document->at - start)}))
            return false;
        if (document->at == document->end)
            return false;
        if (*document->at++ == quote)
            return true;
        const int32_t character = escaped_character(document);
        if (character < 0)
            return false;
        uint8_t bytes[4];
        if (!put(document, output, (struct span){bytes, write_utf8(bytes, (uint32_t)character)}))
            return false;
    }
    return false;
}

static bool
put_unit(struct document *document, int unit)
{
    const uint8_t text[] = {'\\', 'u', (uint8_t)DIGITS[unit >> 12 & 15], (uint8_t)DIGITS[unit >> 8 & 15],
                            (uint8_t)DIGITS[unit >> 4 & 15], (uint8_t)DIGITS[unit & 15]};
    return put(document, document->output, (struct span){text, sizeof text});
}

/* A character of a string within a document that is written anew: those beyond 16 bits are two escapes, as Jackson's. */
static bool
put_character(struct document *document, int32_t character)
{
    static const char SHORT[] = "btn_fr";
    if (character == '"' || character == '\\' || (character >= 8 && character <= 13 && character != 11)) {
        const uint8_t text[] = {'\\', character > 13 ? (uint8_t)character : (uint8_t)SHORT[character - 8]};
        return put(document, document->output, (struct span){text, 2});
    }
    if (character < 0x20 || is_surrogate(character))
        return put_unit(document, character);
    if (character >= 0x10000)
        return put_unit(document, 0xD800 + ((character - 0x10000) >> 10))
               && put_unit(document, 0xDC00 + ((character - 0x10000) & 0x3FF));
    uint8_t bytes[4];
    return put(document, document->output, (struct span){bytes, write_utf8(bytes, (uint32_t)character)});
}

/* The character of well-formed UTF-8 that is next. */
static int32_t
read_utf8(struct document *document)
{
    const uint8_t *at = document->at;
    const int size = at[0] < 0x80 ? 1 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    document->at += size;
    if (size == 1)
        return at[0];
    int32_t character = at[0] & (0x7F >> size);
    for (int index = 1; index < size; index++)
        character = character << 6 | (at[index] & 63);
    return character;
}

/* Writes the string whose quote is next, as a string of JSON. */
static bool
copy_string(struct document *document)
{
    const uint8_t quote = *document->at++;
    if (!PUT(document, "\""))
        return false;
    while (document->at < document->end) {
        const uint8_t *const start = document->at;
        while (document->at < document->end && *document->at != quote && *document->at != '\\' && *document->at != '"'
               && *document->at >= 0x20 && *document->at < 0xF0)
            document->at++;
        if (!put(document, document->output, (struct span){start, (size_t)(document->at - start)}))
            return false;
        if (document->at == document->end)
            return false;
        if (*document->at == quote) {
            document->at++;
            return PUT(document, "\"");
        }
        int32_t character;
        if (*document->at == '\\') {
            document->at++;
            character = escaped_unit(document);
        } else {
            character = read_utf8(document);
        }
        if (character < 0 || !put_character(document, character))
            return false;
    }
    return false;
}

/* --- Numbers ----------------------------------------------------------------------------------------- */

static void
skip_digits(struct document *document)
{
    while (document->at < document->end && *document->at >= '0' && *document->at <= '9')
        document->at++;
}

/* Passes a number: false for what is none. ``whole``: it has neither a fraction nor an exponent. */
static bool
skip_number(struct document *document, bool *whole)
{
    const uint8_t *const first = document->at;
    if (*document->at == '-')
        document->at++;
    const uint8_t *start = document->at;
    skip_digits(document);
    if (document->at == start || (*start == '0' && document->at - start > 1))
        return false;
    *whole = true;
    if (document->at < document->end && *document->at == '.') {
        *whole = false;
        start = ++document->at;
        skip_digits(document);
        if (document->at == start)
            return false;
    }
    if (document->at < document->end && (*document->at | 0x20) == 'e') {
        *whole = false;
        document->at++;
        if (document->at < document->end && (*document->at == '+' || *document->at == '-'))
            document->at++;
        start = document->at;
        skip_digits(document);
        if (document->at == start)
            return false;
    }
    return document->at - first <= LONGEST;
}

/* A number without its sign: 0.DIGITS times 10 to the power of ``point``. */
struct decimal_digits {
    char digits[24];
    int count;
    int64_t point;
};

/* Reads a number with at most 15 digits that count; false: it has more, or is too large or too small. */
static bool
read_digits(const uint8_t *at, const uint8_t *end, struct decimal_digits *number)
{
    bool fraction = false;
    int zeros = 0;
    *number = (struct decimal_digits){.count = 0};
    for (; at < end && (*at | 0x20) != 'e'; at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        if (*at == '0') {
            if (number->count) {
                zeros++;
                number->point += !fraction;
            } else {
                number->point -= fraction;
            }
            continue;
        }
        if (number->count + zeros >= EXACT_DIGITS)
            return false;
        for (; zeros; zeros--)
            number->digits[number->count++] = '0';
        number->digits[number->count++] = (char)*at;
        number->point += !fraction;
    }
    if (at < end) {
        const bool negative = *++at == '-';
        int64_t exponent = 0;
        for (at += *at == '-' || *at == '+'; at < end && exponent < 100000; at++)
            exponent = exponent * 10 + (*at - '0');
        number->point += negative ? -exponent : exponent;
    }
    return !number->count || (number->point > -SAFE_EXPONENT && number->point < SAFE_EXPONENT);
}

/* The fewest digits that are read as the same double. Python's own setting of the locale is that of C for numbers. */
static bool
shortest_digits(const uint8_t *at, const uint8_t *end, struct decimal_digits *number)
{
    char text[LONGEST + 1];
    memcpy(text, at, (size_t)(end - at));
    text[end - at] = 0;
    const double value = strtod(text, NULL);
    *number = (struct decimal_digits){.count = 0};
    if (isinf(value))
        return false;
    if (value == 0)
        return true;
    char shown[32];
    for (int count = EXACT_DIGITS; count <= 17; count++) {
        snprintf(shown, sizeof shown, "%.*e", count - 1, value);
        if (strtod(shown, NULL) == value)
            break;
    }
    const char *from = shown;
    for (; *from != 'e'; from++)
        if (*from != '.')
            number->digits[number->count++] = *from;
    while (number->count > 1 && number->digits[number->count - 1] == '0')
        number->count--;
    number->point = strtol(from + 1, NULL, 10) + 1;
    return true;
}

/* As Double.toString of Java: from 0.001 up to 10,000,000 without an exponent. */
static bool
put_double(struct document *document, const struct decimal_digits *number)
{
    enum { MOST = 40 }; /* 17 digits, a point, zeros, and an exponent */
    int size = 0;
    const int count = number->count, point = (int)number->point;
    if (!count)
        return PUT(document, "0.0");
    if (!make_room(document->output, MOST)) {
        document->no_memory = true;
        return false;
    }
    char *const text = (char *)document->output->at;
    if (point > 0 && point <= 7) {
        for (int index = 0; index < count || index <= point; index++) {
            if (index == point)
                text[size++] = '.';
            text[size++] = index < count ? number->digits[index] : '0';
        }
    } else if (point > -3 && point <= 0) {
        text[size++] = '0';
        text[size++] = '.';
        for (int index = point; index < count; index++)
            text[size++] = index >= 0 ? number->digits[index] : '0';
    } else {
        text[size++] = number->digits[0];
        text[size++] = '.';
        if (count == 1)
            text[size++] = '0';
        for (int index = 1; index < count; index++)
            text[size++] = number->digits[index];
        size += snprintf(text + size, (size_t)(MOST - size), "E%d", point - 1);
    }
    document->output->at += size;
    return true;
}

static bool
copy_number(struct document *document)
{
    const uint8_t *start = document->at;
    bool whole;
    if (!skip_number(document, &whole))
        return false;
    const bool negative = *start == '-';
    if (whole) {
        start += negative && start[1] == '0';
        return put(document, document->output, (struct span){start, (size_t)(document->at - start)});
    }
    start += negative;
    struct decimal_digits number;
    if (!read_digits(start, document->at, &number) && !shortest_digits(start, document->at, &number))
        return negative ? PUT(document, "\"-Infinity\"") : PUT(document, "\"Infinity\"");
    return (!negative || PUT(document, "-")) && put_double(document, &number);
}

/* --- Values ------------------------------------------------------------------------------------------ */

static bool
skip_word(struct document *document, struct span *word)
{
    static const char *const WORDS[] = {"true", "false", "null"};
    for (int index = 0; index < 3; index++) {
        const size_t size = strlen(WORDS[index]);
        if ((size_t)(document->end - document->at) >= size && !memcmp(document->at, WORDS[index], size)) {
            *word = (struct span){document->at, size};
            document->at += size;
            return true;
        }
    }
    return false;
}

/* What begins at the next byte that is no space: passed, or written anew. False: broken, or no memory. */
static bool pass_value(struct document *document, bool copied);

/* Between two entries, the first of which may be missing. ``more``: there is one. */
static bool
next_entry(struct document *document, uint8_t close, bool first, bool *more)
{
    const uint8_t byte = next_byte(document);
    *more = byte != close;
    if (!*more) {
        document->at++;
        return true;
    }
    if (first)
        return true;
    if (byte != ',')
        return false;
    document->at++;
    return next_byte(document) != close;
}

static bool
pass_colon(struct document *document)
{
    if (next_byte(document) != ':')
        return false;
    document->at++;
    return true;
}

static bool
pass_entries(struct document *document, bool copied)
{
    const bool object = *document->at++ == '{';
    if (++document->depth > DEEPEST || (copied && !(object ? PUT(document, "{") : PUT(document, "["))))
        return false;
    for (bool first = true, more;; first = false) {
        if (!next_entry(document, object ? '}' : ']', first, &more))
            return false;
        if (!more)
            break;
        if (copied && !first && !PUT(document, ","))
            return false;
        if (object) {
            struct span unused;
            const uint8_t quote = next_byte(document);
            if ((quote != '"' && quote != '\'')
                || !(copied ? copy_string(document) : skip_string(document, &unused)) || !pass_colon(document)
                || (copied && !PUT(document, ":")))
                return false;
        }
        if (!pass_value(document, copied))
            return false;
    }
    document->depth--;
    return !copied || (object ? PUT(document, "}") : PUT(document, "]"));
}

static bool
pass_value(struct document *document, bool copied)
{
    struct span word;
    bool whole;
    const uint8_t byte = next_byte(document);
    switch (byte) {
    case '{':
    case '[':
        return pass_entries(document, copied);
    case '"':
    case '\'':
        return copied ? copy_string(document) : skip_string(document, &word);
    case 't':
    case 'f':
    case 'n':
        return skip_word(document, &word) && (!copied || put(document, document->output, word));
    default:
        if (byte != '-' && (byte < '0' || byte > '9'))
            return false;
        return copied ? copy_number(document) : skip_number(document, &whole);
    }
}

static enum found
skip(struct document *document)
{
    return pass_value(document, false) ? ABSENT : BROKEN;
}

/* Reads the name that is next: is it this one? */
static bool
read_name(struct document *document, struct span wanted, bool *same)
{
    const uint8_t quote = next_byte(document);
    if (quote != '"' && quote != '\'')
        return false;
    const uint8_t *const start = document->at;
    struct span name;
    if (!skip_string(document, &name))
        return false;
    if (name.data == NULL) {
        struct document again = *document;
        again.at = start;
        document->name->at = document->name->scratch.memory;
        if (!decode_string(&again, document->name)) {
            document->no_memory = again.no_memory;
            *same = false; /* half a character: no name of a path has it */
            return !again.no_memory;
        }
        name = (struct span){document->name->scratch.memory, output_size(document->name)};
    }
    *same = name.size == wanted.size && !memcmp(name.data, wanted.data, name.size);
    return true;
}

/* Writes the text at the path below the value that is next, all of which is read. */
static enum found
find(struct document *document, const struct step *steps, Py_ssize_t count)
{
    const uint8_t byte = next_byte(document);
    if (!count) {
        const bool good = byte == '"' || byte == '\'' ? decode_string(document, document->output)
                                                     : pass_value(document, true);
        return good ? FOUND : BROKEN;
    }
    const bool named = steps->name.data != NULL;
    if (byte != (named ? '{' : '['))
        return skip(document);
    document->at++;
    if (++document->depth > DEEPEST)
        return BROKEN;
    enum found found = ABSENT;
    int64_t index = 0;
    for (bool first = true, more;; first = false, index++) {
        if (!next_entry(document, named ? '}' : ']', first, &more))
            return BROKEN;
        if (!more)
            break;
        bool wanted = index == steps->index;
        if (named && !(read_name(document, steps->name, &wanted) && pass_colon(document)))
            return BROKEN;
        /* A null at a name is no value, and another entry of the name may have one; at an index it is. */
        if (found == FOUND || !wanted || (named && next_byte(document) == 'n')) {
            if (!pass_value(document, false))
                return BROKEN;
            continue;
        }
        found = find(document, steps + 1, count - 1);
        if (found == BROKEN)
            return BROKEN;
    }
    document->depth--;
    return found;
}

/* --- Columns ----------------------------------------------------------------------------------------- */

struct extraction {
    Py_buffer offsets;
    Py_buffer data;
    int64_t length;
    int64_t nulls;
    struct step *steps;
    PyObject **owners;
    Py_ssize_t step_count;
    struct output output;
    struct output name;
    struct memory *valid;
    struct memory *ends;
};

static bool
take_path(struct extraction *extraction, PyObject *path)
{
    const Py_ssize_t count = PySequence_Size(path);
    if (count < 0)
        return false;
    extraction->steps = calloc((size_t)count + 1, sizeof *extraction->steps);
    extraction->owners = calloc((size_t)count + 1, sizeof *extraction->owners);
    if (extraction->steps == NULL || extraction->owners == NULL)
        return PyErr_NoMemory() != NULL;
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *step = PySequence_GetItem(path, index);
        if (step == NULL)
            return false;
        struct step *taken = &extraction->steps[index];
        taken->index = -1;
        if (PyLong_Check(step)) {
            const bool good = take_int64(step, &taken->index);
            Py_DECREF(step);
            if (!good)
                return false;
            continue;
        }
        extraction->owners[index] = keep_some_bytes(step, &taken->name);
        if (extraction->owners[index] == NULL)
            return false;
        extraction->step_count = index + 1;
    }
    extraction->step_count = count;
    return true;
}

static bool
take_column(struct extraction *extraction, PyObject *column)
{
    long long length, nulls;
    PyObject *buffers, *children;
    if (!PyTuple_Check(column)) {
        PyErr_SetString(PyExc_TypeError, "a column is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(column, "LLO!O", &length, &nulls, &PyTuple_Type, &buffers, &children))
        return false;
    if (PyTuple_Size(buffers) != 3 || length < 0) {
        PyErr_SetString(PyExc_ValueError, "the column has no texts");
        return false;
    }
    extraction->length = length;
    if (PyObject_GetBuffer(PyTuple_GetItem(buffers, 1), &extraction->offsets, PyBUF_SIMPLE) < 0
        || PyObject_GetBuffer(PyTuple_GetItem(buffers, 2), &extraction->data, PyBUF_SIMPLE) < 0)
        return false;
    const int32_t *ends = extraction->offsets.buf;
    bool good = extraction->offsets.len >= (length + 1) * (Py_ssize_t)sizeof *ends && ends[0] >= 0;
    for (int64_t row = 0; good && row < length; row++)
        good = ends[row] <= ends[row + 1];
    if (!good || ends[length] > extraction->data.len) {
        PyErr_SetString(PyExc_ValueError, "the offsets of the column are wrong");
        return false;
    }
    return true;
}

/* False without memory. */
static bool
extract(struct extraction *extraction)
{
    const int32_t *from = extraction->offsets.buf;
    const uint8_t *data = extraction->data.buf;
    extraction->ends = make_memory((extraction->length + 1) * (int64_t)sizeof(int32_t));
    extraction->valid = make_memory((extraction->length + 7) / 8);
    if (extraction->ends == NULL || extraction->valid == NULL || !open_output(&extraction->output)
        || !open_output(&extraction->name))
        return false;
    int32_t *ends = (int32_t *)(void *)extraction->ends->bytes;
    memset(extraction->valid->bytes, 0, (size_t)(extraction->length + 7) / 8);
    ends[0] = 0;
    for (int64_t row = 0; row < extraction->length; row++) {
        struct document document = {data + from[row], data + from[row + 1], &extraction->output, &extraction->name, 0, 0};
        const size_t start = output_size(&extraction->output);
        const enum found found = find(&document, extraction->steps, extraction->step_count);
        if (document.no_memory || output_size(&extraction->output) > INT32_MAX)
            return false;
        if (found == FOUND) {
            extraction->valid->bytes[row / 8] |= (uint8_t)(1 << row % 8);
        } else {
            extraction->output.at = (uint8_t *)extraction->output.scratch.memory + start;
            extraction->nulls++;
        }
        ends[row + 1] = (int32_t)output_size(&extraction->output);
    }
    return true;
}

static PyObject *
texts_object(struct extraction *extraction)
{
    const size_t size = output_size(&extraction->output);
    struct memory *texts = make_memory((int64_t)size);
    if (texts == NULL)
        return PyErr_NoMemory();
    memcpy(texts->bytes, extraction->output.scratch.memory, size);
    PyObject *valid = extraction->nulls ? buffer_object(share_memory(extraction->valid)) : Py_NewRef(Py_None);
    PyObject *ends = buffer_object(share_memory(extraction->ends));
    PyObject *data = buffer_object(texts);
    if (valid == NULL || ends == NULL || data == NULL) {
        Py_XDECREF(valid);
        Py_XDECREF(ends);
        Py_XDECREF(data);
        return NULL;
    }
    return Py_BuildValue("(LL(NNN)())", (long long)extraction->length, (long long)extraction->nulls, valid, ends, data);
}

static void
drop_extraction(struct extraction *extraction)
{
    for (Py_ssize_t index = 0; extraction->owners != NULL && index < extraction->step_count; index++)
        Py_XDECREF(extraction->owners[index]);
    free(extraction->owners);
    free(extraction->steps);
    drop_output(&extraction->output);
    drop_output(&extraction->name);
    drop_memory(extraction->valid);
    drop_memory(extraction->ends);
    if (extraction->offsets.obj != NULL)
        PyBuffer_Release(&extraction->offsets);
    if (extraction->data.obj != NULL)
        PyBuffer_Release(&extraction->data);
}

/* json_texts(column, path) */
PyObject *
json_texts(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct extraction extraction = {0};
    PyObject *result = NULL;
    if (take_column(&extraction, args[0]) && take_path(&extraction, args[1])) {
        bool good;
        Py_BEGIN_ALLOW_THREADS
        good = extract(&extraction);
        Py_END_ALLOW_THREADS
        result = good ? texts_object(&extraction) : PyErr_NoMemory();
    }
    drop_extraction(&extraction);
    return result;
}
