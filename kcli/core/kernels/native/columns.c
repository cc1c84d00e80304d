#include "columns.h"

#include "module.h"

static const uint8_t nothing[1];

/* ``object`` may be None. */
static bool
take_buffer(struct buffer *buffer, PyObject *object)
{
    if (object == Py_None)
        return true;
    if (PyObject_GetBuffer(object, &buffer->view, PyBUF_SIMPLE) < 0)
        return false;
    buffer->data = buffer->view.buf == NULL ? nothing : buffer->view.buf;
    buffer->size = buffer->view.len;
    return true;
}

static void
drop_buffer(struct buffer *buffer)
{
    if (buffer->view.obj != NULL)
        PyBuffer_Release(&buffer->view);
}

/* The fields of a tuple are its own: what they are taken from stays alive as long as the caller's argument. */
static bool
is_tuple(PyObject *object, Py_ssize_t size, const char *name)
{
    if (PyTuple_Check(object) && PyTuple_Size(object) == size)
        return true;
    PyErr_Format(PyExc_TypeError, "the column of %s is no tuple of %zd fields", name, size);
    return false;
}

static bool
check_length(int64_t there, int64_t start, int64_t needed, const char *name)
{
    if (start >= 0 && start <= there && there - start >= needed)
        return true;
    PyErr_Format(PyExc_ValueError, "a buffer of the column of %s is too short", name);
    return false;
}

/* The bits of validity, and so many positions or numbers as ``count`` rows and ``more`` need. */
static bool
check_buffers(const struct buffer *valid, const struct buffer *positions, int64_t width, int64_t start,
              int64_t count, int more, const char *name)
{
    if (valid->data != NULL && !check_length(valid->size * 8, start, count, name))
        return false;
    const int64_t there = positions->size / width;
    return check_length(more ? there - 1 : there, start, count, name);
}

static bool
take_data(struct bytes_column *column, PyObject *tuple)
{
    const Py_ssize_t count = PyTuple_Size(tuple);
    column->data = PyMem_Calloc((size_t)count + 1, sizeof *column->data);
    if (column->data == NULL) {
        PyErr_NoMemory();
        return false;
    }
    column->data->data = nothing; /* where there is no buffer, as all values are empty */
    for (; column->data_count < count; column->data_count++)
        if (!take_buffer(&column->data[column->data_count], PyTuple_GetItem(tuple, column->data_count)))
            return false;
    return true;
}

bool
take_bytes_column(struct bytes_column *column, PyObject *tuple, int64_t count, const char *name)
{
    int64_t width;
    if (tuple == Py_None || count == 0)
        return true;
    if (!is_tuple(tuple, 5, name) || !take_limit(PyTuple_GetItem(tuple, 0), &width)
        || !take_limit(PyTuple_GetItem(tuple, 1), &column->start)
        || !take_buffer(&column->valid, PyTuple_GetItem(tuple, 2))
        || !take_buffer(&column->positions, PyTuple_GetItem(tuple, 3)))
        return false;
    if (width != 4 && width != 8 && width != VIEW) {
        PyErr_Format(PyExc_ValueError, "the column of %s has positions of %lld bytes", name, (long long)width);
        return false;
    }
    PyObject *data = PyTuple_GetItem(tuple, 4);
    if (!PyTuple_Check(data)) {
        PyErr_Format(PyExc_TypeError, "the data of the column of %s is no tuple", name);
        return false;
    }
    if (!check_buffers(&column->valid, &column->positions, width, column->start, count, width != VIEW, name)
        || !take_data(column, data))
        return false;
    column->width = width;
    return true;
}

void
drop_bytes_column(struct bytes_column *column)
{
    drop_buffer(&column->valid);
    drop_buffer(&column->positions);
    for (int64_t index = 0; index < column->data_count; index++)
        drop_buffer(&column->data[index]);
    PyMem_Free(column->data);
}

bool
take_number_column(struct number_column *column, PyObject *tuple, int64_t count, const char *name)
{
    int64_t width;
    if (tuple == Py_None || count == 0)
        return true;
    if (!is_tuple(tuple, 6, name) || !take_limit(PyTuple_GetItem(tuple, 0), &width)
        || !take_limit(PyTuple_GetItem(tuple, 1), &column->start)
        || !take_buffer(&column->valid, PyTuple_GetItem(tuple, 2))
        || !take_buffer(&column->numbers, PyTuple_GetItem(tuple, 3))
        || !take_limit(PyTuple_GetItem(tuple, 4), &column->times)
        || !take_limit(PyTuple_GetItem(tuple, 5), &column->per))
        return false;
    if (width != 4 && width != 8) {
        PyErr_Format(PyExc_ValueError, "the column of %s has numbers of %lld bytes", name, (long long)width);
        return false;
    }
    if (!check_buffers(&column->valid, &column->numbers, width, column->start, count, 0, name))
        return false;
    column->width = width;
    return true;
}

void
drop_number_column(struct number_column *column)
{
    drop_buffer(&column->valid);
    drop_buffer(&column->numbers);
}

static bool
take_headers_column(struct headers_column *column, PyObject *tuple, int64_t count)
{
    int64_t width;
    if (tuple == Py_None || count == 0)
        return true;
    if (!is_tuple(tuple, 9, "headers") || !take_limit(PyTuple_GetItem(tuple, 0), &width)
        || !take_limit(PyTuple_GetItem(tuple, 1), &column->start)
        || !take_buffer(&column->valid, PyTuple_GetItem(tuple, 2))
        || !take_buffer(&column->offsets, PyTuple_GetItem(tuple, 3))
        || !take_limit(PyTuple_GetItem(tuple, 4), &column->entries)
        || !take_limit(PyTuple_GetItem(tuple, 5), &column->entries_start)
        || !take_buffer(&column->entries_valid, PyTuple_GetItem(tuple, 6)))
        return false;
    if ((width != 4 && width != 8) || column->entries < 0) {
        PyErr_Format(PyExc_ValueError, "the column of headers has positions of %lld bytes and %lld entries",
                     (long long)width, (long long)column->entries);
        return false;
    }
    if (!check_buffers(&column->valid, &column->offsets, width, column->start, count, 1, "headers"))
        return false;
    if (column->entries_valid.data != NULL
        && !check_length(column->entries_valid.size * 8, column->entries_start, column->entries, "headers"))
        return false;
    if (!take_bytes_column(&column->names, PyTuple_GetItem(tuple, 7), column->entries, "header names")
        || !take_bytes_column(&column->values, PyTuple_GetItem(tuple, 8), column->entries, "header values"))
        return false;
    column->width = width;
    return true;
}

static void
drop_headers_column(struct headers_column *column)
{
    drop_buffer(&column->valid);
    drop_buffer(&column->offsets);
    drop_buffer(&column->entries_valid);
    drop_bytes_column(&column->names);
    drop_bytes_column(&column->values);
}

static bool
check_timestamps(const struct number_column *column)
{
    if (column->width == 0 || (column->times >= 1 && column->per >= 1))
        return true;
    PyErr_Format(PyExc_ValueError, "the factor of timestamps is %lld/%lld", (long long)column->times,
                 (long long)column->per);
    return false;
}

bool
take_row_count(PyObject *number, int64_t *count)
{
    if (!take_limit(number, count))
        return false;
    if (0 <= *count && *count <= INT32_MAX)
        return true;
    PyErr_Format(PyExc_ValueError, "the number of rows is %lld", (long long)*count);
    return false;
}

bool
take_keys(struct columns *columns, PyObject *tuple)
{
    return is_tuple(tuple, 6, "records") && take_row_count(PyTuple_GetItem(tuple, 0), &columns->count)
           && take_bytes_column(&columns->keys, PyTuple_GetItem(tuple, 1), columns->count, "keys");
}

bool
take_columns(struct columns *columns, PyObject *tuple)
{
    if (!take_keys(columns, tuple))
        return false;
    const int64_t count = columns->count;
    return take_bytes_column(&columns->values, PyTuple_GetItem(tuple, 2), count, "values")
           && take_headers_column(&columns->headers, PyTuple_GetItem(tuple, 3), count)
           && take_bytes_column(&columns->packed, PyTuple_GetItem(tuple, 4), count, "packed headers")
           && take_number_column(&columns->timestamps, PyTuple_GetItem(tuple, 5), count, "timestamps")
           && check_timestamps(&columns->timestamps);
}

void
drop_columns(struct columns *columns)
{
    drop_bytes_column(&columns->keys);
    drop_bytes_column(&columns->values);
    drop_headers_column(&columns->headers);
    drop_bytes_column(&columns->packed);
    drop_number_column(&columns->timestamps);
}

bool
take_selection(struct selection *selection, PyObject *const *args, int64_t count)
{
    if (!take_buffer(&selection->rows, args[0]) || !take_limit(args[1], &selection->start)
        || !take_limit(args[2], &selection->stop))
        return false;
    selection->count = count;
    const int64_t there = selection->rows.data == NULL ? count : selection->rows.size / (int64_t)sizeof(int32_t);
    if (0 <= selection->start && selection->start <= selection->stop && selection->stop <= there)
        return true;
    PyErr_Format(PyExc_ValueError, "rows %lld to %lld of %lld", (long long)selection->start,
                 (long long)selection->stop, (long long)there);
    return false;
}

void
drop_selection(struct selection *selection)
{
    drop_buffer(&selection->rows);
}

PyObject *
refuse_row(const struct refusal *refusal)
{
    return PyErr_Format(PyExc_ValueError, refusal->why, (long long)refusal->row);
}
