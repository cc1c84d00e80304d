/* kcli.core.kernels._native: the C twin of the record kernels in kernels/pure, which is the specification.
 *
 * No static variable holds a Python object, so subinterpreters and free threads share nothing that changes.
 */
#include "module.h"

#include <stdlib.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "arrow_memory.h"
#include "checksum.h"
#include "parts.h"

bool
take_int64(PyObject *number, int64_t *value)
{
    *value = PyLong_AsLongLong(number);
    return *value != -1 || !PyErr_Occurred();
}

bool
take_limit(PyObject *number, int64_t *value)
{
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow)
        *value = overflow < 0 ? INT64_MIN : INT64_MAX;
    return *value != -1 || !PyErr_Occurred();
}

bool
take_start(PyObject *number, Py_ssize_t *value)
{
    *value = PyLong_AsSsize_t(number);
    if (*value == -1 && PyErr_Occurred())
        return false;
    if (*value < 0) {
        PyErr_Format(PyExc_ValueError, "the start is %zd", *value);
        return false;
    }
    return true;
}

PyObject *
keep_some_bytes(PyObject *object, struct span *bytes)
{
    if (object == NULL)
        return NULL;
    PyObject *kept = NULL;
    if (PyBytes_Check(object))
        kept = Py_NewRef(object);
    else if (PyObject_CheckBuffer(object))
        kept = PyBytes_FromObject(object);
    else
        PyErr_Format(PyExc_TypeError, "bytes are needed, not %R", (PyObject *)Py_TYPE(object));
    Py_DECREF(object);
    if (kept != NULL) {
        bytes->data = (const uint8_t *)PyBytes_AsString(kept);
        bytes->size = (size_t)PyBytes_Size(kept);
    }
    return kept;
}

PyObject *
keep_bytes(PyObject *object, struct span *bytes)
{
    if (object != Py_None)
        return keep_some_bytes(object, bytes);
    *bytes = (struct span){NULL, 0};
    return object;
}

/* Looked up on each error and kept nowhere: an import at the start would cost every command,
 * a static pointer would be shared by subinterpreters. */
static PyObject *
error_type(void)
{
    PyObject *module = PyImport_ImportModule("kcli.core.errors");
    if (module == NULL)
        return NULL;
    PyObject *type = PyObject_GetAttrString(module, "CorruptRecordsError");
    Py_DECREF(module);
    return type;
}

/* CorruptRecordsError(what, why=why); takes the references of both. */
static PyObject *
make_error(PyObject *type, PyObject *what, PyObject *why)
{
    PyObject *error = NULL;
    PyObject *positional = what ? PyTuple_Pack(1, what) : NULL;
    PyObject *keywords = why ? Py_BuildValue("{sO}", "why", why) : NULL;
    if (positional != NULL && keywords != NULL)
        error = PyObject_Call(type, positional, keywords);
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    Py_XDECREF(what);
    Py_XDECREF(why);
    return error;
}

/* Takes the reference of ``why``, which may be NULL with an exception. */
static PyObject *
raise_because(int64_t position, PyObject *why)
{
    PyObject *type = error_type();
    if (type == NULL) {
        Py_XDECREF(why);
        return NULL;
    }
    PyObject *what = PyUnicode_FromFormat("record data at byte %lld", (long long)position);
    PyObject *error = make_error(type, what, why);
    if (error != NULL) {
        PyErr_SetObject(type, error);
        Py_DECREF(error);
    }
    Py_DECREF(type);
    return NULL;
}

PyObject *
raise_corruption(const struct corruption *fault)
{
    /* A format that names fewer numbers leaves the others unread, which C allows. */
    return raise_because(fault->position, PyUnicode_FromFormat(fault->why, fault->first, fault->second));
}

PyObject *
raise_corruption_because(int64_t position, PyObject *why)
{
    return raise_because(position, Py_NewRef(why));
}

PyObject *
refuse_part(int verdict, const struct corruption *fault)
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

bool
keep_for_text(struct text *text, PyObject *object, bool optional, struct span *bytes)
{
    Py_INCREF(object);
    PyObject *kept = optional ? keep_bytes(object, bytes) : keep_some_bytes(object, bytes);
    if (kept == NULL)
        return false;
    text->owners[text->owned++] = kept;
    return true;
}

static bool
take_delimiters(struct text *text, PyObject *delimiter, PyObject *key_delimiter)
{
    if (!keep_for_text(text, delimiter, false, &text->region.delimiter)
        || !keep_for_text(text, key_delimiter, true, &text->cut.key_delimiter))
        return false;
    if (text->region.delimiter.size && (text->cut.key_delimiter.data == NULL || text->cut.key_delimiter.size))
        return true;
    PyErr_SetString(PyExc_ValueError, "a delimiter is empty");
    return false;
}

bool
take_region(struct text *text, PyObject *const *args)
{
    Py_ssize_t start, end;
    if (PyObject_GetBuffer(args[0], &text->view, PyBUF_SIMPLE) < 0)
        return false;
    if (!take_start(args[1], &start) || !take_start(args[2], &end)
        || !take_delimiters(text, args[3], args[4]))
        return false;
    if (end > text->view.len) {
        PyErr_Format(PyExc_ValueError, "the region ends at byte %zd, the text at %zd", end, text->view.len);
        return false;
    }
    text->region.text = text->view.buf;
    text->region.at = start;
    text->region.end = end;
    return true;
}

bool
take_nulls(struct text *text, PyObject *null_marker, PyObject *empty_is_null)
{
    const int empty = PyObject_IsTrue(empty_is_null);
    text->cut.empty_is_null = empty > 0;
    return empty >= 0 && keep_for_text(text, null_marker, true, &text->cut.null_marker);
}

void
drop_text(struct text *text)
{
    while (text->owned)
        Py_DECREF(text->owners[--text->owned]);
    if (text->view.obj != NULL)
        PyBuffer_Release(&text->view);
}

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

/* --- Parts ------------------------------------------------------------------------------------------ */

/* A part is its data and these, in the order of ArrowPart; the last two are limits. */
enum { PART_NUMBERS = 9, PART_LIMITS = 7 };

bool
take_item(PyObject *sequence, Py_ssize_t index, int64_t *number, bool limit)
{
    PyObject *object = PySequence_GetItem(sequence, index);
    const bool taken = object != NULL && (limit ? take_limit(object, number) : take_int64(object, number));
    Py_XDECREF(object);
    return taken;
}

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

/* --- The module ------------------------------------------------------------------------------------- */

static bool
check_arguments(const char *function, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most)
{
    if (least <= given && given <= most)
        return true;
    PyErr_Format(PyExc_TypeError, "%s() takes %zd to %zd arguments (%zd given)", function, least, most,
                 given);
    return false;
}

#define CALL_KERNEL(name, least, most) \
    static PyObject *call_##name(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) \
    { \
        return check_arguments(#name, count, least, most) ? name(args, count) : NULL; \
    }
ALL_KERNELS(CALL_KERNEL)
ALL_EXPORTERS(CALL_KERNEL)

/* By way of void (*)(void), the one cast between function types that compilers take as meant. */
#define KERNEL_ROW(name, least, most) \
    {#name, (PyCFunction)(void (*)(void))call_##name, METH_FASTCALL, NULL},

#define EXPORTER_ROW(name, least, most) \
    {"_" #name, (PyCFunction)(void (*)(void))call_##name, METH_FASTCALL, NULL},

static PyMethodDef methods[] = {
    ALL_KERNELS(KERNEL_ROW)
    ALL_EXPORTERS(EXPORTER_ROW)
    {NULL, NULL, 0, NULL},
};

/* Batches of about 1 MB are allocated and freed all the time. By default glibc returns each of them to the system and
 * takes it back, page by page: a third of the system time of a mirror. */
static void
keep_freed_memory(void)
{
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 4 << 20);
#endif
}

static int
execute(PyObject *module)
{
    keep_freed_memory();
    start_checksum();
    PyObject *type = make_buffer_type();
    const int added = type == NULL ? -1 : PyModule_AddObjectRef(module, "_Buffer", type);
    Py_XDECREF(type);
    return added;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kcli.core.kernels._native",
    .m_doc = "The record kernels in C; see kcli/core/kernels/pure for what each does.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
