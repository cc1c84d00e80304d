/* CRC-32C as numbers. Knows no Python object; needs no GIL. */
#ifndef KCLI_CHECKSUM_H
#define KCLI_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Fills the tables and looks which instructions there are; to be called before anything else. Twice does no harm. */
void start_checksum(void);

/* The checksum of all that ``crc`` is the checksum of, followed by ``data``. */
uint32_t extend_checksum(uint32_t crc, const uint8_t *data, size_t size);

/* The same without special instructions. */
uint32_t extend_checksum_by_tables(uint32_t crc, const uint8_t *data, size_t size);

/* What a difference of two checksums becomes when ``size`` equal bytes follow on both sides. */
uint32_t shift_difference(uint32_t difference, uint64_t size);

#endif
