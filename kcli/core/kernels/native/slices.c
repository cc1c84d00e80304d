#include "slices.h"

PyObject *
refuse_slice(int64_t index)
{
    return PyErr_Format(PyExc_ValueError, "slice %lld is not in the text", (long long)index);
}

bool
take_slices(struct slices *slices, PyObject *text, PyObject *packed)
{
    struct span bytes;
    slices->owner = keep_some_bytes(Py_NewRef(packed), &bytes);
    if (slices->owner == NULL || PyObject_GetBuffer(text, &slices->text, PyBUF_SIMPLE) < 0)
        return false;
    slices->data = bytes.data;
    slices->count = (int64_t)(bytes.size / sizeof(struct slice));
    if (bytes.size % sizeof(struct slice) == 0 && slices->count <= INT32_MAX)
        return true;
    PyErr_Format(PyExc_ValueError, "%zd bytes are no whole slices", (Py_ssize_t)bytes.size);
    return false;
}

void
drop_slices(struct slices *slices)
{
    if (slices->text.obj != NULL)
        PyBuffer_Release(&slices->text);
    Py_XDECREF(slices->owner);
}
