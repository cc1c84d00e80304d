/* The sequence numbers of a performance test, written into prepared text. */
#include "module.h"

enum { DIGITS = 12 };

struct lines {
    Py_buffer text;
    const uint8_t *starts; /* int32, not aligned, perhaps */
    int64_t count;
    int64_t first;
    int64_t stop;
    int64_t at;
    int64_t sequence;
};

static inline int32_t
line_start(const struct lines *lines, int64_t line)
{
    int32_t start;
    memcpy(&start, lines->starts + (size_t)line * sizeof start, sizeof start);
    return start;
}

static inline void
write_number(uint8_t *to, uint64_t number)
{
    for (int digit = DIGITS; digit--; number >>= 4)
        to[digit] = (uint8_t)"0123456789abcdef"[number & 15];
}

/* The first line without room, or -1. */
static int64_t
find_cramped(const struct lines *lines)
{
    const int64_t most = (int64_t)lines->text.len - DIGITS;
    for (int64_t line = lines->first; line < lines->stop; line++) {
        const int64_t start = line_start(lines, line);
        if (lines->at < 0 || lines->at > most || start < 0 || start > most - lines->at)
            return line;
    }
    return -1;
}

static bool
check_lines(const struct lines *lines)
{
    const int64_t first = lines->first, stop = lines->stop;
    if (first < 0 || first > stop || stop > lines->count) {
        PyErr_Format(PyExc_ValueError, "lines %lld to %lld of %lld", (long long)first, (long long)stop,
                     (long long)lines->count);
        return false;
    }
    if (lines->sequence < 0 || lines->sequence > ((int64_t)1 << 4 * DIGITS) - (stop - first)) {
        PyErr_Format(PyExc_ValueError, "a sequence number has %d digits", DIGITS);
        return false;
    }
    const int64_t cramped = find_cramped(lines);
    if (cramped >= 0)
        PyErr_Format(PyExc_ValueError, "line %lld has no room for its number", (long long)cramped);
    return cramped < 0;
}

static void
write_numbers(const struct lines *lines)
{
    uint8_t *to = (uint8_t *)lines->text.buf + lines->at;
    uint64_t number = (uint64_t)lines->sequence;
    for (int64_t line = lines->first; line < lines->stop; line++)
        write_number(to + line_start(lines, line), number++);
}

static bool
take_starts(struct lines *lines, const struct span *starts)
{
    lines->starts = starts->data;
    lines->count = (int64_t)(starts->size / sizeof(int32_t));
    if (starts->size % sizeof(int32_t) == 0)
        return true;
    PyErr_Format(PyExc_ValueError, "%zd bytes are no whole int32", (Py_ssize_t)starts->size);
    return false;
}

/* mark_lines(text, starts, first, stop, at, sequence) */
PyObject *
mark_lines(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct lines lines = {0};
    struct span starts;
    PyObject *owner = keep_some_bytes(Py_NewRef(args[1]), &starts);
    if (owner == NULL)
        return NULL;
    bool good = PyObject_GetBuffer(args[0], &lines.text, PyBUF_WRITABLE) == 0;
    if (good) {
        good = take_starts(&lines, &starts) && take_int64(args[2], &lines.first)
            && take_int64(args[3], &lines.stop) && take_int64(args[4], &lines.at)
            && take_int64(args[5], &lines.sequence) && check_lines(&lines);
        if (good)
            write_numbers(&lines);
        PyBuffer_Release(&lines.text);
    }
    Py_DECREF(owner);
    return good ? Py_NewRef(Py_None) : NULL;
}
