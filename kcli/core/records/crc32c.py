"""CRC-32C, the checksum of magic-2 batches, by the package ``crc32c`` (hardware instructions, the GIL released).

The extension is loaded on the first call, and without its package: ``import crc32c`` reads package metadata, which
costs fifty times as much as the extension itself (50 ms and 1 ms), more than the rest of a short command.
"""

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

from kcli.core.records.varint import Buffer

_Checksum = Callable[[Buffer, int], int]
_checksum: _Checksum | None = None


def crc32c(data: Buffer, value: int = 0) -> int:
    """The checksum of ``data``, continued from ``value``: ``crc32c(a + b) == crc32c(b, crc32c(a))``."""
    global _checksum  # noqa: PLW0603 - set once, to the same function, whoever comes first
    if _checksum is None:
        _checksum = _load()
    return _checksum(data, value)


def _load() -> _Checksum:
    package = find_spec("crc32c")  # finds the directory, runs nothing
    if package is not None:
        found = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
        if found is not None and found.loader is not None:
            module = module_from_spec(found)
            found.loader.exec_module(module)
            function: _Checksum | None = getattr(module, "crc32c", None)
            if function is not None:
                return function
    from crc32c import crc32c as public  # laid out in another way: the slow road

    return public
