#include "arrow_memory.h"

#include <stdlib.h>
#include <string.h>

struct buffer {
    PyObject_HEAD
    struct memory *memory;
};

struct memory *
make_memory(int64_t size)
{
    if (size < 0 || (uint64_t)size > SIZE_MAX / 2)
        return NULL;
    const size_t whole = (sizeof(struct memory) + (size_t)size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct memory *memory = aligned_alloc(ALIGNMENT, whole);
    if (memory == NULL)
        return NULL;
    atomic_init(&memory->owners, 1);
    memory->size = size;
    return memory;
}

struct memory *
share_memory(struct memory *memory)
{
    atomic_fetch_add_explicit(&memory->owners, 1, memory_order_relaxed);
    return memory;
}

void
drop_memory(struct memory *memory)
{
    if (memory != NULL && atomic_fetch_sub_explicit(&memory->owners, 1, memory_order_acq_rel) == 1)
        free(memory);
}

/* --- As Python sees it ------------------------------------------------------------------------------- */

static int
get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct memory *memory = ((struct buffer *)self)->memory;
    return PyBuffer_FillInfo(view, self, memory->bytes, (Py_ssize_t)memory->size, 1, flags);
}

static Py_ssize_t
buffer_size(PyObject *self)
{
    return (Py_ssize_t)((struct buffer *)self)->memory->size;
}

static void
free_buffer(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    drop_memory(((struct buffer *)self)->memory);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* By way of void (*)(void): slots are void pointers, to which ISO C converts no function directly. */
static PyType_Slot buffer_slots[] = {
    {Py_tp_dealloc, (void *)free_buffer},
    {Py_bf_getbuffer, (void *)get_buffer},
    {Py_mp_length, (void *)buffer_size},
    {Py_tp_doc, (void *)"Bytes of an Arrow column."},
    {0, NULL},
};

static PyType_Spec buffer_spec = {
    .name = "kcli.core.kernels._native._Buffer",
    .basicsize = sizeof(struct buffer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = buffer_slots,
};

PyObject *
make_buffer_type(void)
{
    return PyType_FromSpec(&buffer_spec);
}

/* Looked up where it is needed and kept nowhere, as subinterpreters each have their own. */
static PyTypeObject *
buffer_type(void)
{
    PyObject *module = PyImport_ImportModule("kcli.core.kernels._native");
    PyObject *type = module ? PyObject_GetAttrString(module, "_Buffer") : NULL;
    Py_XDECREF(module);
    return (PyTypeObject *)type;
}

PyObject *
buffer_object(struct memory *memory)
{
    PyTypeObject *type = buffer_type();
    struct buffer *buffer = type ? PyObject_New(struct buffer, type) : NULL;
    Py_XDECREF((PyObject *)type); /* an object of it holds a reference of its own */
    if (buffer == NULL) {
        drop_memory(memory);
        return NULL;
    }
    buffer->memory = memory;
    return (PyObject *)buffer;
}

static struct memory *
copy_of(PyObject *object)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    struct memory *memory = make_memory(view.len);
    if (memory == NULL)
        PyErr_NoMemory();
    else
        memcpy(memory->bytes, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return memory;
}

struct memory *
memory_of(PyObject *object)
{
    const bool ours = PyType_GetSlot(Py_TYPE(object), Py_bf_getbuffer) == (void *)get_buffer;
    return ours ? share_memory(((struct buffer *)object)->memory) : copy_of(object);
}
