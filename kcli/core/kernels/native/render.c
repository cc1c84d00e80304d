/* A program of simple operations turns the records of a payload into output.
 *
 * Without extras in one pass: each record is checked, then written if it is wanted. With extras in three: check all and
 * note which are wanted; take the entries of these, which are Python objects; write. What looks at no object runs
 * without the GIL.
 */
#include "forms.h"

#include <stdlib.h>

#include "decimal.h"
#include "module.h"
#include "quick.h"

/* A record that is wanted, for the second pass. */
struct wanted {
    int64_t at;    /* in the payload */
    int64_t index; /* among all records */
};

/* The entries of the wanted records, column by column for each, and the objects that they belong to. */
struct entries {
    PyObject *columns; /* a sequence of sequences */
    Py_ssize_t width;
    struct span *spans;
    PyObject **owners;
    int64_t owned;
};

struct rendering {
    struct program program;
    struct facts {
        int64_t base_offset, base_timestamp, max_timestamp, kind, numbers[3];
    } facts;
    int64_t first_delta;
    int64_t last_delta;
    int64_t limit;
    Py_buffer payload;
    Py_buffer selected;
    int64_t count;
    struct reader reader;
    struct output output;
    struct day day;
    struct entries entries;
    struct wanted *wanted; /* NULL where records are written at once */
    int64_t room;          /* for how many of these there is memory */
    int64_t written;
    int32_t last;                       /* offset delta of the last one */
    int64_t least_delta, greatest_delta; /* of timestamps */
};

/* A record that is being written. */
struct item {
    const struct record *record;
    struct span fields[2];
    int64_t timestamp;
    const struct span *entries;
};

enum verdict { GOOD, CORRUPT, NO_MEMORY, NO_ENTRY };

/* --- one record ---------------------------------------------------------------------------------------- */

static int64_t
fact_of(const struct rendering *rendering, const struct item *item, int which)
{
    switch ((enum number)which) {
    case TIMESTAMP:
        return item->timestamp;
    case HEADER_COUNT:
        return item->record->header_count;
    default:
        return rendering->facts.numbers[which - LEADER_EPOCH];
    }
}

static bool
put_offset(struct rendering *rendering, const struct operation *operation, const struct item *item)
{
    const int64_t base = rendering->facts.base_offset;
    const int32_t delta = item->record->offset_delta;
    const bool negative = base < -(int64_t)delta;
    if (negative && operation->texts[0].data != NULL)
        return put_bytes(&rendering->output, operation->texts[0]);
    if (!make_room(&rendering->output, MOST_DIGITS))
        return false;
    rendering->output.at = write_sum(rendering->output.at, base, delta);
    return true;
}

static bool
put_number(struct rendering *rendering, const struct operation *operation, const struct item *item)
{
    if (operation->which == OFFSET)
        return put_offset(rendering, operation, item);
    if (operation->which >= KEY_LENGTH)
        return put_length_number(&rendering->output, operation, item->fields[operation->which - KEY_LENGTH]);
    const int64_t number = fact_of(rendering, item, operation->which);
    if (number < 0 && operation->texts[0].data != NULL)
        return put_bytes(&rendering->output, operation->texts[0]);
    if (!make_room(&rendering->output, MOST_DIGITS))
        return false;
    rendering->output.at = write_number(rendering->output.at, number);
    return true;
}

static bool
put_time(struct rendering *rendering, const struct operation *operation, int64_t timestamp)
{
    struct output *output = &rendering->output;
    if (!is_time(timestamp))
        return put_bytes(output, operation->texts[2]);
    if (!put_bytes(output, operation->texts[0]) || !make_room(output, TIME_SIZE))
        return false;
    output->at = write_time(output->at, timestamp, &rendering->day);
    return put_bytes(output, operation->texts[1]);
}

static enum verdict
put_operation(struct rendering *rendering, const struct operation *operation, const struct item *item)
{
    struct output *output = &rendering->output;
    bool good;
    switch (operation->code) {
    case LITERAL:
        good = put_bytes(output, operation->texts[0]);
        break;
    case NUMBER:
        good = put_number(rendering, operation, item);
        break;
    case TIME:
        good = put_time(rendering, operation, item->timestamp);
        break;
    case TIMESTAMP_TYPE:
        good = put_bytes(output, operation->texts[1 + rendering->facts.kind]);
        break;
    case BYTES:
        good = put_form(output, operation, item->fields[operation->which]);
        break;
    case LENGTH:
        good = put_length(output, item->fields[operation->which]);
        break;
    case HEADERS:
        good = put_headers(output, operation, &rendering->reader, item->record);
        break;
    default:
        if (item->entries[operation->column].data != NULL)
            good = put_bytes(output, item->entries[operation->column]);
        else if (operation->inner.count)
            return put_operation(rendering, &operation->inner.operations[0], item);
        else
            return NO_ENTRY;
    }
    return good ? GOOD : NO_MEMORY;
}

static struct span
field_of(const struct rendering *rendering, int64_t start, int64_t end)
{
    if (start < 0)
        return (struct span){NULL, 0};
    return (struct span){rendering->reader.data + start, (size_t)(end - start)};
}

static enum verdict
put_record(struct rendering *rendering, const struct record *record, const struct span *entries)
{
    const struct facts *facts = &rendering->facts;
    const struct item item = {
        .record = record,
        .fields = {field_of(rendering, record->key, record->key_end),
                   field_of(rendering, record->value, record->value_end)},
        /* One that is no int64 is found by its delta, when all are read. */
        .timestamp = facts->kind == 1
                         ? facts->max_timestamp
                         : (int64_t)((uint64_t)facts->base_timestamp + (uint64_t)record->timestamp_delta),
        .entries = entries,
    };
    const struct program *program = &rendering->program;
    for (Py_ssize_t index = 0; index < program->count; index++) {
        const enum verdict verdict = put_operation(rendering, &program->operations[index], &item);
        if (verdict != GOOD)
            return verdict;
    }
    return GOOD;
}

/* --- all records --------------------------------------------------------------------------------------- */

static bool
is_wanted(const struct rendering *rendering, int64_t index, int32_t delta)
{
    if (delta < rendering->first_delta || delta > rendering->last_delta)
        return false;
    if (rendering->limit >= 0 && rendering->written >= rendering->limit)
        return false;
    return !rendering->selected.len || ((const uint8_t *)rendering->selected.buf)[index];
}

/* Remembers it for the second pass. */
static enum verdict
note_record(struct rendering *rendering, int64_t at, int64_t index)
{
    if (rendering->written >= rendering->room) {
        const size_t room = 256 + 2 * (size_t)rendering->room;
        struct wanted *grown = realloc(rendering->wanted, room * sizeof *grown);
        if (grown == NULL)
            return NO_MEMORY;
        rendering->wanted = grown;
        rendering->room = (int64_t)room;
    }
    rendering->wanted[rendering->written] = (struct wanted){at, index};
    return GOOD;
}

/* Reads all records; writes those that are wanted, or notes them where ``later``. */
static enum verdict
read_all(struct rendering *rendering, bool later)
{
    struct reader *reader = &rendering->reader;
    struct record record;
    if (!check_count(reader, rendering->count))
        return CORRUPT;
    for (int64_t index = 0; index < rendering->count; index++) {
        const int64_t at = reader->at;
        if (!next_record(reader, &record))
            return CORRUPT;
        if (record.timestamp_delta < rendering->least_delta || !index)
            rendering->least_delta = record.timestamp_delta;
        if (record.timestamp_delta > rendering->greatest_delta || !index)
            rendering->greatest_delta = record.timestamp_delta;
        if (!is_wanted(rendering, index, record.offset_delta))
            continue;
        const enum verdict verdict = later ? note_record(rendering, at, index)
                                           : put_record(rendering, &record, NULL);
        if (verdict != GOOD)
            return verdict;
        rendering->written += 1;
        rendering->last = record.offset_delta;
    }
    return check_end(reader) ? GOOD : CORRUPT;
}

/* Reads those that were noted once more, and writes them. */
static enum verdict
write_noted(struct rendering *rendering)
{
    struct record record;
    for (int64_t index = 0; index < rendering->written; index++) {
        rendering->reader.at = rendering->wanted[index].at;
        if (!next_record(&rendering->reader, &record))
            return CORRUPT;
        const struct span *own = rendering->entries.spans + index * rendering->entries.width;
        const enum verdict verdict = put_record(rendering, &record, own);
        if (verdict != GOOD)
            return verdict;
    }
    return GOOD;
}

/* --- Python -------------------------------------------------------------------------------------------- */

/* The CorruptRecordsError for a number that may be beyond an int64. */
static bool
refuse_timestamp(int64_t base, int64_t delta)
{
    PyObject *one = PyLong_FromLongLong(base), *other = PyLong_FromLongLong(delta);
    PyObject *sum = one && other ? PyNumber_Add(one, other) : NULL;
    PyObject *why = sum ? PyUnicode_FromFormat("timestamp %S is not an int64", sum) : NULL;
    if (why != NULL)
        raise_corruption_because(0, why);
    Py_XDECREF(one);
    Py_XDECREF(other);
    Py_XDECREF(sum);
    Py_XDECREF(why);
    return false;
}

static bool
check_timestamps(const struct rendering *rendering)
{
    const int64_t base = rendering->facts.base_timestamp;
    int64_t sum;
    if (rendering->facts.kind == 1)
        return true;
    if (__builtin_add_overflow(base, rendering->least_delta, &sum))
        return refuse_timestamp(base, rendering->least_delta);
    if (__builtin_add_overflow(base, rendering->greatest_delta, &sum))
        return refuse_timestamp(base, rendering->greatest_delta);
    return true;
}

static bool
raise_verdict(const struct rendering *rendering, enum verdict verdict)
{
    if (verdict == CORRUPT)
        raise_corruption(&rendering->reader.fault);
    else if (verdict == NO_MEMORY)
        PyErr_NoMemory();
    else if (verdict == NO_ENTRY)
        PyErr_SetString(PyExc_TypeError, "an entry of the extras is None, and nothing replaces it");
    return verdict == GOOD;
}

static bool
read_releasing(struct rendering *rendering, bool later)
{
    enum verdict verdict;
    if (rendering->payload.len < WORTH_RELEASING) {
        verdict = read_all(rendering, later);
    } else {
        Py_BEGIN_ALLOW_THREADS
        verdict = read_all(rendering, later);
        Py_END_ALLOW_THREADS
    }
    return raise_verdict(rendering, verdict) && check_timestamps(rendering);
}

static bool
write_releasing(struct rendering *rendering)
{
    enum verdict verdict;
    if (rendering->payload.len < WORTH_RELEASING) {
        verdict = write_noted(rendering);
    } else {
        Py_BEGIN_ALLOW_THREADS
        verdict = write_noted(rendering);
        Py_END_ALLOW_THREADS
    }
    return raise_verdict(rendering, verdict);
}

static bool
make_entries(struct rendering *rendering)
{
    struct entries *entries = &rendering->entries;
    const size_t count = (size_t)rendering->written * (size_t)entries->width + 1;
    entries->spans = PyMem_Calloc(count, sizeof *entries->spans);
    entries->owners = PyMem_Calloc(count, sizeof *entries->owners);
    if (entries->spans != NULL && entries->owners != NULL)
        return true;
    PyErr_NoMemory();
    return false;
}

/* Takes the entries of all records that are wanted. */
static bool
take_entries(struct rendering *rendering)
{
    struct entries *entries = &rendering->entries;
    if (!make_entries(rendering))
        return false;
    for (Py_ssize_t index = 0; index < entries->width; index++) {
        PyObject *column = PySequence_GetItem(entries->columns, index);
        bool good = column != NULL;
        for (int64_t row = 0; good && row < rendering->written; row++) {
            PyObject *entry = PySequence_GetItem(column, (Py_ssize_t)rendering->wanted[row].index);
            struct span *span = &entries->spans[row * entries->width + index];
            PyObject *kept = entry ? keep_bytes(entry, span) : NULL;
            good = kept != NULL;
            if (good)
                entries->owners[entries->owned++] = kept;
        }
        Py_XDECREF(column);
        if (!good)
            return false;
    }
    return true;
}

static bool
check_length(Py_ssize_t length, int64_t count)
{
    if (length == count)
        return true;
    if (length >= 0)
        PyErr_SetString(PyExc_ValueError, "a selection or a column of extras is not as long as the batch");
    return false;
}

static bool
check_lengths(const struct rendering *rendering)
{
    if (rendering->selected.len && !check_length(rendering->selected.len, rendering->count))
        return false;
    for (Py_ssize_t index = 0; index < rendering->entries.width; index++) {
        PyObject *column = PySequence_GetItem(rendering->entries.columns, index);
        const bool good = column != NULL && check_length(PySequence_Size(column), rendering->count);
        Py_XDECREF(column);
        if (!good)
            return false;
    }
    return true;
}

static PyObject *
output_object(const struct rendering *rendering)
{
    const size_t size = output_size(&rendering->output);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes == NULL)
        return NULL;
    char *at = PyBytes_AsString(bytes);
    if (size < WORTH_RELEASING) {
        memcpy(at, rendering->output.scratch.memory, size);
    } else {
        Py_BEGIN_ALLOW_THREADS
        memcpy(at, rendering->output.scratch.memory, size);
        Py_END_ALLOW_THREADS
    }
    return Py_BuildValue("(NLi)", bytes, (long long)rendering->written,
                         rendering->written ? (int)rendering->last : -1);
}

static bool
render(struct rendering *rendering)
{
    const bool later = has_extras(&rendering->program);
    if (!open_output(&rendering->output)) {
        PyErr_NoMemory();
        return false;
    }
    return read_releasing(rendering, later)
           && (!later || (take_entries(rendering) && write_releasing(rendering)));
}

/* With an exception set about the program, or before that about lengths: what is found in the payload is told first, as
 * it is found first in Python. */
static PyObject *
refuse_arguments(struct rendering *rendering, bool timestamps)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    rendering->limit = 0;
    const bool good = raise_verdict(rendering, read_all(rendering, false))
                      && (!timestamps || check_timestamps(rendering));
    if (good) {
        PyErr_Restore(type, value, traceback);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return NULL;
}

static PyObject *
start(struct rendering *rendering, PyObject *program)
{
    rendering->reader = open_reader(rendering->payload.buf, rendering->payload.len);
    rendering->entries.width = PySequence_Size(rendering->entries.columns);
    if (rendering->entries.width < 0)
        return NULL;
    if (!check_lengths(rendering))
        return refuse_arguments(rendering, false);
    if (!take_program(&rendering->program, program, rendering->entries.width))
        return refuse_arguments(rendering, true);
    return render(rendering) ? output_object(rendering) : NULL;
}

static bool
take_facts(struct facts *facts, PyObject *tuple)
{
    int64_t *numbers[] = {&facts->base_offset, &facts->base_timestamp, &facts->max_timestamp, &facts->kind,
                          &facts->numbers[0], &facts->numbers[1], &facts->numbers[2]};
    for (Py_ssize_t index = 0; index < (Py_ssize_t)(sizeof numbers / sizeof *numbers); index++) {
        PyObject *number = PySequence_GetItem(tuple, index);
        const bool taken = number != NULL && take_int64(number, numbers[index]);
        Py_XDECREF(number);
        if (!taken)
            return false;
    }
    if (facts->kind >= -1 && facts->kind <= 1)
        return true;
    PyErr_Format(PyExc_ValueError, "there is no timestamp type %lld", (long long)facts->kind);
    return false;
}

static void
drop(struct rendering *rendering)
{
    while (rendering->entries.owned)
        Py_DECREF(rendering->entries.owners[--rendering->entries.owned]);
    PyMem_Free(rendering->entries.owners);
    PyMem_Free(rendering->entries.spans);
    free(rendering->wanted);
    drop_output(&rendering->output);
    drop_program(&rendering->program);
    if (rendering->payload.obj != NULL)
        PyBuffer_Release(&rendering->payload);
    if (rendering->selected.obj != NULL)
        PyBuffer_Release(&rendering->selected);
}

/* render_records(payload, count, program, facts, first_delta, last_delta, limit, selected, extras) */
PyObject *
render_records(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct rendering rendering = {.day = {.text = {'1', '9', '7', '0', '-', '0', '1', '-', '0', '1'}}};
    if (!take_int64(args[1], &rendering.count)
        || !take_facts(&rendering.facts, args[3]) || !take_limit(args[4], &rendering.first_delta)
        || !take_limit(args[5], &rendering.last_delta) || !take_limit(args[6], &rendering.limit))
        return NULL;
    PyObject *result = NULL;
    rendering.entries.columns = args[8];
    if (PyObject_GetBuffer(args[0], &rendering.payload, PyBUF_SIMPLE) == 0
        && PyObject_GetBuffer(args[7], &rendering.selected, PyBUF_SIMPLE) == 0)
        result = start(&rendering, args[2]);
    drop(&rendering);
    return result;
}
