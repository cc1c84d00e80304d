/* Records of Arrow columns: measured first, then written, without the GIL when they are many. */
#include "columns.h"
#include "module.h"
#include "scratch.h"

enum {
    OVERHEAD = 32,              /* what a record has besides key, value and headers, at most */
    AHEAD = 6,                  /* records */
    MANY = WORTH_RELEASING / 64 /* rows: measuring so many is worth giving the GIL away for */
};

static const uint8_t no_headers[1];

#define HEADERS_OUTSIDE "row %lld: its headers are not within the data of their columns"
#define NO_NAME "row %lld: one of its headers has no name"
#define NO_BLOCK "row %lld: its packed headers are no header block"
#define HEADERS_TOO_LARGE "row %lld: its headers have more than 2147483647 bytes"
#define NO_TIMESTAMP "row %lld: its timestamp is before 1970, or more milliseconds than an int64 holds"
#define CHANGED "row %lld: it was changed while it was read"

/* A row. The data of ``fields.headers`` are NULL where the headers are ``listed``; its size is right then, too. */
struct entry {
    struct fields fields;
    struct listed listed;
    int64_t timestamp;
    uint64_t body; /* as body_size says */
};

struct batch {
    struct columns columns;
    struct selection selection;
    int64_t first_delta;
    int64_t base;
    bool has_base;
    int64_t now;
    int64_t room;
    struct scratch scratch;
    struct entry *entries; /* in there: the rows that fit */
    int64_t count;
    int64_t size; /* of all records, in bytes */
    int64_t first; /* the timestamp of the first record */
    int64_t latest;
    struct refusal refusal;
};

/* --- Reading a row ------------------------------------------------------------------------------------ */

/* A name and its value. NULL, or why the row is refused. */
static const char *
get_header(const struct headers_column *headers, int64_t index, struct span *name, struct span *value)
{
    if (!is_valid(&headers->entries_valid, headers->entries_start + index))
        return NO_NAME;
    if (!get_value(&headers->names, index, name))
        return HEADERS_OUTSIDE;
    if (name->data == NULL)
        return NO_NAME;
    return get_value(&headers->values, index, value) ? NULL : HEADERS_OUTSIDE;
}

static const char *
measure_headers(const struct headers_column *headers, const struct listed *listed, size_t *size)
{
    *size = varint_size(listed->end - listed->first);
    for (int64_t index = listed->first; index < listed->end; index++) {
        struct span name, value;
        const char *why = get_header(headers, index, &name, &value);
        if (why != NULL)
            return why;
        *size += field_size(name) + field_size(value);
        if (*size > INT32_MAX)
            return HEADERS_TOO_LARGE;
    }
    return NULL;
}

static const char *
get_listed(const struct headers_column *headers, int64_t row, struct entry *entry)
{
    const int64_t index = headers->start + row;
    if (!is_valid(&headers->valid, index))
        return NULL;
    struct listed *listed = &entry->listed;
    get_offsets(&headers->offsets, headers->width, index, &listed->first, &listed->end);
    if (listed->first < 0 || listed->end < listed->first || listed->end > headers->entries)
        return HEADERS_OUTSIDE;
    if (listed->first == listed->end)
        return NULL;
    entry->fields.headers.data = NULL;
    return measure_headers(headers, listed, &entry->fields.headers.size);
}

static const char *
get_packed(const struct bytes_column *packed, int64_t row, struct entry *entry)
{
    struct span block;
    if (!get_value(packed, row, &block))
        return HEADERS_OUTSIDE;
    if (block.size == 0)
        return NULL;
    struct reader reader = open_reader(block.data, (int64_t)block.size);
    if (!check_headers(&reader, reader.size))
        return NO_BLOCK;
    entry->fields.headers = block;
    return NULL;
}

static const char *
get_time(const struct number_column *timestamps, int64_t row, int64_t *time)
{
    int64_t number;
    if (!get_number(timestamps, row, &number))
        return NULL;
    /* Only among milliseconds, -1 is Kafka's "no timestamp". */
    const int64_t lowest = timestamps->times == timestamps->per ? -1 : 0;
    if (number < lowest || (number > 0 && timestamps->times > INT64_MAX / number))
        return NO_TIMESTAMP;
    *time = number < 0 ? -1 : number * timestamps->times / timestamps->per;
    return NULL;
}

/* NULL, or why the row is refused. */
static inline const char *
get_entry(const struct columns *columns, int64_t row, int64_t now, struct entry *entry)
{
    const char *why = NULL;
    if (!get_value(&columns->keys, row, &entry->fields.key))
        return KEY_OUTSIDE;
    if (!get_value(&columns->values, row, &entry->fields.value))
        return VALUE_OUTSIDE;
    entry->fields.headers = (struct span){no_headers, sizeof no_headers};
    if (columns->headers.width)
        why = get_listed(&columns->headers, row, entry);
    else if (columns->packed.width)
        why = get_packed(&columns->packed, row, entry);
    entry->timestamp = now;
    if (why == NULL && columns->timestamps.width)
        why = get_time(&columns->timestamps, row, &entry->timestamp);
    return why;
}

static inline bool
get_selected(const struct columns *columns, const struct selection *selection, int64_t index, int64_t now,
             struct entry *entry, struct refusal *refusal)
{
    const bool there = get_row(selection, index, &refusal->row);
    refusal->why = there ? get_entry(columns, refusal->row, now, entry) : NO_ROW;
    return refusal->why == NULL;
}

/* --- Encoding ----------------------------------------------------------------------------------------- */

/* Room for one row more. */
static bool
make_entry(struct batch *batch)
{
    if ((size_t)batch->count < batch->scratch.size / sizeof *batch->entries)
        return true;
    if (!grow_scratch(&batch->scratch, MANY + 2 * (size_t)batch->count, sizeof *batch->entries))
        return false;
    batch->entries = batch->scratch.memory;
    return true;
}

/* Finds out which rows fit. False if there is no memory; a row may be refused, too. */
static bool
measure(struct batch *batch)
{
    const int64_t left = batch->selection.stop - batch->selection.start;
    for (; batch->count < left; batch->count++) {
        if (!make_entry(batch))
            return false;
        struct entry *entry = &batch->entries[batch->count];
        const int64_t index = batch->selection.start + batch->count;
        if (!get_selected(&batch->columns, &batch->selection, index, batch->now, entry, &batch->refusal))
            return true;
        if (!batch->has_base) {
            batch->base = entry->timestamp;
            batch->has_base = true;
        }
        entry->fields.offset_delta = batch->first_delta + batch->count;
        if (__builtin_sub_overflow(entry->timestamp, batch->base, &entry->fields.timestamp_delta))
            return true;
        entry->body = body_size(&entry->fields);
        const int64_t record = (int64_t)record_size(entry->body);
        if (record > batch->room - batch->size)
            return true;
        batch->size += record;
        if (batch->count == 0)
            batch->first = batch->latest = entry->timestamp;
        else if (entry->timestamp > batch->latest)
            batch->latest = entry->timestamp;
    }
    return true;
}

/* Headers that need no more than until ``end``; NULL if they do. */
static uint8_t *
write_listed(uint8_t *at, const uint8_t *end, const struct headers_column *headers, const struct listed *listed)
{
    at = write_varint(at, listed->end - listed->first);
    for (int64_t index = listed->first; index < listed->end; index++) {
        struct span name, value;
        if (get_header(headers, index, &name, &value) != NULL
            || field_size(name) + field_size(value) > (size_t)(end - at))
            return NULL;
        at = write_field(write_field(at, name), value);
    }
    return at;
}

/* Whoever handed the buffers out must not change them, but might: what was measured is kept, and the positions of headers,
 * which are read again, never lead beyond the record. */
static uint8_t *
write_entry(const struct batch *batch, const struct entry *entry, uint8_t *at)
{
    const uint8_t *end = at + record_size(entry->body);
    at = write_front(at, &entry->fields, entry->body);
    if (entry->fields.headers.data != NULL)
        return write_bytes(at, entry->fields.headers);
    at = write_listed(at, end, &batch->columns.headers, &entry->listed);
    return at == end ? at : NULL;
}

/* The rows of one partition lie scattered in the columns: their bytes are asked for some records ahead. */
static void
write_batch(struct batch *batch, uint8_t *at)
{
    for (int64_t index = 0; index < batch->count; index++) {
        if (index + AHEAD < batch->count) {
            const struct span *ahead = &batch->entries[index + AHEAD].fields.value;
            __builtin_prefetch(ahead->data);
            if (ahead->size > 64)
                __builtin_prefetch(ahead->data + 64);
        }
        at = write_entry(batch, &batch->entries[index], at);
        if (at == NULL) {
            get_row(&batch->selection, batch->selection.start + index, &batch->refusal.row);
            batch->refusal.why = CHANGED;
            return;
        }
    }
}

static PyObject *
batch_object(struct batch *batch)
{
    PyObject *records = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)batch->size);
    if (records == NULL)
        return NULL;
    uint8_t *at = (uint8_t *)PyBytes_AsString(records);
    if (batch->size < WORTH_RELEASING) {
        write_batch(batch, at);
    } else {
        Py_BEGIN_ALLOW_THREADS
        write_batch(batch, at);
        Py_END_ALLOW_THREADS
    }
    if (batch->refusal.why != NULL) {
        Py_DECREF(records);
        return refuse_row(&batch->refusal);
    }
    return Py_BuildValue("(NLLLL)", records, (long long)batch->count, (long long)batch->size,
                         (long long)batch->first, (long long)batch->latest);
}

static PyObject *
encode(struct batch *batch)
{
    batch->room = batch->room < 0 ? 0 : batch->room;
    batch->first = batch->latest = -1;
    if (batch->first_delta > INT64_MAX - batch->columns.count)
        return PyErr_Format(PyExc_OverflowError, "offset delta %lld is too large", (long long)batch->first_delta);
    batch->scratch = take_scratch();
    batch->entries = batch->scratch.memory;
    PyObject *result = NULL;
    if (!measure(batch))
        PyErr_NoMemory();
    else
        result = batch->refusal.why == NULL ? batch_object(batch) : refuse_row(&batch->refusal);
    drop_scratch(&batch->scratch);
    return result;
}

/* encode_columns(columns, rows, start, stop, first_delta, base_timestamp, now, room) */
PyObject *
encode_columns(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct batch batch = {.has_base = args[5] != Py_None};
    PyObject *result = NULL;
    if (take_columns(&batch.columns, args[0]) && take_selection(&batch.selection, args + 1, batch.columns.count)
        && take_int64(args[4], &batch.first_delta) && (!batch.has_base || take_int64(args[5], &batch.base))
        && take_int64(args[6], &batch.now) && take_limit(args[7], &batch.room))
        result = encode(&batch);
    drop_selection(&batch.selection);
    drop_columns(&batch.columns);
    return result;
}

/* --- Measuring ---------------------------------------------------------------------------------------- */

struct measuring {
    struct columns columns;
    struct selection selection;
    int64_t room;
    int64_t longest;
    int64_t position;
    int64_t size;
    struct refusal refusal;
};

static void
measure_rows(struct measuring *measuring)
{
    struct entry entry = {0};
    const struct selection *selection = &measuring->selection;
    measuring->position = selection->start;
    for (; measuring->position < selection->stop; measuring->position++) {
        if (!get_selected(&measuring->columns, selection, measuring->position, 0, &entry, &measuring->refusal))
            return;
        const struct fields *fields = &entry.fields;
        const int64_t own = (int64_t)(fields->key.size + fields->value.size + fields->headers.size) + OVERHEAD;
        const bool is_first = measuring->position == selection->start;
        if (own > measuring->longest) {
            measuring->size = is_first ? own : measuring->size;
            return;
        }
        if (own > measuring->room - measuring->size && !is_first)
            return;
        measuring->size += own;
    }
}

/* measure_columns(columns, rows, start, stop, room, longest) */
PyObject *
measure_columns(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct measuring measuring = {0};
    PyObject *result = NULL;
    if (take_columns(&measuring.columns, args[0])
        && take_selection(&measuring.selection, args + 1, measuring.columns.count)
        && take_limit(args[4], &measuring.room) && take_limit(args[5], &measuring.longest)) {
        measuring.room = measuring.room < 0 ? 0 : measuring.room;
        if (measuring.selection.stop - measuring.selection.start < MANY) {
            measure_rows(&measuring);
        } else {
            Py_BEGIN_ALLOW_THREADS
            measure_rows(&measuring);
            Py_END_ALLOW_THREADS
        }
        result = measuring.refusal.why == NULL
                     ? Py_BuildValue("(LL)", (long long)measuring.position, (long long)measuring.size)
                     : refuse_row(&measuring.refusal);
    }
    drop_selection(&measuring.selection);
    drop_columns(&measuring.columns);
    return result;
}
