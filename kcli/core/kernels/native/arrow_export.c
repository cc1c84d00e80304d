/* Hands Arrow data to other libraries: capsules of the Arrow PyCapsule interface.
 *
 * Schemas and arrays own plain memory, so releasing them needs no GIL and no interpreter: it may happen in any thread, and
 * after Python has ended. A stream calls its Python source under the GIL; once the interpreter is gone it calls nothing.
 */
#include "module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow_abi.h"
#include "arrow_memory.h"

static const char SCHEMA[] = "arrow_schema";
static const char ARRAY[] = "arrow_array";
static const char STREAM[] = "arrow_array_stream";

/* --- Schemas ----------------------------------------------------------------------------------------- */

static void
release_schema(struct ArrowSchema *schema)
{
    for (int64_t index = 0; index < schema->n_children; index++) {
        struct ArrowSchema *child = schema->children[index];
        if (child != NULL && child->release != NULL)
            child->release(child);
        free(child);
    }
    free(schema->children);
    free((char *)schema->format);
    free((char *)schema->name);
    schema->release = NULL;
}

/* A copy of a str; NULL with an exception. */
static char *
copy_text(PyObject *object)
{
    char *copy = NULL;
    PyObject *bytes = object ? PyUnicode_AsUTF8String(object) : NULL;
    if (bytes != NULL) {
        copy = strdup(PyBytes_AsString(bytes));
        if (copy == NULL)
            PyErr_NoMemory();
    }
    Py_XDECREF(bytes);
    return copy;
}

static bool
take_text(PyObject *sequence, Py_ssize_t index, const char **text)
{
    PyObject *object = PySequence_GetItem(sequence, index);
    *text = copy_text(object);
    Py_XDECREF(object);
    return *text != NULL;
}

static bool
take_integer(PyObject *sequence, Py_ssize_t index, int64_t *number)
{
    PyObject *object = PySequence_GetItem(sequence, index);
    const bool taken = object != NULL && take_int64(object, number);
    Py_XDECREF(object);
    return taken;
}

/* (format, name, flags, children); what was made so far is released by the caller. */
static bool
fill_schema(struct ArrowSchema *schema, PyObject *field)
{
    schema->release = release_schema;
    if (!take_text(field, 0, &schema->format) || !take_text(field, 1, &schema->name)
        || !take_integer(field, 2, &schema->flags))
        return false;
    PyObject *children = PySequence_GetItem(field, 3);
    const Py_ssize_t count = children ? PySequence_Size(children) : -1;
    bool good = count >= 0;
    if (good) {
        schema->children = calloc((size_t)count + 1, sizeof *schema->children);
        good = schema->children != NULL;
        if (!good)
            PyErr_NoMemory();
    }
    for (Py_ssize_t index = 0; good && index < count; index++) {
        PyObject *child = PySequence_GetItem(children, index);
        schema->children[index] = calloc(1, sizeof **schema->children);
        schema->n_children = index + 1;
        if (schema->children[index] == NULL)
            PyErr_NoMemory();
        good = child != NULL && schema->children[index] != NULL && fill_schema(schema->children[index], child);
        Py_XDECREF(child);
    }
    Py_XDECREF(children);
    return good;
}

static void
free_schema_capsule(PyObject *capsule)
{
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, SCHEMA);
    if (schema != NULL && schema->release != NULL)
        schema->release(schema);
    free(schema);
}

/* arrow_schema(field): a capsule of the field (format, name, flags, children). */
PyObject *
arrow_schema(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    if (schema == NULL)
        return PyErr_NoMemory();
    PyObject *capsule =
        fill_schema(schema, args[0]) ? PyCapsule_New(schema, SCHEMA, free_schema_capsule) : NULL;
    if (capsule == NULL) {
        release_schema(schema);
        free(schema);
    }
    return capsule;
}

/* --- Arrays ------------------------------------------------------------------------------------------ */

/* What an array owns besides its children. */
struct owned {
    int64_t count;
    const void **pointers;
    struct memory *memories[];
};

static void
release_array(struct ArrowArray *array)
{
    for (int64_t index = 0; index < array->n_children; index++) {
        struct ArrowArray *child = array->children[index];
        if (child != NULL && child->release != NULL)
            child->release(child);
        free(child);
    }
    free(array->children);
    struct owned *owned = array->private_data;
    for (int64_t index = 0; owned != NULL && index < owned->count; index++)
        drop_memory(owned->memories[index]);
    if (owned != NULL)
        free(owned->pointers);
    free(owned);
    array->release = NULL;
}

static bool
take_buffers(struct ArrowArray *array, PyObject *buffers)
{
    const Py_ssize_t count = buffers ? PySequence_Size(buffers) : -1;
    if (count < 0)
        return false;
    struct owned *owned = calloc(1, sizeof *owned + (size_t)count * sizeof owned->memories[0]);
    const void **pointers = calloc((size_t)count + 1, sizeof *pointers);
    if (owned == NULL || pointers == NULL) {
        free(owned);
        free(pointers);
        return PyErr_NoMemory() != NULL;
    }
    owned->pointers = pointers;
    array->private_data = owned;
    array->buffers = pointers;
    array->n_buffers = count;
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *buffer = PySequence_GetItem(buffers, index);
        if (buffer == NULL)
            return false;
        const bool absent = buffer == Py_None;
        owned->memories[index] = absent ? NULL : memory_of(buffer);
        owned->count = index + 1;
        Py_DECREF(buffer);
        if (!absent && owned->memories[index] == NULL)
            return false;
        pointers[index] = absent ? NULL : owned->memories[index]->bytes;
    }
    return true;
}

/* (length, nulls, buffers, children), as fill_schema. */
static bool
fill_array(struct ArrowArray *array, PyObject *column)
{
    array->release = release_array;
    if (!take_integer(column, 0, &array->length) || !take_integer(column, 1, &array->null_count))
        return false;
    PyObject *buffers = PySequence_GetItem(column, 2);
    bool good = take_buffers(array, buffers);
    Py_XDECREF(buffers);
    PyObject *children = good ? PySequence_GetItem(column, 3) : NULL;
    const Py_ssize_t count = children ? PySequence_Size(children) : -1;
    good = count >= 0;
    if (good) {
        array->children = calloc((size_t)count + 1, sizeof *array->children);
        good = array->children != NULL;
        if (!good)
            PyErr_NoMemory();
    }
    for (Py_ssize_t index = 0; good && index < count; index++) {
        PyObject *child = PySequence_GetItem(children, index);
        array->children[index] = calloc(1, sizeof **array->children);
        array->n_children = index + 1;
        if (array->children[index] == NULL)
            PyErr_NoMemory();
        good = child != NULL && array->children[index] != NULL && fill_array(array->children[index], child);
        Py_XDECREF(child);
    }
    Py_XDECREF(children);
    return good;
}

static void
free_array_capsule(PyObject *capsule)
{
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, ARRAY);
    if (array != NULL && array->release != NULL)
        array->release(array);
    free(array);
}

/* arrow_array(column): a capsule of the column (length, nulls, buffers, children). The buffers of arrow_columns are
 * shared, those of other objects copied. */
PyObject *
arrow_array(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct ArrowArray *array = calloc(1, sizeof *array);
    if (array == NULL)
        return PyErr_NoMemory();
    PyObject *capsule = fill_array(array, args[0]) ? PyCapsule_New(array, ARRAY, free_array_capsule) : NULL;
    if (capsule == NULL) {
        release_array(array);
        free(array);
    }
    return capsule;
}

/* --- Streams ----------------------------------------------------------------------------------------- */

struct source {
    PyObject *object; /* with schema(), next() and close() */
    char *error;
};

static void
note_error(struct source *source, const char *text)
{
    free(source->error);
    source->error = strdup(text);
}

/* What a method of the source returns: a capsule, None at the end, or bytes, which are an error. An exception, which it
 * should not raise, becomes an error as well. */
static PyObject *
call_source(struct source *source, const char *method)
{
    PyObject *found = PyObject_CallMethod(source->object, method, NULL);
    if (found == NULL) {
        PyErr_Clear();
        note_error(source, "the stream failed");
    } else if (PyBytes_Check(found)) {
        note_error(source, PyBytes_AsString(found));
        Py_CLEAR(found);
    }
    return found;
}

static int
get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema)
{
    struct source *source = stream->private_data;
    memset(schema, 0, sizeof *schema);
    if (!Py_IsInitialized())
        return EINVAL;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *capsule = call_source(source, "schema");
    struct ArrowSchema *found = capsule ? PyCapsule_GetPointer(capsule, SCHEMA) : NULL;
    if (found != NULL) {
        *schema = *found;
        found->release = NULL; /* it was moved */
    }
    PyErr_Clear();
    Py_XDECREF(capsule);
    PyGILState_Release(state);
    return found == NULL ? EIO : 0;
}

static int
get_next(struct ArrowArrayStream *stream, struct ArrowArray *array)
{
    struct source *source = stream->private_data;
    memset(array, 0, sizeof *array);
    if (!Py_IsInitialized())
        return EINVAL;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *capsule = call_source(source, "next");
    const bool ended = capsule == Py_None;
    struct ArrowArray *found = capsule && !ended ? PyCapsule_GetPointer(capsule, ARRAY) : NULL;
    if (found != NULL) {
        *array = *found;
        found->release = NULL;
    }
    PyErr_Clear();
    Py_XDECREF(capsule);
    PyGILState_Release(state);
    return found == NULL && !ended ? EIO : 0;
}

static const char *
get_last_error(struct ArrowArrayStream *stream)
{
    return ((struct source *)stream->private_data)->error;
}

/* With the GIL. A consumer that raises the error of a stream releases it meanwhile: its exception must stay. */
static void
drop_source(struct source *source)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *closed = PyObject_CallMethod(source->object, "close", NULL);
    Py_XDECREF(closed);
    Py_DECREF(source->object);
    PyErr_Restore(type, value, traceback); /* in place of what close raised, too */
}

static void
release_stream(struct ArrowArrayStream *stream)
{
    struct source *source = stream->private_data;
    if (Py_IsInitialized()) {
        const PyGILState_STATE state = PyGILState_Ensure();
        drop_source(source);
        PyGILState_Release(state);
    }
    free(source->error);
    free(source);
    stream->release = NULL;
}

static void
free_stream_capsule(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, STREAM);
    if (stream != NULL && stream->release != NULL)
        stream->release(stream);
    free(stream);
}

/* arrow_stream(source): a capsule of a stream that calls schema(), next() and, once, close() of the source. */
PyObject *
arrow_stream(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct source *source = calloc(1, sizeof *source);
    struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
    PyObject *capsule = source && stream ? PyCapsule_New(stream, STREAM, free_stream_capsule) : NULL;
    if (capsule == NULL) {
        free(source);
        free(stream);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    source->object = Py_NewRef(args[0]);
    *stream = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, source};
    return capsule;
}
