/* Bytes as strings of JSON, and as fields of CSV. All say false without memory. */
#ifndef KCLI_JSON_H
#define KCLI_JSON_H

#include "output.h"

/* A string when it is UTF-8, else base64 in quotes; ``is_text`` tells which. */
bool put_json(struct output *output, struct span bytes, bool *is_text);

/* A string in which each byte that is not part of well-formed UTF-8 is \\xNN. */
bool put_json_escaped(struct output *output, struct span bytes);

/* A string whose bytes from 0x20 on are as they are. */
bool put_json_as_is(struct output *output, struct span bytes);

/* A field, base64 where it is not UTF-8. */
bool put_csv(struct output *output, struct span bytes);

/* Makes a quoted field of what was written from ``start`` on. */
bool quote_csv(struct output *output, size_t start);

#endif
