/* What operations write: bytes in their forms, and headers in theirs. Knows no Python object; needs no GIL. */
#ifndef KCLI_FORMS_H
#define KCLI_FORMS_H

#include "program.h"

#include "output.h"
#include "reader.h"

/* A field as BYTES has it; all say false without memory. */
bool put_form(struct output *output, const struct operation *operation, struct span bytes);

/* The length in 4 bytes. */
bool put_length(struct output *output, struct span bytes);

/* The length in decimal. */
bool put_length_number(struct output *output, const struct operation *operation, struct span bytes);

/* The headers of a record that was read and found good. */
bool put_headers(struct output *output, const struct operation *operation, const struct reader *reader,
                 const struct record *record);

#endif
