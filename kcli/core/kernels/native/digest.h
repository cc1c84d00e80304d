/* Digests of records; what they are is in the pure twin. Knows no Python object; needs no GIL. */
#ifndef KCLI_DIGEST_H
#define KCLI_DIGEST_H

#include "reader.h"

enum { BLOCK = 16 }; /* bytes, of a digest too */

/* A number of 128 bits. Of a digest, its rest by 2^127 - 1 counts. */
struct digest {
    uint64_t high;
    uint64_t low;
};

struct digest load_digest(const uint8_t *bytes);

/* The least of the numbers that are equal by the modulus. */
void store_digest(const struct digest *digest, uint8_t *bytes);

/* Adds a record of ``data``. False where there is no memory for a record whose numbers are not as short as they can be;
 * of others nothing is copied. */
bool add_to_digest(struct digest *digest, int64_t timestamp, const uint8_t *data, const struct record *record);

#endif
