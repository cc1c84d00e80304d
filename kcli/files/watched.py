"""Whether a file has changed since it was read: for files that a long-running command reads again."""

import os

Version = tuple[int, int, int]


def version_of(path: str) -> Version | None:
    """Differs after the file was written, replaced, or made readable; None where there is none."""
    try:
        found = os.stat(os.path.expanduser(path))
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns, found.st_size
