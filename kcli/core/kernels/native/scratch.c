#include "scratch.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST_KEPT = 4 << 20 }; /* what a batch of 1 MB needs, and some */

/* The spare block lies here with its size in front; whoever takes it leaves NULL. */
struct block {
    size_t size;
    max_align_t memory[];
};

static _Atomic(struct block *) spare;

static struct block *
block_of(const struct scratch *scratch)
{
    return (struct block *)((char *)scratch->memory - offsetof(struct block, memory));
}

struct scratch
take_scratch(void)
{
    struct block *block = atomic_exchange(&spare, NULL);
    if (block == NULL)
        return (struct scratch){NULL, 0};
    return (struct scratch){block->memory, block->size};
}

bool
grow_scratch(struct scratch *scratch, size_t count, size_t item_size)
{
    if (count > (SIZE_MAX / 2 - sizeof(struct block)) / item_size)
        return false;
    const size_t size = count * item_size;
    if (size <= scratch->size)
        return true;
    struct block *old = scratch->memory ? block_of(scratch) : NULL;
    struct block *block = realloc(old, offsetof(struct block, memory) + size);
    if (block == NULL)
        return false;
    block->size = size;
    *scratch = (struct scratch){block->memory, size};
    return true;
}

void
drop_scratch(struct scratch *scratch)
{
    struct block *block = scratch->memory ? block_of(scratch) : NULL;
    if (block != NULL && block->size <= MOST_KEPT)
        block = atomic_exchange(&spare, block);
    free(block);
    *scratch = (struct scratch){NULL, 0};
}
