"""Errors of the system about a file, as three texts: what failed, why, and what to do."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

_FULL = "free space there, then run it again"
_REMEDIES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "choose a file system that holds files of this size",
    errno.EROFS: "choose a folder that can be written",
    errno.EACCES: "check who may read and write it: ls -ld PATH",
    errno.EPERM: "check who may read and write it: ls -ld PATH",
    errno.ENOENT: "check the path: all folders of it have to exist",
    errno.ENOTDIR: "check the path: all but its last part have to be folders",
    errno.EISDIR: "name a file, not a folder",
}


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Errors of the system in the block have ``path``: those of a descriptor have none, and temporary files have
    names that the user does not know.
    """
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = path, None
        raise


def described(error: OSError) -> tuple[str, str, str]:
    """What, why and do of an error that has a file name; no remedy where none is known."""
    path = os.fsdecode(error.filename)
    return f"{path}: {error.strerror}", "", _REMEDIES.get(error.errno or 0, "").replace("PATH", path)
