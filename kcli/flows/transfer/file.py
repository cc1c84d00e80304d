"""A file of offsets on disk: written atomically, and read."""

import os
import stat
import sys
from pathlib import Path

from kcli.core.errors import ConfigError
from kcli.files.atomic import FileError, replace_file
from kcli.flows.transfer.formats.recognise import parse_offsets
from kcli.flows.transfer.saved_offset import SavedOffset

STDIN = "-"

_MODE = 0o666  # minus the umask


def write_file(path: str, text: str) -> None:
    """Replaces the file; a symbolic link is followed.

    ConfigError if it is not a regular file; FileError if it cannot be written: then the previous content stays.
    """
    target = os.path.realpath(path)
    try:
        if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
            raise ConfigError(
                f"{path} is not a regular file",
                why="it would be replaced by a regular file",
                do="leave out --file for stdout",
            )
        replace_file(target, text.encode("utf-8", "backslashreplace"), mode=_MODE)
    except OSError as error:
        raise FileError(
            f"cannot write {path}",
            why=(error.strerror or str(error)).lower(),
            do="make room or choose another path; nothing was changed",
        ) from None


def read_file(path: str, *, of_brokers: bool = False) -> list[SavedOffset]:
    """The offsets of a file in any supported format; ``-`` is stdin. ConfigError says what is wrong and where.

    ``of_brokers``: accepts offsets of Kafka 0.7, which number the partitions of a single broker.
    """
    if path == STDIN and sys.stdin is None:
        raise ConfigError("cannot read stdin", why="it is closed", do="name a file")
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"cannot read {file_name(path)}",
            why=(error.strerror or str(error)).lower(),
            do="check the name, and that you may read it; nothing was done",
        ) from None
    offsets = parse_offsets(data, file_name(path))
    for saved in offsets:
        if saved.broker is not None and not of_brokers:
            raise ConfigError(
                f"{file_name(path)}: {saved.location} is an offset of Kafka 0.7",
                why=f"partition {saved.partition} of broker {saved.broker} is not a partition of the cluster, and its "
                "offset is a position in a file",
                do="import it with --zookeeper, or leave such lines out",
            )
    return offsets


def file_name(path: str) -> str:
    """The name for messages."""
    return "stdin" if path == STDIN else path
