/* The records of batches and runs as columns of Arrow. */
#include "module.h"

#include <stdlib.h>

#include "arrow_fill.h"

struct conversion {
    Py_buffer *views;
    struct part *parts;
    Py_ssize_t part_count;
    struct column *columns;
    Py_ssize_t column_count;
    struct span *keys;
    PyObject **key_owners;
    size_t key_count;
    PyObject *topic_owner;
    struct constants constants;
    struct rows rows;
    struct fill_fault fault;
    int64_t size; /* of all parts */
};

/* --- Arguments --------------------------------------------------------------------------------------- */

static bool
take_parts(struct conversion *conversion, PyObject *parts)
{
    const Py_ssize_t count = PySequence_Size(parts);
    if (count < 0)
        return false;
    conversion->views = calloc((size_t)count + 1, sizeof *conversion->views);
    conversion->parts = calloc((size_t)count + 1, sizeof *conversion->parts);
    if (conversion->views == NULL || conversion->parts == NULL)
        return PyErr_NoMemory() != NULL;
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *part = PySequence_GetItem(parts, index);
        const bool taken =
            part != NULL && take_part(part, &conversion->views[index], &conversion->parts[index]);
        Py_XDECREF(part);
        if (!taken)
            return false;
        conversion->part_count += 1;
        conversion->size += conversion->parts[index].size;
    }
    return true;
}

static bool
take_columns(struct conversion *conversion, PyObject *columns)
{
    const Py_ssize_t count = PySequence_Size(columns);
    if (count < 0)
        return false;
    conversion->columns = calloc((size_t)count + 1, sizeof *conversion->columns);
    if (conversion->columns == NULL)
        return PyErr_NoMemory() != NULL;
    conversion->column_count = count;
    for (Py_ssize_t index = 0; index < count; index++) {
        int64_t code;
        if (!take_item(columns, index, &code, false))
            return false;
        if (code < 0 || code >= ARROW_COLUMNS) {
            PyErr_Format(PyExc_ValueError, "there is no column %lld", (long long)code);
            return false;
        }
        conversion->columns[index].code = (enum arrow_column)code;
    }
    return true;
}

static bool
take_times(struct filter *filter, PyObject *since, PyObject *until)
{
    filter->by_time = since != Py_None || until != Py_None;
    filter->since = INT64_MIN;
    filter->until = INT64_MAX;
    return (since == Py_None || take_limit(since, &filter->since))
           && (until == Py_None || take_limit(until, &filter->until));
}

/* None among the keys: a null is wanted too. */
static bool
take_keys(struct conversion *conversion, PyObject *keys)
{
    struct filter *filter = &conversion->rows.filter;
    if (keys == Py_None)
        return true;
    const Py_ssize_t count = PySequence_Size(keys);
    if (count < 0)
        return false;
    conversion->keys = calloc((size_t)count + 1, sizeof *conversion->keys);
    conversion->key_owners = calloc((size_t)count + 1, sizeof *conversion->key_owners);
    if (conversion->keys == NULL || conversion->key_owners == NULL)
        return PyErr_NoMemory() != NULL;
    for (Py_ssize_t index = 0; index < count; index++) {
        struct span key;
        PyObject *owner = PySequence_GetItem(keys, index);
        owner = owner == NULL ? NULL : keep_bytes(owner, &key);
        if (owner == NULL)
            return false;
        conversion->key_owners[index] = owner;
        if (key.data == NULL)
            filter->null_key = true;
        else
            conversion->keys[conversion->key_count++] = key;
    }
    qsort(conversion->keys, conversion->key_count, sizeof *conversion->keys, compare_keys);
    filter->by_key = true;
    filter->keys = conversion->keys;
    filter->key_count = conversion->key_count;
    return true;
}

static bool
take_constants(struct conversion *conversion, PyObject *topic, PyObject *partition)
{
    int64_t number;
    if (!take_int64(partition, &number))
        return false;
    if (number < INT32_MIN || number > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "there is no partition %lld", (long long)number);
        return false;
    }
    conversion->constants.partition = (int32_t)number;
    conversion->topic_owner = keep_some_bytes(Py_NewRef(topic), &conversion->constants.topic);
    return conversion->topic_owner != NULL;
}

static bool
take_arguments(struct conversion *conversion, PyObject *const *args)
{
    const int not_null = PyObject_IsTrue(args[5]);
    if (not_null < 0)
        return false;
    conversion->rows.filter.not_null = not_null;
    return take_columns(conversion, args[1]) && take_times(&conversion->rows.filter, args[2], args[3])
           && take_keys(conversion, args[4]) && take_constants(conversion, args[6], args[7])
           && take_parts(conversion, args[0]);
}

static void
drop_conversion(struct conversion *conversion)
{
    for (Py_ssize_t index = 0; index < conversion->part_count; index++)
        PyBuffer_Release(&conversion->views[index]);
    for (size_t index = 0; conversion->key_owners != NULL && conversion->key_owners[index] != NULL; index++)
        Py_DECREF(conversion->key_owners[index]);
    for (Py_ssize_t index = 0; index < conversion->column_count; index++)
        drop_column(&conversion->columns[index]);
    Py_XDECREF(conversion->topic_owner);
    drop_scratch(&conversion->rows.scratch);
    free(conversion->views);
    free(conversion->parts);
    free(conversion->columns);
    free(conversion->keys);
    free(conversion->key_owners);
}

/* --- Work without objects ---------------------------------------------------------------------------- */

static enum verdict
convert(struct conversion *conversion)
{
    enum verdict verdict = GOOD;
    conversion->rows.scratch = take_scratch();
    conversion->rows.items = conversion->rows.scratch.memory;
    conversion->rows.room = (int64_t)(conversion->rows.scratch.size / sizeof *conversion->rows.items);
    for (Py_ssize_t index = 0; verdict == GOOD && index < conversion->part_count; index++)
        verdict = add_part(&conversion->rows, &conversion->parts[index]);
    for (Py_ssize_t index = 0; verdict == GOOD && index < conversion->column_count; index++)
        verdict = fill_column(&conversion->columns[index], &conversion->rows, &conversion->constants,
                              &conversion->fault);
    return verdict;
}

static enum verdict
convert_releasing(struct conversion *conversion)
{
    if (conversion->size < WORTH_RELEASING)
        return convert(conversion);
    enum verdict verdict;
    Py_BEGIN_ALLOW_THREADS
    verdict = convert(conversion);
    Py_END_ALLOW_THREADS
    return verdict;
}

/* --- The result -------------------------------------------------------------------------------------- */

static PyObject *
refuse_conversion(const struct conversion *conversion, enum verdict verdict)
{
    const long long number = conversion->fault.number;
    switch (verdict) {
    case TOO_LARGE:
        return PyErr_Format(PyExc_OverflowError, "a column of %lld bytes or entries", number);
    case BAD_NAME:
        return PyErr_Format(PyExc_UnicodeError, "a header name of the record at offset %lld is not UTF-8",
                            number);
    default:
        return refuse_part(verdict, &conversion->rows.fault);
    }
}

/* The buffers of an array as a tuple; the objects become their owners. */
static PyObject *
buffers_object(struct array *array)
{
    PyObject *buffers = PyTuple_New(array->buffer_count);
    for (int index = 0; buffers != NULL && index < array->buffer_count; index++) {
        struct memory *memory = array->buffers[index];
        array->buffers[index] = NULL;
        PyObject *buffer = memory == NULL ? Py_NewRef(Py_None) : buffer_object(memory);
        if (buffer == NULL || PyTuple_SetItem(buffers, index, buffer) < 0)
            Py_CLEAR(buffers);
    }
    return buffers;
}

/* (length, nulls, buffers, children); takes over the reference of ``children``, and hands on its NULL. */
static PyObject *
array_object(struct array *array, PyObject *children)
{
    if (children == NULL)
        return NULL;
    PyObject *buffers = buffers_object(array);
    if (buffers == NULL) {
        Py_DECREF(children);
        return NULL;
    }
    return Py_BuildValue("(LLNN)", (long long)array->length, (long long)array->nulls, buffers, children);
}

static PyObject *
headers_object(struct array *arrays)
{
    PyObject *name = array_object(&arrays[2], PyTuple_New(0));
    PyObject *value = name == NULL ? NULL : array_object(&arrays[3], PyTuple_New(0));
    PyObject *fields = value == NULL ? NULL : PyTuple_Pack(2, name, value);
    Py_XDECREF(name);
    Py_XDECREF(value);
    PyObject *pair = array_object(&arrays[1], fields);
    PyObject *items = pair == NULL ? NULL : PyTuple_Pack(1, pair);
    Py_XDECREF(pair);
    return array_object(&arrays[0], items);
}

static PyObject *
column_object(struct column *column)
{
    return column->code == ARROW_HEADERS ? headers_object(column->arrays)
                                         : array_object(column->arrays, PyTuple_New(0));
}

static PyObject *
conversion_object(struct conversion *conversion)
{
    PyObject *columns = PyTuple_New(conversion->column_count);
    for (Py_ssize_t index = 0; columns != NULL && index < conversion->column_count; index++) {
        PyObject *column = column_object(&conversion->columns[index]);
        if (column == NULL || PyTuple_SetItem(columns, index, column) < 0)
            Py_CLEAR(columns);
    }
    if (columns == NULL)
        return NULL;
    const struct rows *rows = &conversion->rows;
    const int64_t first = rows->count ? rows->items[0].offset : -1;
    const int64_t last = rows->count ? rows->items[rows->count - 1].offset : -1;
    return Py_BuildValue("(LLLLN)", (long long)rows->count, (long long)rows->seen, (long long)first,
                         (long long)last, columns);
}

/* arrow_columns(parts, columns, since, until, keys, not_null, topic, partition) */
PyObject *
arrow_columns(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct conversion conversion = {0};
    PyObject *result = NULL;
    if (take_arguments(&conversion, args)) {
        const enum verdict verdict = convert_releasing(&conversion);
        result = verdict == GOOD ? conversion_object(&conversion) : refuse_conversion(&conversion, verdict);
    }
    drop_conversion(&conversion);
    return result;
}
