/* Headers of adjacent batches: what a segment holds, without opening a batch. */
#include "module.h"
#include "batch.h"
#include "checksum.h"

enum {
    LAST_CODEC = 4,
    CODECS = 8,
    SIZES = 32,
    PER_EVENT = 3,
    MOST_EVENTS = 4096,
    SLOTS = 256, /* for producers whose last batch was data */
};

struct scan {
    const uint8_t *data;
    int64_t size;
    int64_t start;
    int64_t limit;
    int64_t until; /* an offset */
    int64_t since; /* a timestamp */
    bool verify;
    int64_t at;
    int64_t batches;
    int64_t records;
    int64_t markers;
    int64_t begins; /* the first offset */
    int64_t then;   /* the offset behind the last batch */
    int64_t epoch;
    int64_t lowest;
    int64_t highest;
    int64_t highest_at;
    int64_t codecs[CODECS];
    int64_t sizes[SIZES];
    int64_t slots[SLOTS];
    bool taken[SLOTS];
    int64_t *events;
    int64_t event_numbers;
};

/* Does this batch follow? ``left``: the bytes from its first one on. */
static bool
follows(const struct scan *scan, const struct batch *batch, int64_t left)
{
    const int64_t size = batch->length + LENGTH_END;
    if (batch->magic != MAGIC || size < HEADER_SIZE || size > left)
        return false;
    const int codec = batch->attributes & CODEC;
    if (codec > LAST_CODEC || batch->last_delta < 0 || batch->count < 0 || batch->count > batch->last_delta + 1)
        return false;
    if (!codec && batch->count > (size - HEADER_SIZE) / SMALLEST_RECORD)
        return false;
    if (batch->base_offset < 0 || batch->base_offset < scan->then
        || batch->base_offset > INT64_MAX - batch->last_delta - 1)
        return false;
    if (scan->batches && batch->leader_epoch != scan->epoch)
        return false;
    return batch->base_offset + batch->last_delta < scan->until && batch->max_timestamp < scan->since;
}

static void
add_event(struct scan *scan, int64_t offset, int64_t producer, int64_t position)
{
    int64_t *event = scan->events + scan->event_numbers;
    event[0] = offset;
    event[1] = producer;
    event[2] = position;
    scan->event_numbers += PER_EVENT;
}

static void
look_at_transaction(struct scan *scan, const struct batch *batch, int64_t producer)
{
    const int slot = (int)((uint64_t)producer % SLOTS);
    const bool known = scan->taken[slot] && scan->slots[slot] == producer;
    if (batch->attributes & CONTROL) {
        add_event(scan, batch->base_offset, producer, scan->at);
        if (known)
            scan->taken[slot] = false;
    } else if (batch->attributes & TRANSACTIONAL && !known) {
        add_event(scan, batch->base_offset, producer, -1);
        scan->taken[slot] = true;
        scan->slots[slot] = producer;
    }
}

static void
count_batch(struct scan *scan, const struct batch *batch, int64_t size)
{
    if (batch->attributes & CONTROL)
        scan->markers += 1;
    else
        scan->records += batch->count;
    if (batch->count && batch->base_timestamp < scan->lowest)
        scan->lowest = batch->base_timestamp;
    if (batch->max_timestamp > scan->highest) {
        scan->highest = batch->max_timestamp;
        scan->highest_at = scan->at;
    }
    scan->codecs[batch->attributes & CODEC] += 1;
    scan->sizes[63 - __builtin_clzll((uint64_t)size)] += 1;
    if (!scan->batches)
        scan->begins = batch->base_offset;
    scan->batches += 1;
}

static void
scan_headers(struct scan *scan)
{
    while (scan->at - scan->start < scan->limit && scan->size - scan->at >= HEADER_SIZE
           && scan->event_numbers < PER_EVENT * MOST_EVENTS) {
        const uint8_t *at = scan->data + scan->at;
        const struct batch batch = load_batch(at);
        if (!follows(scan, &batch, scan->size - scan->at))
            return;
        const int64_t size = batch.length + LENGTH_END;
        if (scan->verify && extend_checksum(0, at + CRC_START, (size_t)(size - CRC_START)) != batch.crc)
            return;
        if (batch.attributes & (TRANSACTIONAL | CONTROL))
            look_at_transaction(scan, &batch, (int64_t)load_big(at + PRODUCER_AT, 8));
        count_batch(scan, &batch, size);
        scan->at += size;
        scan->then = batch.base_offset + batch.last_delta + 1;
        scan->epoch = batch.leader_epoch;
    }
}

static PyObject *
numbers_object(const int64_t *numbers, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t index = 0; tuple != NULL && index < count; index++) {
        PyObject *number = PyLong_FromLongLong(numbers[index]);
        if (number == NULL || PyTuple_SetItem(tuple, index, number) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *
scan_object(const struct scan *scan)
{
    const int64_t front[] = {scan->at,   scan->batches, scan->records, scan->markers, scan->begins,
                             scan->then, scan->epoch,   scan->lowest,  scan->highest, scan->highest_at};
    PyObject *numbers = numbers_object(front, sizeof front / sizeof *front);
    PyObject *codecs = numbers ? numbers_object(scan->codecs, CODECS) : NULL;
    PyObject *sizes = codecs ? numbers_object(scan->sizes, SIZES) : NULL;
    PyObject *events = sizes ? PyBytes_FromStringAndSize((const char *)scan->events,
                                                         scan->event_numbers * (Py_ssize_t)sizeof(int64_t))
                             : NULL;
    PyObject *rest = events ? PyTuple_Pack(3, codecs, sizes, events) : NULL;
    PyObject *result = rest ? PySequence_Concat(numbers, rest) : NULL;
    Py_XDECREF(numbers);
    Py_XDECREF(codecs);
    Py_XDECREF(sizes);
    Py_XDECREF(events);
    Py_XDECREF(rest);
    return result;
}

/* scan_batches(data, start, limit, after, until, since, verify) */
PyObject *
scan_batches(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    Py_ssize_t start;
    int64_t after;
    struct scan scan = {.begins = -1, .epoch = -1, .lowest = INT64_MAX, .highest = INT64_MIN, .highest_at = -1};
    if (!take_start(args[1], &start) || !take_limit(args[2], &scan.limit) || !take_int64(args[3], &after)
        || !take_limit(args[4], &scan.until) || !take_limit(args[5], &scan.since))
        return NULL;
    const int verify = PyObject_IsTrue(args[6]);
    Py_buffer view;
    if (verify < 0 || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    scan.data = view.buf;
    scan.size = view.len;
    scan.at = scan.start = start;
    scan.then = after;
    scan.verify = verify;
    scan.events = PyMem_Malloc(PER_EVENT * MOST_EVENTS * sizeof *scan.events);
    PyObject *result = NULL;
    if (scan.events == NULL) {
        PyErr_NoMemory();
    } else {
        Py_BEGIN_ALLOW_THREADS
        scan_headers(&scan);
        Py_END_ALLOW_THREADS
        result = scan_object(&scan);
    }
    PyMem_Free(scan.events);
    PyBuffer_Release(&view);
    return result;
}
