/* Which records have some bytes in their key or value. */
#include "module.h"
#include "lines.h"
#include "quick.h"
#include "scratch.h"

struct range {
    int64_t start;
    int64_t end;
};

/* What the caller wants, and what was found so far. */
struct search {
    struct span needle;
    bool in_key;
    int64_t at; /* what the places count from is so far in front of the payload */
    int64_t next; /* the first needle at or behind the last place where one was looked for */
    uint8_t *mask;
    struct scratch scratch;
    struct range *ranges; /* in there */
    int64_t hits;
};

/* Looks through the whole payload once: from needle to needle, not record by record. */
static inline bool
holds(struct search *search, const struct reader *reader, struct range field)
{
    const int64_t size = (int64_t)search->needle.size;
    if (field.start < 0 || !size)
        return field.start >= 0;
    if (search->next < field.start) {
        const uint8_t *from = reader->data + field.start;
        const uint8_t *found = find_bytes(from, (size_t)(reader->size - field.start), search->needle);
        search->next = found == NULL ? INT64_MAX : found - reader->data;
    }
    return search->next <= field.end - size;
}

static bool
find_all(struct search *search, struct reader *reader, int64_t count)
{
    struct record record;
    for (int64_t index = 0; index < count; index++) {
        if (!next_record(reader, &record))
            return false;
        const struct range key = {record.key, record.key_end}, value = {record.value, record.value_end};
        const struct range field = search->in_key ? key : value;
        search->mask[index] = holds(search, reader, field);
        if (search->mask[index])
            search->ranges[search->hits++] = (struct range){search->at + field.start, search->at + field.end};
    }
    return check_end(reader);
}

static bool
find_without_objects(struct search *search, struct reader *reader, int64_t count)
{
    if (reader->size < WORTH_RELEASING)
        return find_all(search, reader, count);
    bool good;
    Py_BEGIN_ALLOW_THREADS
    good = find_all(search, reader, count);
    Py_END_ALLOW_THREADS
    return good;
}

static PyObject *
find(struct search *search, struct reader *reader, int64_t count)
{
    if (!check_count(reader, count))
        return raise_corruption(&reader->fault);
    search->scratch = take_scratch();
    PyObject *mask = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count), *result = NULL;
    if (mask == NULL || !grow_scratch(&search->scratch, (size_t)count, sizeof *search->ranges)) {
        Py_XDECREF(mask);
        drop_scratch(&search->scratch);
        return PyErr_NoMemory();
    }
    search->mask = (uint8_t *)PyBytes_AsString(mask);
    search->ranges = search->scratch.memory;
    search->next = -1;
    if (find_without_objects(search, reader, count)) {
        const Py_ssize_t size = (Py_ssize_t)(search->hits * (int64_t)sizeof *search->ranges);
        PyObject *ranges = PyBytes_FromStringAndSize((const char *)search->ranges, size);
        result = ranges == NULL ? NULL : Py_BuildValue("(ON)", mask, ranges);
    } else {
        raise_corruption(&reader->fault);
    }
    Py_DECREF(mask);
    drop_scratch(&search->scratch);
    return result;
}

/* find_in_records(payload, count, in_key, needle, at) */
PyObject *
find_in_records(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct search search = {0};
    int64_t records;
    if (!take_int64(args[1], &records) ||
        !take_int64(args[4], &search.at))
        return NULL;
    const int in_key = PyObject_IsTrue(args[2]);
    if (in_key < 0)
        return NULL;
    search.in_key = in_key;
    PyObject *needle = keep_some_bytes(Py_NewRef(args[3]), &search.needle);
    if (needle == NULL)
        return NULL;
    PyObject *result = NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) == 0) {
        struct reader reader = open_reader(view.buf, view.len);
        result = find(&search, &reader, records);
        PyBuffer_Release(&view);
    }
    Py_DECREF(needle);
    return result;
}
