"""The csv of Kafka's ``kafka-consumer-groups.sh --reset-offsets --export`` and ``--from-file``. Pure.

``topic,partition,offset`` for one group, ``group,topic,partition,offset`` for several, without a header; lines end with
a line feed. It is Jackson's csv: fields are quoted if they have more than 24 characters, or a character that sorts
before ``-`` (blank, comma, quotation mark, ``+``, ``*`` …); quotation marks are doubled. Kafka's order is arbitrary,
here it is sorted. A header line is accepted, since other tools write one.
"""

import csv
import io
from collections.abc import Iterable, Sequence

from kcli.flows.transfer.formats import fields
from kcli.flows.transfer.formats.fields import BrokenFileError
from kcli.flows.transfer.saved_offset import SavedOffset

COLUMNS = ("group", "topic", "partition", "offset")
_LONGEST_BARE = 24


def csv_lines(offsets: Iterable[SavedOffset], *, with_group: bool) -> str:
    """The lines, as Kafka's script would write them."""
    return "".join(
        ",".join(
            [
                *([_cell(saved.group or "")] if with_group else []),
                *(_cell(saved.topic), str(saved.partition), str(saved.offset)),
            ]
        )
        + "\n"
        for saved in offsets
    )


def read_csv(text: str) -> list[SavedOffset]:
    """The offsets; BrokenFileError names the invalid line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    found: list[SavedOffset] = []
    width = 0
    try:
        for cells in reader:
            location = f"line {reader.line_num}"
            if not cells or (not width and _is_header(cells)):
                continue
            width = width or len(cells)
            found.append(_saved(location, cells, width))
    except csv.Error as error:
        raise BrokenFileError(f"line {reader.line_num}", str(error)) from None
    return found


def _saved(location: str, cells: Sequence[str], width: int) -> SavedOffset:
    if len(cells) not in (3, 4):
        raise BrokenFileError(
            location,
            f"it has {len(cells)} columns, not topic,partition,offset or group,topic,partition,offset",
        )
    if len(cells) != width:
        raise BrokenFileError(location, f"it has {len(cells)} columns, the lines before have {width}")
    topic, partition, offset = (cell.strip() for cell in cells[-3:])
    group = fields.group(location, cells[0]) if width == len(COLUMNS) else None
    return fields.saved_offset(location, topic, partition, offset, group=group)


def _is_header(cells: Sequence[str]) -> bool:
    names = tuple(cell.strip().lower() for cell in cells)
    return names in (COLUMNS, COLUMNS[1:])


def _cell(text: str) -> str:
    if len(text) <= _LONGEST_BARE and all(sign >= "-" for sign in text):
        return text
    return '"' + text.replace('"', '""') + '"'
