/* The arguments that all text kernels have: a region of text. All of it needs the GIL. */
#ifndef KCLI_TEXT_H
#define KCLI_TEXT_H

#include "arguments.h"
#include "lines.h"

/* A region, and how its lines are cut, with what keeps the bytes alive. All zero is an empty one. */
struct text {
    struct region region;
    struct cut cut;
    Py_buffer view;
    PyObject *owners[4];
    int owned;
};

/* The bytes of ``object``, or None's, kept until the text is dropped. */
bool keep_for_text(struct text *text, PyObject *object, bool optional, struct span *bytes);

/* text, start, end, delimiter, key_delimiter, as the kernels begin with. */
bool take_region(struct text *text, PyObject *const *args);

/* null_marker, empty_is_null, wherever a kernel has them. */
bool take_nulls(struct text *text, PyObject *null_marker, PyObject *empty_is_null);

void drop_text(struct text *text);

#endif
