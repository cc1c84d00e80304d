/* Which partition a key belongs to, as Java's default partitioner has it. */
#include "module.h"
#include "hash.h"

static bool
hash_object(PyObject *object, uint32_t *digest)
{
    struct span key;
    PyObject *kept = keep_some_bytes(Py_NewRef(object), &key);
    if (kept == NULL)
        return false;
    *digest = hash_key(key);
    Py_DECREF(kept);
    return true;
}

PyObject *
murmur2(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    uint32_t digest;
    return hash_object(args[0], &digest) ? PyLong_FromUnsignedLong(digest) : NULL;
}

static bool
append_partition(PyObject *found, PyObject *key, int64_t partitions)
{
    uint32_t digest;
    if (!hash_object(key, &digest))
        return false;
    PyObject *partition = PyLong_FromLongLong((digest & 0x7FFFFFFF) % partitions);
    if (partition == NULL)
        return false;
    const int failed = PyList_Append(found, partition);
    Py_DECREF(partition);
    return !failed;
}

static bool
append_partitions(PyObject *found, PyObject *keys, int64_t partitions)
{
    PyObject *iterator = PyObject_GetIter(keys);
    if (iterator == NULL)
        return false;
    bool good = true;
    PyObject *key;
    while (good && (key = PyIter_Next(iterator)) != NULL) {
        good = append_partition(found, key, partitions);
        Py_DECREF(key);
    }
    Py_DECREF(iterator);
    return good && !PyErr_Occurred();
}

PyObject *
partition_keys(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    int64_t partitions;
    if (!take_int64(args[1], &partitions))
        return NULL;
    if (partitions < 1)
        return PyErr_Format(PyExc_ValueError, "the number of partitions must be positive, got %lld", (long long)partitions);
    PyObject *found = PyList_New(0);
    if (found != NULL && !append_partitions(found, args[0], partitions))
        Py_CLEAR(found);
    return found;
}
