"""The file of an export on the disk: there whole or not at all."""

import os
import stat

from kcli.core.errors import ConfigError
from kcli.flows.atomic_file import replace_file
from kcli.flows.failed_file import FileError

_MODE = 0o666  # less what the umask takes


def write_file(path: str, text: str) -> None:
    """Replaces the file, behind a symbolic link the one that it leads to.

    ConfigError where it is no regular file; FileError where it cannot be written: then what was there before stays.
    """
    target = os.path.realpath(path)
    try:
        if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
            raise ConfigError(
                f"{path} is no regular file",
                why="it would be replaced by one",
                do="leave out --file for stdout",
            )
        replace_file(target, text.encode("utf-8", "backslashreplace"), mode=_MODE)
    except OSError as error:
        raise FileError(
            f"cannot write {path}",
            why=(error.strerror or str(error)).lower(),
            do="make room or choose another place; nothing was changed",
        ) from None
