/* The header of a batch of magic 2, as it is in the bytes. Knows no Python object; needs no GIL. */
#ifndef KCLI_BATCH_H
#define KCLI_BATCH_H

#include <stdint.h>

enum {
    LENGTH_END = 12, /* of the base offset and the length, which counts what follows */
    CRC_START = 21,  /* of what the checksum covers */
    PRODUCER_AT = 43,
    HEADER_SIZE = 61,
    MAGIC = 2,
    CODEC = 0x07,
    TRANSACTIONAL = 0x10,
    APPEND_TIME = 0x08,
    CONTROL = 0x20,
};

struct batch {
    int64_t base_offset;
    int64_t length;
    int64_t leader_epoch;
    int8_t magic;
    uint32_t crc;
    uint16_t attributes;
    int64_t last_delta;
    int64_t base_timestamp;
    int64_t max_timestamp;
    int64_t count;
};

static inline uint64_t
load_big(const uint8_t *at, int width)
{
    uint64_t number = 0;
    for (int index = 0; index < width; index++)
        number = number << 8 | at[index];
    return number;
}

static inline int64_t
load_int32(const uint8_t *at)
{
    return (int32_t)(uint32_t)load_big(at, 4);
}

static inline struct batch
load_batch(const uint8_t *at)
{
    return (struct batch){
        .base_offset = (int64_t)load_big(at, 8),
        .length = load_int32(at + 8),
        .leader_epoch = load_int32(at + 12),
        .magic = (int8_t)at[16],
        .crc = (uint32_t)load_big(at + 17, 4),
        .attributes = (uint16_t)load_big(at + 21, 2),
        .last_delta = load_int32(at + 23),
        .base_timestamp = (int64_t)load_big(at + 27, 8),
        .max_timestamp = (int64_t)load_big(at + 35, 8),
        .count = load_int32(at + 57),
    };
}

#endif
