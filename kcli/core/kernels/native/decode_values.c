/* The values of a payload as output. */
#include "module.h"
#include "values.h"

static PyObject *
decode(struct reader *reader, int64_t count, struct values *values)
{
    if (!check_count(reader, count))
        return raise_corruption(&reader->fault);
    if (!make_places(values, count))
        return PyErr_NoMemory();
    bool good;
    if (reader->size < WORTH_RELEASING) {
        good = find_values(values, reader, count);
    } else {
        Py_BEGIN_ALLOW_THREADS
        good = find_values(values, reader, count);
        Py_END_ALLOW_THREADS
    }
    PyObject *result = good ? values_object(values) : raise_corruption(&reader->fault);
    drop_scratch(&values->scratch);
    return result;
}

static PyObject *
decode_payload(PyObject *payload, int64_t count, struct values *values)
{
    Py_buffer view;
    if (PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    struct reader reader = open_reader(view.buf, view.len);
    PyObject *result = decode(&reader, count, values);
    PyBuffer_Release(&view);
    return result;
}

/* decode_values(payload, count, first_delta, last_delta, delimiter, null) */
PyObject *
decode_values(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct values values = {0};
    int64_t records;
    if (!take_int64(args[1], &records)
        || !take_limit(args[2], &values.first_delta) || !take_limit(args[3], &values.last_delta))
        return NULL;
    PyObject *delimiter = keep_some_bytes(Py_NewRef(args[4]), &values.delimiter);
    PyObject *null = delimiter ? keep_some_bytes(Py_NewRef(args[5]), &values.null) : NULL;
    PyObject *result = null ? decode_payload(args[0], records, &values) : NULL;
    Py_XDECREF(delimiter);
    Py_XDECREF(null);
    return result;
}
