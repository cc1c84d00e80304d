/* What contradicts itself in record bytes, and the Python error for it.
 *
 * Kernels run without the GIL, so they only note what is wrong; raising comes after.
 */
#ifndef KCLI_CORRUPTION_H
#define KCLI_CORRUPTION_H

#include <Python.h>
#include <stdint.h>

struct corruption {
    int64_t position; /* in the decompressed payload */
    const char *why;  /* a format with up to two %lld */
    long long first;
    long long second;
};

/* Raises CorruptRecordsError in the words of the pure twin. Returns NULL, for the caller to return. */
PyObject *raise_corruption(const struct corruption *fault);

/* The same for a reason that is no format; the reference stays with the caller. */
PyObject *raise_corruption_because(int64_t position, PyObject *why);

#endif
