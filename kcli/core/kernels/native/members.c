#include "members.h"

#include <stdlib.h>
#include <string.h>

bool
make_members(struct members *members, int64_t count, int64_t partitions)
{
    const bool few = partitions <= count + 1024;
    const size_t places = few ? (size_t)partitions + 1 : 0;
    const size_t size = 2 * (size_t)count * sizeof(struct member) + places * sizeof(int64_t) + 1;
    members->scratch = take_scratch();
    if (!grow_scratch(&members->scratch, size, 1))
        return false;
    members->count = count;
    members->partitions = partitions;
    members->chosen = members->scratch.memory;
    members->sorted = members->chosen + count;
    members->ends = few ? (int64_t *)(members->sorted + count) : NULL;
    return true;
}

void
drop_members(struct members *members)
{
    drop_scratch(&members->scratch);
}

static int
compare_members(const void *one, const void *other)
{
    const struct member *left = one, *right = other;
    if (left->partition != right->partition)
        return left->partition < right->partition ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

void
sort_members(struct members *members, bool existing)
{
    if (members->ends == NULL || !existing) {
        memcpy(members->sorted, members->chosen, (size_t)members->count * sizeof *members->sorted);
        qsort(members->sorted, (size_t)members->count, sizeof *members->sorted, compare_members);
        return;
    }
    int64_t *ends = members->ends;
    memset(ends, 0, (size_t)(members->partitions + 1) * sizeof *ends);
    for (int64_t index = 0; index < members->count; index++)
        ends[members->chosen[index].partition + 1] += 1;
    int64_t before = 0;
    for (int64_t place = 0; place <= members->partitions; place++) {
        const int64_t own = ends[place];
        ends[place] = before;
        before += own;
    }
    for (int64_t index = 0; index < members->count; index++)
        members->sorted[ends[members->chosen[index].partition + 1]++] = members->chosen[index];
}
