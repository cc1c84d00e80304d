#include "output.h"

enum { FIRST_ROOM = 1 << 16 };

static void
set_bounds(struct output *output, size_t used)
{
    output->at = (uint8_t *)output->scratch.memory + used;
    output->end = (uint8_t *)output->scratch.memory + output->scratch.size;
}

bool
open_output(struct output *output)
{
    output->scratch = take_scratch();
    if (!grow_scratch(&output->scratch, FIRST_ROOM, 1))
        return false;
    set_bounds(output, 0);
    return true;
}

void
drop_output(struct output *output)
{
    drop_scratch(&output->scratch);
}

bool
grow_output(struct output *output, size_t more)
{
    const size_t used = output_size(output), twice = 2 * output->scratch.size;
    size_t needed;
    if (__builtin_add_overflow(used, more, &needed))
        return false;
    if (!grow_scratch(&output->scratch, needed < twice ? twice : needed, 1))
        return false;
    set_bounds(output, used);
    return true;
}
