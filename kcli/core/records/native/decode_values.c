/* The values of a payload as output: each followed by a delimiter.
 *
 * In three steps: read all records and remember where the wanted values are; take exactly the memory that they need;
 * copy them. All but the middle one run without the GIL.
 */
#include "arguments.h"
#include "kernels.h"
#include "reader.h"
#include "scratch.h"

/* A value, by its position; -1 for a null. */
struct place {
    int64_t start;
    int64_t size;
};

/* What the caller wants, and what was found so far. */
struct values {
    struct span delimiter;
    struct span null;
    int64_t first_delta;
    int64_t last_delta;
    struct place *places;
    int64_t count;
    uint64_t size; /* of the values without delimiters and nulls: never more than the payload has */
    int64_t nulls;
};

static inline void
note_value(struct values *values, const struct record *record)
{
    if (record->offset_delta < values->first_delta || record->offset_delta > values->last_delta)
        return;
    struct place *place = &values->places[values->count++];
    place->start = record->value;
    place->size = record->value_end - record->value;
    values->size += (uint64_t)place->size;
    values->nulls += record->value < 0;
}

/* Reads ``count`` records, whose places are there already. */
static bool
find_values(struct reader *reader, int64_t count, struct values *values)
{
    struct record record;
    for (int64_t index = 0; index < count; index++) {
        if (!read_record(reader, &record))
            return false;
        note_value(values, &record);
    }
    return check_end(reader);
}

/* False where the output would be larger than an object can be: long delimiters for very many small values. */
static bool
output_size(const struct values *values, Py_ssize_t *size)
{
    size_t delimiters, nulls, all;
    if (__builtin_mul_overflow((size_t)values->count, values->delimiter.size, &delimiters)
        || __builtin_mul_overflow((size_t)values->nulls, values->null.size, &nulls)
        || __builtin_add_overflow(delimiters, nulls, &all)
        || __builtin_add_overflow(all, (size_t)values->size, &all) || all > PY_SSIZE_T_MAX)
        return false;
    *size = (Py_ssize_t)all;
    return true;
}

static void
copy_values(const struct values *values, const uint8_t *data, uint8_t *at)
{
    for (int64_t index = 0; index < values->count; index++) {
        const struct place place = values->places[index];
        const struct span value = {data + (place.start < 0 ? 0 : place.start), (size_t)place.size};
        at = write_bytes(at, place.start < 0 ? values->null : value);
        at = write_bytes(at, values->delimiter);
    }
}

static PyObject *
output(const struct values *values, const uint8_t *data)
{
    Py_ssize_t size;
    if (!output_size(values, &size))
        return PyErr_NoMemory();
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    if (bytes == NULL)
        return NULL;
    uint8_t *at = (uint8_t *)PyBytes_AsString(bytes);
    if (size < WORTH_RELEASING) {
        copy_values(values, data, at);
    } else {
        Py_BEGIN_ALLOW_THREADS
        copy_values(values, data, at);
        Py_END_ALLOW_THREADS
    }
    return Py_BuildValue("(NL)", bytes, (long long)values->count);
}

static PyObject *
decode(struct reader *reader, int64_t count, struct values *values)
{
    if (!check_count(reader, count))
        return raise_corruption(&reader->fault);
    struct scratch scratch = take_scratch();
    if (!grow_scratch(&scratch, (size_t)count, sizeof *values->places)) {
        drop_scratch(&scratch);
        return PyErr_NoMemory();
    }
    values->places = scratch.memory;
    bool good;
    if (reader->size < WORTH_RELEASING) {
        good = find_values(reader, count, values);
    } else {
        Py_BEGIN_ALLOW_THREADS
        good = find_values(reader, count, values);
        Py_END_ALLOW_THREADS
    }
    PyObject *result = good ? output(values, reader->data) : raise_corruption(&reader->fault);
    drop_scratch(&scratch);
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
decode_values(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    struct values values = {0};
    int64_t records;
    if (!check_arguments("decode_values", count, 6, 6) || !take_int64(args[1], &records)
        || !take_limit(args[2], &values.first_delta) || !take_limit(args[3], &values.last_delta))
        return NULL;
    PyObject *delimiter = keep_some_bytes(Py_NewRef(args[4]), &values.delimiter);
    PyObject *null = delimiter ? keep_some_bytes(Py_NewRef(args[5]), &values.null) : NULL;
    PyObject *result = null ? decode_payload(args[0], records, &values) : NULL;
    Py_XDECREF(delimiter);
    Py_XDECREF(null);
    return result;
}
