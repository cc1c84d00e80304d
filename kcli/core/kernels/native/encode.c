/* Records of a magic-2 batch out of Python's bytes.
 *
 * In three steps: collect the records that fit, holding references to their bytes; take exactly the memory that they
 * need; write them, without the GIL when they are many. What a caller's list holds by then does not matter any more.
 */
#include "module.h"
#include "scratch.h"

/* A record to be written and the objects its bytes belong to. */
struct held {
    struct fields fields;
    size_t body;
    PyObject *owners[3]; /* any may be NULL */
};

/* The records of one call. */
struct shelf {
    struct scratch scratch;
    struct held *items; /* in there */
    Py_ssize_t count;
    int64_t size; /* of all records, in bytes */
};

enum taken { TAKEN, FULL, FAILED };

/* Where records come from: fills in the fields and owners of record ``index``, except for its offset. */
struct source {
    enum taken (*take)(const struct source *source, Py_ssize_t index, struct held *held);
    PyObject *first;  /* lines, keys or rows */
    PyObject *second; /* values, next to keys */
    PyObject *base_timestamp;
    struct fields common; /* what is the same in all records */
};

static void
put_down(const struct held *held)
{
    for (int index = 0; index < 3; index++)
        Py_XDECREF(held->owners[index]);
}

static void
clear_shelf(struct shelf *shelf)
{
    for (Py_ssize_t index = 0; index < shelf->count; index++)
        put_down(&shelf->items[index]);
    drop_scratch(&shelf->scratch);
}

/* Room for one record more. */
static bool
make_place(struct shelf *shelf)
{
    if ((size_t)shelf->count < shelf->scratch.size / sizeof *shelf->items)
        return true;
    if (!grow_scratch(&shelf->scratch, 64 + 2 * (size_t)shelf->count, sizeof *shelf->items)) {
        PyErr_NoMemory();
        return false;
    }
    shelf->items = shelf->scratch.memory;
    return true;
}

/* Takes one record more if it fits. */
static enum taken
shelve(struct shelf *shelf, const struct source *source, Py_ssize_t index, int64_t offset_delta,
       int64_t room)
{
    struct held *held = &shelf->items[shelf->count];
    held->fields = source->common;
    held->owners[0] = held->owners[1] = held->owners[2] = NULL;
    const enum taken taken = source->take(source, index, held);
    if (taken != TAKEN) {
        put_down(held);
        return taken;
    }
    held->fields.offset_delta = offset_delta;
    held->body = body_size(&held->fields);
    const int64_t size = (int64_t)record_size(held->body);
    if (size > room - shelf->size) { /* no overflow: 0 <= shelf->size <= room */
        put_down(held);
        return FULL;
    }
    shelf->size += size;
    shelf->count += 1;
    return TAKEN;
}

static bool
fill_shelf(struct shelf *shelf, const struct source *source, Py_ssize_t start, Py_ssize_t end,
           int64_t first_delta, int64_t room)
{
    for (Py_ssize_t index = start; index < end; index++) {
        if (!make_place(shelf))
            return false;
        const enum taken taken = shelve(shelf, source, index, first_delta + (index - start), room);
        if (taken != TAKEN)
            return taken == FULL;
    }
    return true;
}

static void
write_shelf(const struct shelf *shelf, uint8_t *at)
{
    for (Py_ssize_t index = 0; index < shelf->count; index++)
        at = write_record(at, &shelf->items[index].fields, shelf->items[index].body);
}

static PyObject *
encode_shelf(const struct shelf *shelf)
{
    PyObject *encoded = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)shelf->size);
    if (encoded == NULL)
        return NULL;
    uint8_t *at = (uint8_t *)PyBytes_AsString(encoded);
    if (shelf->size < WORTH_RELEASING) {
        write_shelf(shelf, at);
    } else {
        Py_BEGIN_ALLOW_THREADS
        write_shelf(shelf, at);
        Py_END_ALLOW_THREADS
    }
    return encoded;
}

/* Encodes records ``start`` to ``end`` of the source, as many as fit: (records, how many, size in bytes). */
static PyObject *
encode(const struct source *source, Py_ssize_t start, Py_ssize_t end, PyObject *first, PyObject *limit)
{
    int64_t first_delta, room;
    if (!take_int64(first, &first_delta) || !take_limit(limit, &room))
        return NULL;
    if (room < 0)
        room = 0;
    if (start < end && first_delta > INT64_MAX - (end - start))
        return PyErr_Format(PyExc_OverflowError, "offset delta %lld is too large", (long long)first_delta);
    struct shelf shelf = {.scratch = take_scratch()};
    shelf.items = shelf.scratch.memory;
    PyObject *result = NULL;
    if (fill_shelf(&shelf, source, start, end, first_delta, room)) {
        PyObject *encoded = encode_shelf(&shelf);
        if (encoded != NULL)
            result = Py_BuildValue("(NnL)", encoded, shelf.count, (long long)shelf.size);
    }
    clear_shelf(&shelf);
    return result;
}

static enum taken
take_line(const struct source *source, Py_ssize_t index, struct held *held)
{
    held->owners[0] = keep_bytes(PySequence_GetItem(source->first, index), &held->fields.value);
    return held->owners[0] ? TAKEN : FAILED;
}

/* encode_lines(lines, start, first_delta, timestamp_delta, key, headers, room) */
PyObject *
encode_lines(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct source source = {.take = take_line};
    Py_ssize_t start;
    if (!take_start(args[1], &start) || !take_int64(args[3], &source.common.timestamp_delta))
        return NULL;
    source.first = args[0];
    const Py_ssize_t end = PySequence_Size(args[0]);
    PyObject *key = end < 0 ? NULL : keep_bytes(Py_NewRef(args[4]), &source.common.key);
    PyObject *headers = key ? keep_some_bytes(Py_NewRef(args[5]), &source.common.headers) : NULL;
    PyObject *result = headers ? encode(&source, start, end, args[2], args[6]) : NULL;
    Py_XDECREF(key);
    Py_XDECREF(headers);
    return result;
}

static enum taken
take_pair(const struct source *source, Py_ssize_t index, struct held *held)
{
    held->owners[0] = keep_bytes(PySequence_GetItem(source->first, index), &held->fields.key);
    if (held->owners[0] != NULL)
        held->owners[1] = keep_bytes(PySequence_GetItem(source->second, index), &held->fields.value);
    return held->owners[1] ? TAKEN : FAILED;
}

/* encode_keyed(keys, values, start, first_delta, timestamp_delta, headers, room) */
PyObject *
encode_keyed(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct source source = {.take = take_pair};
    Py_ssize_t start;
    if (!take_start(args[2], &start) || !take_int64(args[4], &source.common.timestamp_delta))
        return NULL;
    source.first = args[0];
    source.second = args[1];
    const Py_ssize_t keys = PySequence_Size(args[0]);
    const Py_ssize_t values = keys < 0 ? -1 : PySequence_Size(args[1]);
    PyObject *headers = values < 0 ? NULL : keep_some_bytes(Py_NewRef(args[5]), &source.common.headers);
    if (headers == NULL)
        return NULL;
    PyObject *result = encode(&source, start, keys < values ? keys : values, args[3], args[6]);
    Py_DECREF(headers);
    return result;
}

/* The difference of numbers of any size. One that is no int64 means that the record has to begin the next batch. */
static enum taken
subtract(PyObject *timestamp, PyObject *base, int64_t *delta)
{
    PyObject *difference = PyNumber_Subtract(timestamp, base);
    if (difference == NULL)
        return FAILED;
    int overflow;
    *delta = PyLong_AsLongLongAndOverflow(difference, &overflow);
    Py_DECREF(difference);
    if (overflow)
        return FULL;
    return *delta == -1 && PyErr_Occurred() ? FAILED : TAKEN;
}

/* The timestamp relative to that of the batch. */
static enum taken
take_delta(PyObject *timestamp, PyObject *base, int64_t *delta)
{
    int too_late, too_far;
    const int64_t time = PyLong_AsLongLongAndOverflow(timestamp, &too_late);
    const int64_t start = PyLong_AsLongLongAndOverflow(base, &too_far);
    if (PyErr_Occurred())
        return FAILED;
    if (too_late || too_far || __builtin_sub_overflow(time, start, delta))
        return subtract(timestamp, base, delta);
    return TAKEN;
}

/* A tuple of key, value, header block, timestamp. */
static enum taken
take_fields(PyObject *row, PyObject *base, struct held *held)
{
    if (PyTuple_Size(row) != 4) {
        PyErr_Format(PyExc_ValueError, "a row has 4 fields, not %zd", PyTuple_Size(row));
        return FAILED;
    }
    held->owners[0] = keep_bytes(Py_NewRef(PyTuple_GetItem(row, 0)), &held->fields.key);
    if (held->owners[0] != NULL)
        held->owners[1] = keep_bytes(Py_NewRef(PyTuple_GetItem(row, 1)), &held->fields.value);
    if (held->owners[1] != NULL)
        held->owners[2] = keep_some_bytes(Py_NewRef(PyTuple_GetItem(row, 2)), &held->fields.headers);
    if (held->owners[2] == NULL)
        return FAILED;
    return take_delta(PyTuple_GetItem(row, 3), base, &held->fields.timestamp_delta);
}

static enum taken
take_row(const struct source *source, Py_ssize_t index, struct held *held)
{
    PyObject *item = PySequence_GetItem(source->first, index);
    PyObject *row = item ? PySequence_Tuple(item) : NULL; /* a tuple is given back as it is */
    const enum taken taken = row ? take_fields(row, source->base_timestamp, held) : FAILED;
    Py_XDECREF(item);
    Py_XDECREF(row);
    return taken;
}

/* encode_rows(rows, start, first_delta, base_timestamp, room) */
PyObject *
encode_rows(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    Py_ssize_t start;
    if (!take_start(args[1], &start))
        return NULL;
    const struct source source = {.take = take_row, .first = args[0], .base_timestamp = args[3]};
    const Py_ssize_t end = PySequence_Size(args[0]);
    return end < 0 ? NULL : encode(&source, start, end, args[2], args[4]);
}

/* encode_record(key, value, headers, offset_delta, timestamp_delta) */
PyObject *
encode_record(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct held held = {0};
    if (!take_int64(args[3], &held.fields.offset_delta) || !take_int64(args[4], &held.fields.timestamp_delta))
        return NULL;
    PyObject *encoded = NULL;
    if ((held.owners[0] = keep_bytes(Py_NewRef(args[0]), &held.fields.key)) != NULL
        && (held.owners[1] = keep_bytes(Py_NewRef(args[1]), &held.fields.value)) != NULL
        && (held.owners[2] = keep_some_bytes(Py_NewRef(args[2]), &held.fields.headers)) != NULL) {
        held.body = body_size(&held.fields);
        encoded = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)record_size(held.body));
        if (encoded != NULL)
            write_record((uint8_t *)PyBytes_AsString(encoded), &held.fields, held.body);
    }
    put_down(&held);
    return encoded;
}
