/* The slices of each partition. */
#include <stdlib.h>

#include "hash.h"
#include "module.h"
#include "scratch.h"

/* A slice by its row, and the partition that it goes to. */
struct member {
    int64_t partition;
    int32_t row;
};

struct grouping {
    struct slices slices;
    int64_t partitions;
    int64_t sticky;
    struct member *members; /* in order of rows */
    struct member *sorted;  /* in order of partitions, then rows */
    int64_t *ends;          /* by partition; NULL where these are too many or do not hold the sticky one */
    int64_t refused;        /* the slice that is not in the text, or -1 */
};

static void
choose_partitions(struct grouping *grouping)
{
    for (int64_t row = 0; row < grouping->slices.count; row++) {
        const struct slice slice = get_slice(&grouping->slices, row);
        struct span key;
        if (!get_bytes(&grouping->slices, slice.key, slice.key_size, &key)) {
            grouping->refused = row;
            return;
        }
        const bool hashed = key.data != NULL;
        const int64_t chosen = hashed ? positive_hash(key) % grouping->partitions : grouping->sticky;
        grouping->members[row] = (struct member){chosen, (int32_t)row};
    }
}

static int
compare_members(const void *one, const void *other)
{
    const struct member *left = one, *right = other;
    if (left->partition != right->partition)
        return left->partition < right->partition ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

static void
sort_members(struct grouping *grouping)
{
    const int64_t count = grouping->slices.count;
    if (grouping->ends == NULL) {
        memcpy(grouping->sorted, grouping->members, (size_t)count * sizeof *grouping->members);
        qsort(grouping->sorted, (size_t)count, sizeof *grouping->sorted, compare_members);
        return;
    }
    memset(grouping->ends, 0, (size_t)grouping->partitions * sizeof *grouping->ends);
    for (int64_t row = 0; row < count; row++)
        grouping->ends[grouping->members[row].partition] += 1;
    int64_t before = 0;
    for (int64_t partition = 0; partition < grouping->partitions; partition++) {
        const int64_t own = grouping->ends[partition];
        grouping->ends[partition] = before;
        before += own;
    }
    for (int64_t row = 0; row < count; row++)
        grouping->sorted[grouping->ends[grouping->members[row].partition]++] = grouping->members[row];
}

static void
group(struct grouping *grouping)
{
    grouping->refused = -1;
    choose_partitions(grouping);
    if (grouping->refused < 0)
        sort_members(grouping);
}

/* (partition, slices, rows) of ``count`` members that have one partition. */
static PyObject *
group_object(const struct slices *slices, const struct member *members, int64_t count)
{
    PyObject *own = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count * (Py_ssize_t)sizeof(struct slice));
    PyObject *rows = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count * (Py_ssize_t)sizeof(int32_t));
    if (own == NULL || rows == NULL) {
        Py_XDECREF(own);
        Py_XDECREF(rows);
        return NULL;
    }
    char *slice_at = PyBytes_AsString(own), *row_at = PyBytes_AsString(rows);
    for (int64_t index = 0; index < count; index++) {
        const struct slice slice = get_slice(slices, members[index].row);
        memcpy(slice_at + (size_t)index * sizeof slice, &slice, sizeof slice);
        memcpy(row_at + (size_t)index * sizeof(int32_t), &members[index].row, sizeof(int32_t));
    }
    return Py_BuildValue("(LNN)", (long long)members[0].partition, own, rows);
}

static PyObject *
group_objects(const struct grouping *grouping)
{
    PyObject *groups = PyList_New(0);
    const int64_t count = grouping->slices.count;
    for (int64_t start = 0, end; groups != NULL && start < count; start = end) {
        const struct member *members = grouping->sorted + start;
        for (end = start; end < count && grouping->sorted[end].partition == members->partition; end++)
            ;
        PyObject *one = group_object(&grouping->slices, members, end - start);
        if (one == NULL || PyList_Append(groups, one) < 0)
            Py_CLEAR(groups);
        Py_XDECREF(one);
    }
    return groups;
}

/* Lays out the memory: the members twice, and a place per partition where these are not far more than the members. */
static bool
make_members(struct grouping *grouping, struct scratch *scratch)
{
    const size_t count = (size_t)grouping->slices.count;
    const bool few = grouping->partitions <= grouping->slices.count + 1024 && 0 <= grouping->sticky
                     && grouping->sticky < grouping->partitions;
    const size_t places = few ? (size_t)grouping->partitions : 0;
    if (!grow_scratch(scratch, 2 * count * sizeof(struct member) + places * sizeof(int64_t) + 1, 1))
        return false;
    grouping->members = scratch->memory;
    grouping->sorted = grouping->members + count;
    grouping->ends = few ? (int64_t *)(grouping->sorted + count) : NULL;
    return true;
}

static PyObject *
make_groups(struct grouping *grouping)
{
    struct scratch scratch = take_scratch();
    PyObject *result = NULL;
    if (!make_members(grouping, &scratch)) {
        PyErr_NoMemory();
    } else {
        if (grouping->slices.count < WORTH_RELEASING / 64) {
            group(grouping);
        } else {
            Py_BEGIN_ALLOW_THREADS
            group(grouping);
            Py_END_ALLOW_THREADS
        }
        result = grouping->refused < 0 ? group_objects(grouping) : refuse_slice(grouping->refused);
    }
    drop_scratch(&scratch);
    return result;
}

/* group_slices(text, slices, partitions, sticky) */
PyObject *
group_slices(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct grouping grouping = {0};
    if (!take_limit(args[2], &grouping.partitions) || !take_int64(args[3], &grouping.sticky))
        return NULL;
    if (grouping.partitions < 1)
        return PyErr_Format(PyExc_ValueError, "the number of partitions must be positive, got %lld",
                            (long long)grouping.partitions);
    PyObject *result = take_slices(&grouping.slices, args[0], args[1]) ? make_groups(&grouping) : NULL;
    drop_slices(&grouping.slices);
    return result;
}
