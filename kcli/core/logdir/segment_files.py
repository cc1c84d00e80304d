"""Which files of a partition's folder are its log, also after a broker died while it replaced some."""

import os
from collections.abc import Collection
from typing import NamedTuple

from kcli.core.records.segment import base_offset_of, unreadable


class SegmentFile(NamedTuple):
    """A ``.log`` file of a partition; ``name`` without the folder."""

    base_offset: int
    name: str
    size: int


def choose_files(folder: str, only: Collection[str] = ()) -> tuple[SegmentFile, ...]:
    """The segments in order of their base offsets."""
    try:
        names = only or os.listdir(folder)
    except OSError as error:
        raise unreadable(folder, error) from error
    found = []
    for name in names:
        if name.endswith(".log") and base_offset_of(name) >= 0:
            try:
                found.append(
                    SegmentFile(base_offset_of(name), name, os.stat(os.path.join(folder, name)).st_size)
                )
            except FileNotFoundError:
                continue  # deleted meanwhile
    return tuple(sorted(found))
