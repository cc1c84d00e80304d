/* Bytes as base64 (RFC 4648, padded) and as hex digits. */
#ifndef KCLI_BASE64_H
#define KCLI_BASE64_H

#include "output.h"

/* Both: false without memory. */
bool put_base64(struct output *output, struct span bytes);
bool put_hex(struct output *output, struct span bytes);

#endif
