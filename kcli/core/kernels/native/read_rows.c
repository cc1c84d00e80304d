/* Rows of compact arrays of Kafka's protocol, read by their shape; the usual rows only. Its twin is pure/rows.py. */
#include "module.h"

#include <string.h>

/* ``good`` is false once a row is not the usual, or with an exception. */
struct rows {
    const uint8_t *data;
    Py_ssize_t size;
    Py_ssize_t at;
    bool good;
};

/* A part of a shape: the letters of a row. */
struct shape {
    const char *at;
    const char *end;
};

static PyObject *read_array(struct rows *rows, struct shape shape, Py_ssize_t count, bool by_column);

static bool
is_value(char letter)
{
    return letter != 'e' && letter != '_';
}

static Py_ssize_t
size_of(char letter)
{
    return letter == 'q' ? 8 : letter == 'i' ? 4 : letter == 'h' ? 2 : 1;
}

/* The bracket that closes the one before ``at``. */
static const char *
closing(const char *at, const char *end)
{
    int depth = 1;
    for (; at < end; at++) {
        depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
        if (depth == 0)
            break;
    }
    return at;
}

/* How many values a row has, and the bytes of the smallest. */
static Py_ssize_t
measure_shape(struct shape shape, Py_ssize_t *smallest)
{
    Py_ssize_t values = 0, size = 0;
    for (const char *at = shape.at; at < shape.end; at++) {
        values += is_value(*at);
        size += size_of(*at);
        if (*at == '[' || *at == '{')
            at = closing(at + 1, shape.end);
    }
    *smallest = size > 1 ? size : 1;
    return values;
}

/* NULL if so many bytes are not there. */
static const uint8_t *
read_bytes(struct rows *rows, Py_ssize_t size)
{
    if (size > rows->size - rows->at) {
        rows->good = false;
        return NULL;
    }
    const uint8_t *found = rows->data + rows->at;
    rows->at += size;
    return found;
}

/* A length, stored as its successor; a null has none. */
static Py_ssize_t
read_length(struct rows *rows)
{
    uint32_t value = 0;
    for (int shift = 0; shift <= 21; shift += 7) {
        const uint8_t *byte = read_bytes(rows, 1);
        if (byte == NULL)
            return 0;
        value |= (uint32_t)(*byte & 0x7F) << shift;
        if (*byte < 0x80) {
            rows->good = value != 0;
            return (Py_ssize_t)value - 1;
        }
    }
    rows->good = false;
    return 0;
}

static PyObject *
read_number(struct rows *rows, Py_ssize_t size)
{
    const uint8_t *bytes = read_bytes(rows, size);
    if (bytes == NULL)
        return NULL;
    uint64_t value = (bytes[0] & 0x80) ? UINT64_MAX : 0;
    for (Py_ssize_t place = 0; place < size; place++)
        value = value << 8 | bytes[place];
    return PyLong_FromLongLong((long long)value);
}

static PyObject *
read_text(struct rows *rows)
{
    const Py_ssize_t length = read_length(rows);
    const uint8_t *bytes = rows->good ? read_bytes(rows, length) : NULL;
    if (bytes == NULL)
        return NULL;
    PyObject *text = PyUnicode_DecodeUTF8((const char *)bytes, length, NULL);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        PyErr_Clear();
    return text;
}

/* The value of a letter, a new reference; None for one without a value; NULL sets ``good`` to false. */
static PyObject *
read_value(struct rows *rows, const char **at, const char *end)
{
    const char letter = *(*at)++;
    PyObject *value = NULL;
    if (letter == 's')
        value = read_text(rows);
    else if (letter == 'h' || letter == 'i' || letter == 'q')
        value = read_number(rows, size_of(letter));
    else if (!is_value(letter)) {
        const uint8_t *byte = read_bytes(rows, 1);
        value = byte != NULL && *byte == (letter == 'e') ? Py_NewRef(Py_None) : NULL;
    }
    else {
        const struct shape inside = {*at, closing(*at, end)};
        const Py_ssize_t count = read_length(rows);
        *at = inside.end + 1;
        value = rows->good ? read_array(rows, inside, count, letter == '{') : NULL;
    }
    rows->good = value != NULL;
    return value;
}

static PyObject *
read_row(struct rows *rows, struct shape shape, Py_ssize_t values)
{
    PyObject *row = PyTuple_New(values);
    rows->good = row != NULL;
    Py_ssize_t place = 0;
    for (const char *at = shape.at; rows->good && at < shape.end;) {
        const bool kept = is_value(*at);
        PyObject *value = read_value(rows, &at, shape.end);
        if (kept && value != NULL)
            PyTuple_SetItem(row, place++, value);
        else
            Py_XDECREF(value);
    }
    if (!rows->good)
        Py_CLEAR(row);
    return row;
}

/* A list of tuples. */
static PyObject *
read_by_row(struct rows *rows, struct shape shape, Py_ssize_t count, Py_ssize_t values)
{
    PyObject *found = PyList_New(count);
    rows->good = found != NULL;
    for (Py_ssize_t place = 0; rows->good && place < count; place++) {
        PyObject *row = read_row(rows, shape, values);
        if (row != NULL)
            PyList_SetItem(found, place, row);
    }
    if (!rows->good)
        Py_CLEAR(found);
    return found;
}

static bool
read_into_columns(struct rows *rows, struct shape shape, Py_ssize_t place, PyObject *columns)
{
    Py_ssize_t column = 0;
    for (const char *at = shape.at; rows->good && at < shape.end;) {
        const bool kept = is_value(*at);
        PyObject *value = read_value(rows, &at, shape.end);
        if (kept && value != NULL)
            PyTuple_SetItem(PyTuple_GetItem(columns, column++), place, value);
        else
            Py_XDECREF(value);
    }
    return rows->good;
}

/* A tuple of tuples. */
static PyObject *
read_by_column(struct rows *rows, struct shape shape, Py_ssize_t count, Py_ssize_t values)
{
    PyObject *columns = PyTuple_New(values);
    rows->good = columns != NULL;
    for (Py_ssize_t column = 0; rows->good && column < values; column++) {
        PyObject *cells = PyTuple_New(count);
        rows->good = cells != NULL;
        if (rows->good)
            PyTuple_SetItem(columns, column, cells);
    }
    for (Py_ssize_t place = 0; rows->good && place < count; place++)
        read_into_columns(rows, shape, place, columns);
    if (!rows->good)
        Py_CLEAR(columns);
    return columns;
}

static PyObject *
read_array(struct rows *rows, struct shape shape, Py_ssize_t count, bool by_column)
{
    Py_ssize_t smallest;
    const Py_ssize_t values = measure_shape(shape, &smallest);
    if (count < 0 || count > (rows->size - rows->at) / smallest) {
        rows->good = false;
        return NULL;
    }
    return by_column ? read_by_column(rows, shape, count, values) : read_by_row(rows, shape, count, values);
}

PyObject *
read_rows(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    Py_ssize_t start, length;
    int64_t wanted;
    const char *letters = PyUnicode_AsUTF8AndSize(args[3], &length);
    if (letters == NULL || !take_start(args[1], &start) || !take_int64(args[2], &wanted))
        return NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    struct rows rows = {view.buf, view.len, start < view.len ? start : view.len, true};
    PyObject *found = read_array(&rows, (struct shape){letters, letters + length}, (Py_ssize_t)wanted, false);
    PyBuffer_Release(&view);
    if (found != NULL)
        return Py_BuildValue("Nn", found, rows.at);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}
