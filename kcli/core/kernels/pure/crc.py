"""CRC-32C, the checksum of magic-2 batches, without the C twin: uses the package ``crc32c``; patching is in Python.

The package uses hardware instructions and releases the GIL. Its extension is loaded on the first call, bypassing the
package: ``import crc32c`` reads package metadata, which takes fifty times as long as the extension itself (50 ms and 1
ms), longer than the rest of a short command.
"""

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

from kcli.core.kernels.varint import Buffer

_Checksum = Callable[[Buffer, int], int]
_checksum: _Checksum | None = None

_POLYNOMIAL = 0x82F63B78  # reflected: the highest bit is the coefficient of x^0
_X8 = 0x00800000  # x^8: one more byte


def crc32c(data: Buffer, value: int = 0) -> int:
    """The checksum of ``data``, continued from ``value``: ``crc32c(a + b) == crc32c(b, crc32c(a))``."""
    global _checksum  # noqa: PLW0603 - set once; concurrent callers set the same function
    if _checksum is None:
        _checksum = _load()
    return _checksum(data, value)


def crc32c_patch(crc: int, old: Buffer, new: Buffer, tail: int) -> int:
    """The checksum of a message after replacing ``old``, which ends ``tail`` bytes before its end, by ``new``.

    ``crc`` is the checksum of the message with ``old``, which is as long as ``new``. The rest of the message is not
    needed: a checksum is linear, so the difference only has to be shifted over the bytes after it.
    """
    if len(old) != len(new):
        raise ValueError(f"{len(new)} bytes cannot replace {len(old)}")
    if tail < 0:
        raise ValueError(f"{tail} bytes cannot follow")
    difference = crc32c(old) ^ crc32c(new)
    power = _X8
    while tail:
        if tail & 1:
            difference = _multiply(difference, power)
        power = _multiply(power, power)
        tail >>= 1
    return crc ^ difference


def _multiply(a: int, b: int) -> int:
    """``a * b`` as polynomials over the two-element field, modulo that of the checksum."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return product


def _load() -> _Checksum:
    package = find_spec("crc32c")  # finds the directory, executes nothing
    if package is not None:
        found = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
        if found is not None and found.loader is not None:
            module = module_from_spec(found)
            found.loader.exec_module(module)
            function: _Checksum | None = getattr(module, "crc32c", None)
            if function is not None:
                return function
    from crc32c import crc32c as public  # a different package layout: the slow path, else not taken

    return public
