/* The values of payloads, each followed by a delimiter: read first, then copied to memory of exactly their size. */
#ifndef KCLI_VALUES_H
#define KCLI_VALUES_H

#include <Python.h>

#include "reader.h"
#include "scratch.h"
#include "writer.h"

/* A value, by its place in the source; NULL for a null. */
struct place {
    const uint8_t *start;
    int64_t size;
};

/* What the caller wants, and what was found so far. */
struct values {
    struct span delimiter;
    struct span null;
    int64_t first_delta;
    int64_t last_delta;
    struct scratch scratch;
    struct place *places; /* in there */
    int64_t count;
    uint64_t size; /* of the values without delimiters and nulls: never more than the payload has */
    int64_t nulls;
};

/* Memory for ``count`` places. */
bool make_places(struct values *values, int64_t count);

/* Reads ``count`` records, which must be all that the reader has. Needs no GIL. */
bool find_values(struct values *values, struct reader *reader, int64_t count);

/* (output, number of values), or NULL with an exception. */
PyObject *values_object(const struct values *values);

#endif
