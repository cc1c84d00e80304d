/* Rows by the partition that each goes to. Knows no Python object; needs no GIL. */
#ifndef KCLI_MEMBERS_H
#define KCLI_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "scratch.h"

/* A row, and the partition that it goes to. */
struct member {
    int64_t partition;
    int32_t row;
};

struct members {
    struct scratch scratch;
    struct member *chosen; /* in there: in order of rows */
    struct member *sorted; /* in there: in order of partitions, then rows */
    int64_t *ends;         /* in there: by partition, -1 first; NULL where these are too many */
    int64_t count;
    int64_t partitions;
};

/* Memory for ``count`` members; false if there is none. */
bool make_members(struct members *members, int64_t count, int64_t partitions);

void drop_members(struct members *members);

/* Sorts all ``count`` members, which were chosen in the order of their rows. ``existing``: all their partitions are at
 * least -1 and less than ``partitions``, so that they need not be compared. */
void sort_members(struct members *members, bool existing);

/* Where the members of the same partition end that begin at ``start``. */
static inline int64_t
end_of_members(const struct members *members, int64_t start)
{
    int64_t end = start + 1;
    while (end < members->count && members->sorted[end].partition == members->sorted[start].partition)
        end++;
    return end;
}

#endif
