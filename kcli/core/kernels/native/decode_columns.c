/* Where the fields of all records are, as the lists of Columns. They are Python objects, so the GIL stays. */
#include "module.h"
#include "quick.h"

enum {
    OFFSET_DELTA,
    TIMESTAMP_DELTA,
    KEY_START,
    KEY_END,
    VALUE_START,
    VALUE_END,
    HEADER_START,
    HEADER_END,
    HEADER_COUNT,
    COLUMNS,
};

/* In the order of Columns. */
struct columns {
    PyObject *lists[COLUMNS];
};

static void
clear_columns(struct columns *columns)
{
    for (int column = 0; column < COLUMNS; column++)
        Py_CLEAR(columns->lists[column]);
}

static bool
make_columns(struct columns *columns, Py_ssize_t count)
{
    for (int column = 0; column < COLUMNS; column++) {
        columns->lists[column] = PyList_New(count);
        if (columns->lists[column] == NULL)
            return false;
    }
    return true;
}

/* Takes the reference; NULL, where making the number failed, is handed on. */
static bool
set_object(struct columns *columns, int column, Py_ssize_t index, PyObject *number)
{
    return number != NULL && PyList_SetItem(columns->lists[column], index, number) == 0;
}

static bool
set(struct columns *columns, int column, Py_ssize_t index, int64_t value)
{
    return set_object(columns, column, index, PyLong_FromLongLong(value));
}

/* The headers begin where the value ends unless that is null: making a number once is a tenth of all the time. */
static bool
set_value_end(struct columns *columns, Py_ssize_t index, const struct record *record)
{
    PyObject *end = PyLong_FromLongLong(record->value_end);
    if (end == NULL)
        return false;
    if (record->headers != record->value_end)
        return set_object(columns, VALUE_END, index, end)
               && set(columns, HEADER_START, index, record->headers);
    const bool ended = set_object(columns, VALUE_END, index, Py_NewRef(end));
    return set_object(columns, HEADER_START, index, end) && ended; /* both are called, so that both references go */
}

static bool
set_row(struct columns *columns, Py_ssize_t index, const struct record *record)
{
    return set(columns, OFFSET_DELTA, index, record->offset_delta)
           && set(columns, TIMESTAMP_DELTA, index, record->timestamp_delta)
           && set(columns, KEY_START, index, record->key) && set(columns, KEY_END, index, record->key_end)
           && set(columns, VALUE_START, index, record->value) && set_value_end(columns, index, record)
           && set(columns, HEADER_END, index, record->end)
           && set(columns, HEADER_COUNT, index, record->header_count);
}

/* False with an exception. */
static bool
fill_columns(struct columns *columns, struct reader *reader, Py_ssize_t count)
{
    struct record record;
    for (Py_ssize_t index = 0; index < count; index++) {
        if (!next_record(reader, &record)) {
            raise_corruption(&reader->fault);
            return false;
        }
        if (!set_row(columns, index, &record))
            return false;
    }
    if (!check_end(reader)) {
        raise_corruption(&reader->fault);
        return false;
    }
    return true;
}

/* Columns(*lists) */
static PyObject *
as_tuple(const struct columns *columns)
{
    PyObject *module = PyImport_ImportModule("kcli.core.kernels.shapes");
    PyObject *type = module ? PyObject_GetAttrString(module, "Columns") : NULL;
    PyObject *lists = type ? PyTuple_New(COLUMNS) : NULL;
    for (int column = 0; lists != NULL && column < COLUMNS; column++)
        PyTuple_SetItem(lists, column, Py_NewRef(columns->lists[column]));
    PyObject *result = lists ? PyObject_Call(type, lists, NULL) : NULL;
    Py_XDECREF(lists);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return result;
}

static PyObject *
decode(struct reader *reader, int64_t count)
{
    if (!check_count(reader, count))
        return raise_corruption(&reader->fault);
    struct columns columns = {{0}};
    PyObject *result = NULL;
    if (make_columns(&columns, (Py_ssize_t)count) && fill_columns(&columns, reader, (Py_ssize_t)count))
        result = as_tuple(&columns);
    clear_columns(&columns);
    return result;
}

/* decode_columns(payload, count) */
PyObject *
decode_columns(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    int64_t records;
    Py_buffer view;
    if (!take_int64(args[1], &records) || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    struct reader reader = open_reader(view.buf, view.len);
    PyObject *result = decode(&reader, records);
    PyBuffer_Release(&view);
    return result;
}
