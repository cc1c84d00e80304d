#include "part_object.h"

/* A part is its data and these, in the order of ArrowPart; the last two are limits. */
enum { PART_NUMBERS = 9, PART_LIMITS = 7 };

bool
take_part(PyObject *object, Py_buffer *view, struct part *part)
{
    int64_t *numbers[PART_NUMBERS] = {
        &part->count,         &part->base_offset,    &part->last_delta, &part->base_timestamp,
        &part->max_timestamp, &part->timestamp_type, &part->leader_epoch, &part->first,
        &part->last,
    };
    for (Py_ssize_t index = 0; index < PART_NUMBERS; index++)
        if (!take_item(object, index + 1, numbers[index], index >= PART_LIMITS))
            return false;
    if (part->timestamp_type < NO_TIMESTAMP || part->timestamp_type > LOG_APPEND_TIME
        || part->leader_epoch < INT32_MIN || part->leader_epoch > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "a part has timestamp type %lld and leader epoch %lld",
                     (long long)part->timestamp_type, (long long)part->leader_epoch);
        return false;
    }
    PyObject *data = PySequence_GetItem(object, 0);
    const bool taken = data != NULL && PyObject_GetBuffer(data, view, PyBUF_SIMPLE) == 0;
    Py_XDECREF(data);
    if (taken) {
        part->data = view->buf;
        part->size = view->len;
    }
    return taken;
}

PyObject *
raise_unreadable(enum verdict verdict, const struct corruption *fault)
{
    switch (verdict) {
    case CORRUPT:
        return raise_corruption(fault);
    case NO_RUN:
        PyErr_SetString(PyExc_ValueError, "the data is no run of batches");
        return NULL;
    case BAD_PART:
        PyErr_SetString(PyExc_ValueError, "the offsets of a batch cannot be");
        return NULL;
    default:
        return PyErr_NoMemory();
    }
}
