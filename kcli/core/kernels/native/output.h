/* Bytes that are written one after the other, in memory that grows. Knows no Python object; needs no GIL.
 *
 * Who writes asks for room before, and may then write through ``at``.
 */
#ifndef KCLI_OUTPUT_H
#define KCLI_OUTPUT_H

#include <stdbool.h>

#include "scratch.h"
#include "writer.h"

struct output {
    struct scratch scratch;
    uint8_t *at;
    uint8_t *end;
};

/* False without memory; to be dropped either way. */
bool open_output(struct output *output);

/* Gives the memory back. */
void drop_output(struct output *output);

/* Makes room for ``more`` bytes, and then some: twice the memory, so that all copying costs no more than the writing. */
bool grow_output(struct output *output, size_t more);

static inline size_t
output_size(const struct output *output)
{
    return (size_t)(output->at - (uint8_t *)output->scratch.memory);
}

/* False without memory. */
static inline bool
make_room(struct output *output, size_t more)
{
    return (size_t)(output->end - output->at) >= more || grow_output(output, more);
}

static inline bool
put_bytes(struct output *output, struct span bytes)
{
    if (!make_room(output, bytes.size))
        return false;
    output->at = write_bytes(output->at, bytes);
    return true;
}

static inline bool
put_byte(struct output *output, char byte)
{
    if (!make_room(output, 1))
        return false;
    *output->at++ = (uint8_t)byte;
    return true;
}

#define PUT_TEXT(output, text) put_bytes(output, (struct span){(const uint8_t *)(text), sizeof(text) - 1})

#endif
