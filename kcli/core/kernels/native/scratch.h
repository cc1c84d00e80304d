/* Memory for the length of one call, where the last call's is used again.
 *
 * Pages that the system gives anew, and takes back at the end, cost more than the records that go there. So one spare
 * block is kept for the whole process. Needs no GIL; a second thread that comes meanwhile gets a block of its own.
 */
#ifndef KCLI_SCRATCH_H
#define KCLI_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

/* A block; all zero is an empty one. */
struct scratch {
    void *memory;
    size_t size; /* in bytes */
};

/* The spare block, or an empty one. Its content is garbage. */
struct scratch take_scratch(void);

/* Makes room for ``count`` items, and keeps what is there. False when there is no memory; the block stays valid. */
bool grow_scratch(struct scratch *scratch, size_t count, size_t item_size);

/* Gives the block back, for the next call or to the system. */
void drop_scratch(struct scratch *scratch);

#endif
