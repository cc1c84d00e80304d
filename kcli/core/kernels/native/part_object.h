/* An ArrowPart as a part, and why its records could not be read, as an exception. Needs the GIL. */
#ifndef KCLI_PART_OBJECT_H
#define KCLI_PART_OBJECT_H

#include "module.h"
#include "parts.h"

/* An ArrowPart. ``view`` holds its data until it is released. */
bool take_part(PyObject *object, Py_buffer *view, struct part *part);

/* Raises why the records of parts could not be read, or NO_MEMORY; NULL. ``fault``: of a CORRUPT one. */
PyObject *raise_unreadable(enum verdict verdict, const struct corruption *fault);

#endif
