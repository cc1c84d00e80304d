"""The csv of Kafka's own script, read and written: ``topic,partition,offset`` or ``group,topic,partition,offset``."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from kcli.core.errors import ConfigError
from kcli.core.types import OffsetAndMetadata, TopicPartition

Offsets = dict[TopicPartition, OffsetAndMetadata]

_COLUMNS = ("group", "topic", "partition", "offset")
_LARGEST = (1 << 63) - 1


def read_offsets(path: str, groups: Sequence[str]) -> dict[str, Offsets]:
    """What a file says of each group; without a column for the group it is about the one that was named.

    ConfigError names the line that is wrong, a partition that stands there twice, and a group it has nothing of.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read {path}", why=(error.strerror or str(error)).lower()) from None
    except UnicodeDecodeError:
        raise ConfigError(f"cannot read {path}", why="it is not UTF-8") from None
    found: dict[str, Offsets] = {group: {} for group in groups}
    for number, cells in enumerate(csv.reader(io.StringIO(text)), 1):
        if not cells or (number == 1 and _is_header(cells)):
            continue
        group, where, offset = _line(f"{path}:{number}", cells, groups)
        offsets = found.setdefault(group, {})
        if where in offsets:
            raise ConfigError(f"{path}:{number}: {where} stands there twice", do="leave one of the lines")
        offsets[where] = OffsetAndMetadata(offset)
    missing = [group for group in groups if not found[group]]
    if missing:
        raise ConfigError(
            f"{path} has no offsets of group {missing[0]}", do="name the groups that it is about"
        )
    return {group: found[group] for group in groups}


def csv_lines(rows: Iterable[tuple[str, TopicPartition, int]], *, with_group: bool) -> str:
    """Lines as Kafka's script writes them: no header; the group in front where there are several."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for group, where, offset in rows:
        writer.writerow([*([group] if with_group else []), where.topic, where.partition, offset])
    return out.getvalue()


def _is_header(cells: Sequence[str]) -> bool:
    names = tuple(cell.strip().lower() for cell in cells)
    return names in (_COLUMNS, _COLUMNS[1:])


def _line(place: str, cells: Sequence[str], groups: Sequence[str]) -> tuple[str, TopicPartition, int]:
    if len(cells) == 3:
        if len(groups) != 1:
            raise ConfigError(
                f"{place}: the line names no group", do="name one group, or use a file with four columns"
            )
        group, rest = groups[0], cells
    elif len(cells) == 4:
        group, rest = cells[0], cells[1:]
    else:
        raise ConfigError(
            f"{place}: {len(cells)} columns", why="3 or 4 are due: [group,]topic,partition,offset"
        )
    topic, partition, offset = (cell.strip() for cell in rest)
    if not topic or not _is_number(partition) or not _is_number(offset) or int(offset) > _LARGEST:
        raise ConfigError(f"{place} is not topic,partition,offset", why=f"it says {','.join(rest)}")
    return group, TopicPartition(topic, int(partition)), int(offset)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
