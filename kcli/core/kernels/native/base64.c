#include "base64.h"

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char HEX[] = "0123456789abcdef";

static inline uint8_t *
write_group(uint8_t *at, uint32_t bits)
{
    at[0] = (uint8_t)DIGITS[bits >> 18 & 63];
    at[1] = (uint8_t)DIGITS[bits >> 12 & 63];
    at[2] = (uint8_t)DIGITS[bits >> 6 & 63];
    at[3] = (uint8_t)DIGITS[bits & 63];
    return at + 4;
}

bool
put_base64(struct output *output, struct span bytes)
{
    if (!make_room(output, bytes.size / 3 * 4 + 4))
        return false;
    const uint8_t *from = bytes.data;
    size_t left = bytes.size;
    uint8_t *at = output->at;
    for (; left >= 3; from += 3, left -= 3)
        at = write_group(at, (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2]);
    if (left) {
        at = write_group(at, (uint32_t)from[0] << 16 | (left == 2 ? (uint32_t)from[1] << 8 : 0));
        at[-1] = '=';
        if (left == 1)
            at[-2] = '=';
    }
    output->at = at;
    return true;
}

bool
put_hex(struct output *output, struct span bytes)
{
    if (!make_room(output, 2 * bytes.size))
        return false;
    for (size_t index = 0; index < bytes.size; index++) {
        *output->at++ = (uint8_t)HEX[bytes.data[index] >> 4];
        *output->at++ = (uint8_t)HEX[bytes.data[index] & 15];
    }
    return true;
}
