"""Which files of a partition's folder are its log, also where a broker died while it replaced some of them.

A broker that compacts or splits segments writes ``.cleaned`` files, renames all of them to ``.swap``, then what they
replace to ``.deleted``, and at last takes ``.swap`` away. What it would do when it starts again is done here, without
changing a file: a ``.swap`` counts in place of the segments that it covers, unless a ``.cleaned`` file at its offset or a
lower one says that the renaming did not get through.
"""

import os
from collections.abc import Callable, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import FileGoneError
from kcli.core.records.segment import Segment, base_offset_of, unreadable

_SWAP, _CLEANED, _DELETED = ".swap", ".cleaned", ".deleted"


class SegmentFile(NamedTuple):
    """A ``.log`` file of a partition; ``name`` without the folder."""

    base_offset: int
    name: str
    size: int

    def beside(self, suffix: str) -> str:
        """The name of the file of another kind that belongs to it, as ``.index``."""
        stem, _, rest = self.name.rpartition(".log")
        return stem + suffix + rest


class Chosen(NamedTuple):
    """The segments in order, and other ``.log`` files: replaced, deleted, not finished, uploaded twice."""

    files: tuple[SegmentFile, ...]
    others: tuple[SegmentFile, ...]


def choose_files(folder: str, only: Sequence[str] = ()) -> Chosen:
    """The segments of a folder; ``only`` these of its files, which count whatever they are called."""
    try:
        names = only or os.listdir(folder)
    except OSError as error:
        raise unreadable(folder, error) from error
    found = []
    for name in names:
        if base_offset_of(name) >= 0:
            size = _size(os.path.join(folder, name), gone_is_fine=not only)
            if size is not None:
                found.append(SegmentFile(base_offset_of(name), name, size))
    if only:
        return Chosen(tuple(sorted(found)), ())

    def next_offset(file: SegmentFile) -> int:
        return _next_offset(os.path.join(folder, file.name))

    return choose(found, next_offset)


def choose(files: Sequence[SegmentFile], next_offset: Callable[[SegmentFile], int]) -> Chosen:
    """The same for files that were found. ``next_offset`` says where a ``.swap`` file ends."""
    cleaned = min((file.base_offset for file in files if file.name.endswith(_CLEANED)), default=None)
    swaps = [
        file for file in files
        if file.name.endswith(_SWAP) and (cleaned is None or file.base_offset < cleaned)
    ]  # fmt: skip
    first = min((file.base_offset for file in swaps), default=0)
    behind = max((next_offset(file) for file in swaps), default=0)
    kept: dict[int, SegmentFile] = {}
    others = []
    for file in sorted(files, key=lambda file: (file.base_offset, file.name)):
        plain = file.name.endswith(".log")
        if (plain and first <= file.base_offset < behind) or (not plain and file not in swaps):
            others.append(file)
        elif file.base_offset not in kept or kept[file.base_offset].size < file.size:
            others += [kept.pop(file.base_offset)] if file.base_offset in kept else []
            kept[file.base_offset] = file
        else:
            others.append(file)
    return Chosen(tuple(sorted(kept.values())), tuple(others))


def _size(path: str, *, gone_is_fine: bool) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError as error:
        if gone_is_fine and isinstance(error, FileNotFoundError):
            return None  # a broker that runs has deleted it meanwhile
        raise unreadable(path, error) from error


def _next_offset(path: str) -> int:
    try:
        with Segment.open(path) as segment:
            ends = [found.next_offset for found in segment.scan()]
            return ends[-1] if ends else segment.base_offset
    except FileGoneError:
        return 0
