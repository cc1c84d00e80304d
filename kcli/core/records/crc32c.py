"""CRC-32C, the checksum of magic-2 batches, from the implementation of the kernels that is in use."""

from kcli.core.records.kernels import crc32c, crc32c_patch

__all__ = ["crc32c", "crc32c_patch"]
