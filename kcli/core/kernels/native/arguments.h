/* Python arguments as C values, with Python's errors. All of it needs the GIL. */
#ifndef KCLI_ARGUMENTS_H
#define KCLI_ARGUMENTS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "writer.h"

/* From here on, work without Python objects is worth giving the GIL away for: some 10 us. */
enum { WORTH_RELEASING = 64 * 1024 };

/* Did the caller give between ``least`` and ``most`` arguments? */
bool check_arguments(const char *function, Py_ssize_t given, Py_ssize_t least, Py_ssize_t most);

/* An int that must be an int64: OverflowError if not. */
bool take_int64(PyObject *number, int64_t *value);

/* An int that is a limit: one beyond int64 limits no more and no less than the nearest int64. */
bool take_limit(PyObject *number, int64_t *value);

/* The index where a sequence is begun: not negative. */
bool take_start(PyObject *number, Py_ssize_t *value);

/* Bytes, or None as a null span. Takes over a reference to ``object`` (or NULL, where getting it failed) and returns one
 * to what keeps the span alive: the object itself, or a copy of another kind of buffer, which could change while the
 * GIL is away. NULL with an exception otherwise. */
PyObject *keep_bytes(PyObject *object, struct span *bytes);

/* As keep_bytes; None is a TypeError. */
PyObject *keep_some_bytes(PyObject *object, struct span *bytes);

#endif
