/* The slices of each partition. */
#include "hash.h"
#include "members.h"
#include "module.h"

struct grouping {
    struct slices slices;
    struct members members;
    int64_t sticky;
    int64_t refused; /* the slice that is not in the text, or -1 */
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
        const int64_t chosen = hashed ? positive_hash(key) % grouping->members.partitions : grouping->sticky;
        grouping->members.chosen[row] = (struct member){chosen, (int32_t)row};
    }
}

static void
group(struct grouping *grouping)
{
    grouping->refused = -1;
    choose_partitions(grouping);
    if (grouping->refused < 0)
        sort_members(&grouping->members, 0 <= grouping->sticky && grouping->sticky < grouping->members.partitions);
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
    const struct members *members = &grouping->members;
    for (int64_t start = 0, end; groups != NULL && start < members->count; start = end) {
        end = end_of_members(members, start);
        PyObject *one = group_object(&grouping->slices, members->sorted + start, end - start);
        if (one == NULL || PyList_Append(groups, one) < 0)
            Py_CLEAR(groups);
        Py_XDECREF(one);
    }
    return groups;
}

static PyObject *
make_groups(struct grouping *grouping, int64_t partitions)
{
    PyObject *result = NULL;
    if (!make_members(&grouping->members, grouping->slices.count, partitions)) {
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
    drop_members(&grouping->members);
    return result;
}

/* group_slices(text, slices, partitions, sticky) */
PyObject *
group_slices(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct grouping grouping = {0};
    int64_t partitions;
    if (!take_limit(args[2], &partitions) || !take_int64(args[3], &grouping.sticky))
        return NULL;
    if (partitions < 1)
        return PyErr_Format(PyExc_ValueError, "the number of partitions must be positive, got %lld",
                            (long long)partitions);
    PyObject *result = NULL;
    if (take_slices(&grouping.slices, args[0], args[1]))
        result = make_groups(&grouping, partitions);
    drop_slices(&grouping.slices);
    return result;
}
