/* The marks at the beginning of values, as runs of consecutive numbers; and how many records and bytes there are. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "part_object.h"

enum { MARK_DIGITS = 12 }; /* as in shapes.py; a blank follows them */

/* Records whose marks have the same head and numbers one apart. */
struct run {
    const uint8_t *head; /* in the data of the part */
    int64_t first;
    int64_t count;
};

struct marking {
    Py_buffer view;
    struct part part;
    struct span magic;
    int64_t head; /* bytes */
    int64_t records;
    int64_t bytes;
    struct run *runs;
    Py_ssize_t count;
    Py_ssize_t allocated;
    struct corruption fault;
};

/* The number at ``at``, which has MARK_DIGITS and a blank; -1 where there is none. */
static inline int64_t
number_at(const uint8_t *at)
{
    int64_t number = 0;
    for (int index = 0; index < MARK_DIGITS; index++) {
        const uint8_t digit = at[index];
        if (digit >= '0' && digit <= '9')
            number = number << 4 | (digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            number = number << 4 | (digit - 'a' + 10);
        else
            return -1;
    }
    return at[MARK_DIGITS] == ' ' ? number : -1;
}

static bool
begin_run(struct marking *marking, const uint8_t *head, int64_t number)
{
    if (marking->count == marking->allocated) {
        const Py_ssize_t room = 2 * marking->allocated + 4;
        struct run *grown = realloc(marking->runs, (size_t)room * sizeof *grown);
        if (grown == NULL)
            return false;
        marking->runs = grown;
        marking->allocated = room;
    }
    marking->runs[marking->count++] = (struct run){head, number, 1};
    return true;
}

/* False: no memory. */
static inline bool
add_value(struct marking *marking, const uint8_t *value, int64_t size)
{
    if (size < marking->head + MARK_DIGITS + 1 || memcmp(value, marking->magic.data, marking->magic.size))
        return true;
    const int64_t number = number_at(value + marking->head);
    if (number < 0)
        return true;
    struct run *last = marking->count ? &marking->runs[marking->count - 1] : NULL;
    if (last == NULL || last->first + last->count != number
        || memcmp(last->head, value, (size_t)marking->head))
        return begin_run(marking, value, number);
    last->count += 1;
    return true;
}

static enum verdict
mark_batch(void *reading, const struct part *part)
{
    struct marking *marking = reading;
    struct scan scan;
    struct record record;
    if (!begin_scan(&scan, part))
        return BAD_PART;
    while (next_wanted(&scan, &record)) {
        marking->records += 1;
        if (record.key >= 0)
            marking->bytes += record.key_end - record.key;
        if (record.value < 0)
            continue;
        const int64_t size = record.value_end - record.value;
        marking->bytes += size;
        if (!add_value(marking, part->data + record.value, size))
            return NO_MEMORY;
    }
    return end_scan(&scan, &marking->fault);
}

static enum verdict
mark_releasing(struct marking *marking)
{
    if (marking->part.size < WORTH_RELEASING)
        return read_part(&marking->part, mark_batch, marking);
    enum verdict verdict;
    Py_BEGIN_ALLOW_THREADS
    verdict = read_part(&marking->part, mark_batch, marking);
    Py_END_ALLOW_THREADS
    return verdict;
}

static PyObject *
runs_object(const struct marking *marking)
{
    PyObject *runs = PyList_New(marking->count);
    for (Py_ssize_t index = 0; runs != NULL && index < marking->count; index++) {
        const struct run *run = &marking->runs[index];
        PyObject *head = PyBytes_FromStringAndSize((const char *)run->head, (Py_ssize_t)marking->head);
        PyObject *item = Py_BuildValue("(NLL)", head, (long long)run->first, (long long)run->count);
        if (item == NULL || PyList_SetItem(runs, index, item) < 0)
            Py_CLEAR(runs);
    }
    return runs;
}

static PyObject *
result_of(const struct marking *marking, enum verdict verdict)
{
    if (verdict != GOOD)
        return raise_unreadable(verdict, &marking->fault);
    return Py_BuildValue("(LLN)", (long long)marking->records, (long long)marking->bytes, runs_object(marking));
}

/* mark_runs(part, magic, head) */
PyObject *
mark_runs(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct marking marking = {0};
    PyObject *result = NULL, *magic = keep_some_bytes(Py_NewRef(args[1]), &marking.magic);
    if (magic == NULL)
        return NULL;
    if (take_int64(args[2], &marking.head)) {
        if (marking.head > INT32_MAX || (int64_t)marking.magic.size > marking.head)
            PyErr_Format(PyExc_ValueError, "a head of %lld bytes that begins with %zd",
                         (long long)marking.head, (Py_ssize_t)marking.magic.size);
        else if (take_part(args[0], &marking.view, &marking.part))
            result = result_of(&marking, mark_releasing(&marking));
    }
    if (marking.view.obj != NULL)
        PyBuffer_Release(&marking.view);
    Py_DECREF(magic);
    free(marking.runs);
    return result;
}
