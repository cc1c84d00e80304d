/* The rows of each partition, and of each value, of Arrow columns. */
#include <stdlib.h>

#include "columns.h"
#include "hash.h"
#include "members.h"
#include "module.h"

enum {
    MANY = WORTH_RELEASING / 64, /* rows: grouping so many is worth giving the GIL away for */
    FEWEST_SLOTS = 64,
    ANYWHERE = -1, /* in place of a partition */
};

/* What rows have in common. */
struct value {
    struct span bytes;
    uint32_t hash;
};

/* The distinct values, in the order of their first appearance, and where to find each by its hash. */
struct values_table {
    struct value *values;
    int32_t *slots; /* the index of a value, or -1 */
    size_t slot_count; /* a power of two, at least twice as many as values */
    int64_t count;
};

struct column_grouping {
    struct columns columns; /* its keys only */
    struct number_column own;
    struct selection selection;
    int64_t sticky;
    struct members members; /* a row of them is an index in the selection */
    bool existing;
    struct values_table table;
    bool no_memory;
    struct refusal refusal;
};

/* --- By partition ------------------------------------------------------------------------------------- */

static void
choose_partitions(struct column_grouping *grouping)
{
    struct refusal *refusal = &grouping->refusal;
    const int64_t partitions = grouping->members.partitions;
    grouping->existing = true;
    for (int64_t index = 0; index < grouping->members.count; index++) {
        int64_t chosen;
        if (!get_row(&grouping->selection, grouping->selection.start + index, &refusal->row)) {
            refusal->why = NO_ROW;
            return;
        }
        if (!get_number(&grouping->own, refusal->row, &chosen) || chosen == ANYWHERE) {
            struct span key;
            if (!get_value(&grouping->columns.keys, refusal->row, &key)) {
                refusal->why = KEY_OUTSIDE;
                return;
            }
            chosen = key.data != NULL ? positive_hash(key) % partitions : grouping->sticky;
        }
        grouping->existing = grouping->existing && ANYWHERE <= chosen && chosen < partitions;
        grouping->members.chosen[index] = (struct member){chosen, (int32_t)index};
    }
    sort_members(&grouping->members, grouping->existing);
}

/* --- By value ----------------------------------------------------------------------------------------- */

static bool
same_value(const struct value *one, const struct value *other)
{
    return one->hash == other->hash && one->bytes.size == other->bytes.size
           && (one->bytes.data == NULL) == (other->bytes.data == NULL)
           && (one->bytes.size == 0 || memcmp(one->bytes.data, other->bytes.data, one->bytes.size) == 0);
}

/* The slot of the value, or the empty one where it belongs. */
static int32_t *
find_slot(const struct values_table *table, const struct value *value)
{
    size_t slot = value->hash & (table->slot_count - 1);
    while (table->slots[slot] >= 0 && !same_value(&table->values[table->slots[slot]], value))
        slot = (slot + 1) & (table->slot_count - 1);
    return &table->slots[slot];
}

static bool
grow_table(struct values_table *table)
{
    const size_t slots = table->slot_count ? 4 * table->slot_count : FEWEST_SLOTS;
    struct value *values = realloc(table->values, slots / 2 * sizeof *values);
    if (values == NULL)
        return false;
    table->values = values;
    int32_t *fresh = malloc(slots * sizeof *fresh);
    if (fresh == NULL)
        return false;
    free(table->slots);
    table->slots = fresh;
    table->slot_count = slots;
    memset(fresh, 0xFF, slots * sizeof *fresh);
    for (int64_t index = 0; index < table->count; index++)
        *find_slot(table, &table->values[index]) = (int32_t)index;
    return true;
}

/* The index of the value, which is added if it is new; -1 if there is no memory for it. */
static int64_t
number_value(struct values_table *table, struct span bytes)
{
    if ((size_t)table->count * 2 >= table->slot_count && !grow_table(table))
        return -1;
    const struct value value = {bytes, bytes.data == NULL ? 0 : hash_key(bytes)};
    int32_t *slot = find_slot(table, &value);
    if (*slot < 0) {
        *slot = (int32_t)table->count;
        table->values[table->count++] = value;
    }
    return *slot;
}

static void
choose_values(struct column_grouping *grouping)
{
    struct refusal *refusal = &grouping->refusal;
    for (int64_t index = 0; index < grouping->members.count; index++) {
        struct span value;
        if (!get_row(&grouping->selection, grouping->selection.start + index, &refusal->row)) {
            refusal->why = NO_ROW;
            return;
        }
        if (!get_value(&grouping->columns.keys, refusal->row, &value)) {
            refusal->why = VALUE_OUTSIDE;
            return;
        }
        const int64_t chosen = number_value(&grouping->table, value);
        if (chosen < 0) {
            grouping->no_memory = true;
            return;
        }
        grouping->members.chosen[index] = (struct member){chosen, (int32_t)index};
    }
    sort_members(&grouping->members, true);
}

/* --- Both --------------------------------------------------------------------------------------------- */

/* The rows of ``count`` members, packed. */
static PyObject *
rows_object(const struct column_grouping *grouping, const struct member *members, int64_t count)
{
    PyObject *rows = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count * (Py_ssize_t)sizeof(int32_t));
    if (rows == NULL)
        return NULL;
    char *at = PyBytes_AsString(rows);
    for (int64_t index = 0; index < count; index++) {
        int64_t row;
        get_row(&grouping->selection, grouping->selection.start + members[index].row, &row);
        const int32_t packed = (int32_t)row;
        memcpy(at + (size_t)index * sizeof packed, &packed, sizeof packed);
    }
    return rows;
}

/* What the members have in common: their partition, or their value. */
static PyObject *
common_object(const struct column_grouping *grouping, const struct member *member)
{
    if (grouping->table.values == NULL)
        return PyLong_FromLongLong(member->partition);
    const struct span bytes = grouping->table.values[member->partition].bytes;
    if (bytes.data == NULL)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize((const char *)bytes.data, (Py_ssize_t)bytes.size);
}

static PyObject *
groups_object(const struct column_grouping *grouping)
{
    PyObject *groups = PyList_New(0);
    const struct members *members = &grouping->members;
    for (int64_t start = 0, end; groups != NULL && start < members->count; start = end) {
        end = end_of_members(members, start);
        PyObject *common = common_object(grouping, &members->sorted[start]);
        PyObject *rows = common ? rows_object(grouping, &members->sorted[start], end - start) : NULL;
        PyObject *one = rows ? PyTuple_Pack(2, common, rows) : NULL;
        if (one == NULL || PyList_Append(groups, one) < 0)
            Py_CLEAR(groups);
        Py_XDECREF(common);
        Py_XDECREF(rows);
        Py_XDECREF(one);
    }
    return groups;
}

static PyObject *
make_groups(struct column_grouping *grouping, int64_t partitions, void choose(struct column_grouping *grouping))
{
    PyObject *result = NULL;
    const int64_t count = grouping->selection.stop - grouping->selection.start;
    if (count > INT32_MAX || !make_members(&grouping->members, count, partitions)) {
        PyErr_NoMemory();
    } else {
        if (count < MANY) {
            choose(grouping);
        } else {
            Py_BEGIN_ALLOW_THREADS
            choose(grouping);
            Py_END_ALLOW_THREADS
        }
        if (grouping->refusal.why != NULL)
            refuse_row(&grouping->refusal);
        else if (grouping->no_memory)
            PyErr_NoMemory();
        else
            result = groups_object(grouping);
    }
    drop_members(&grouping->members);
    free(grouping->table.values);
    free(grouping->table.slots);
    return result;
}

static void
drop_grouping(struct column_grouping *grouping)
{
    drop_selection(&grouping->selection);
    drop_number_column(&grouping->own);
    drop_columns(&grouping->columns);
}

/* group_columns(columns, own, rows, start, stop, partitions, sticky) */
PyObject *
group_columns(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct column_grouping grouping = {0};
    int64_t partitions;
    if (!take_limit(args[5], &partitions) || !take_int64(args[6], &grouping.sticky))
        return NULL;
    if (partitions < 1)
        return PyErr_Format(PyExc_ValueError, "the number of partitions must be positive, got %lld",
                            (long long)partitions);
    PyObject *result = NULL;
    if (take_keys(&grouping.columns, args[0])
        && take_selection(&grouping.selection, args + 2, grouping.columns.count)
        && take_number_column(&grouping.own, args[1], grouping.columns.count, "partitions"))
        result = make_groups(&grouping, partitions, choose_partitions);
    drop_grouping(&grouping);
    return result;
}

/* group_values(column, count, rows, start, stop) */
PyObject *
group_values(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct column_grouping grouping = {0};
    struct columns *columns = &grouping.columns;
    PyObject *result = NULL;
    if (take_row_count(args[1], &columns->count)
        && take_bytes_column(&columns->keys, args[0], columns->count, "values")
        && take_selection(&grouping.selection, args + 2, columns->count))
        result = make_groups(&grouping, columns->count, choose_values);
    drop_grouping(&grouping);
    return result;
}
