/* A render program as C values. All of it needs the GIL; the tuples it was made of must outlive it. */
#ifndef KCLI_PROGRAM_H
#define KCLI_PROGRAM_H

#include "module.h"

/* In the order and with the numbers of render_ops.py. */
enum operation_code { LITERAL, NUMBER, TIME, TIMESTAMP_TYPE, BYTES, LENGTH, HEADERS, EXTRA };
enum number {
    OFFSET,
    TIMESTAMP,
    LEADER_EPOCH,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    HEADER_COUNT,
    KEY_LENGTH,
    VALUE_LENGTH,
};
enum field { KEY, VALUE };
enum bytes_form { RAW, HEX, BASE64, JSON, JSON_ESCAPED, JSON_AS_IS, CSV, NOT_TEXT };
enum headers_form { HEADERS_TEXT, HEADERS_JSON, HEADERS_FLAT, HEADERS_CSV, HEADERS_EACH };

enum { MOST_TEXTS = 3 };

struct operation;

struct program {
    struct operation *operations;
    Py_ssize_t count;
};

struct operation {
    enum operation_code code;
    int which; /* number, field, form of headers */
    int form;  /* of bytes */
    struct span texts[MOST_TEXTS]; /* its bytes in their order; NULL for an ``otherwise`` that is missing */
    Py_ssize_t column;             /* of the extras */
    struct program inner;          /* for each header; or one operation, in place of an extra */
};

/* Is there an operation anywhere that looks at extras? */
bool has_extras(const struct program *program);

/* Operations out of a tuple. ``columns``: how many extras there are. False with an exception; to be dropped either way. */
bool take_program(struct program *program, PyObject *operations, Py_ssize_t columns);

void drop_program(struct program *program);

#endif
