"""``consume -o pretty``: a block a record, for people: place and time, key, headers, value; JSON in lines that fit.

Every character of a record is made visible before colours are added, so the sink writes the blocks as they are.
"""

import re
from collections.abc import Iterator

import msgspec

from kcli.core.kernels import render_ops as op
from kcli.core.types import Record
from kcli.output.decoding import Decoders
from kcli.output.record_dumps import RecordByRecord, dump_rows
from kcli.output.sanitise import visible
from kcli.output.style import cells_wide
from kcli.output.template import rfc3339

_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_NAME, _TEXT, _NUMBER, _WORD = "\x1b[36m", "\x1b[32m", "\x1b[33m", "\x1b[35m"
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)')
_MARGIN, _WIDTH = 9, 80  # columns before what a field holds; of a pipe
_MOST_ROWS = 16


class PrettyFormatter(RecordByRecord):
    """``colour``: whether there may be colours; ``width``: of the terminal."""

    is_visible = True

    def __init__(self, *, colour: bool, width: int | None, decoders: Decoders | None = None) -> None:
        self._colour = colour
        self._width = max(20, (width or _WIDTH) - _MARGIN)
        self._decoders = decoders
        self._before: int | None = None

    def one(self, record: Record, marker: str | None) -> bytes:
        """The block, and an empty line."""
        when = rfc3339(record.timestamp) or "no time"
        place = f"{record.topic}-{record.partition}@{record.offset}"
        lines = [f"{self._styled(_BOLD, visible(place))}  {self._styled(_DIM, when)}"]
        if marker is not None:
            lines.append(f"  {marker} of a transaction")
        else:
            lines += self._field("key", self._shown(op.KEY, record))
            for name, value in record.headers:
                text = name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")
                lines += self._field("header", value, visible(text).replace("\n", "\\n") + " = ")
            lines += self._field(self._label(record), self._shown(op.VALUE, record))
        return "\n".join([*lines, "", ""]).encode("utf-8", "backslashreplace")

    def _label(self, record: Record) -> str:
        serde = self._decoders.of(op.VALUE) if self._decoders is not None else None
        if serde is None or record.value is None or not serde.names_schemas or self._decoders is None:
            return "value"
        number = self._decoders.schema_id(op.VALUE, record)
        return "value" if number is None else f"value (schema {number})"

    def _shown(self, which: int, record: Record) -> bytes | None:
        data = record.key if which == op.KEY else record.value
        decoded = self._decoders.text(which, record) if self._decoders is not None else None
        return data if decoded is None else decoded

    def _field(self, label: str, data: bytes | None, before: str = "") -> Iterator[str]:
        found = list(self._lines(data, before))
        if len(label) >= _MARGIN - 2:
            yield f"  {self._styled(_DIM, label)}"
            label = ""
        for line in found:
            yield f"  {self._styled(_DIM, label.ljust(_MARGIN - 2))}{line}".rstrip()
            label = ""

    def _lines(self, data: bytes | None, before: str) -> Iterator[str]:
        if data is None:
            yield before + self._styled(_DIM, "∅")
        elif not data:
            yield before + self._styled(_DIM, "(empty)")
        elif (text := _text(data)) is None:
            if before:
                yield before
            rows = list(dump_rows(data[: 16 * _MOST_ROWS], self._width))
            yield from rows
            if len(data) > 16 * _MOST_ROWS:
                yield self._styled(_DIM, f"… {len(data):,} bytes in all; -o hex shows them")
        elif (json := _json(data, self._width - cells_wide(before))) is not None:
            first, *rest = json.split("\n")
            yield before + self._coloured(first)
            yield from map(self._coloured, rest)
        else:
            first, *rest = visible(text).split("\n")
            yield before + first
            yield from rest

    def _coloured(self, line: str) -> str:
        if not self._colour:
            return line
        return _TOKEN.sub(_colour_of, line)

    def _styled(self, start: str, text: str) -> str:
        return f"{start}{text}{_RESET}" if self._colour and text.strip() else text


def _colour_of(match: re.Match[str]) -> str:
    text, colon, number, word = match.groups()
    if text is not None:
        return f"{_NAME if colon else _TEXT}{text}{_RESET}{colon or ''}"
    return f"{_NUMBER if number is not None else _WORD}{number if number is not None else word}{_RESET}"


def _text(data: bytes) -> str | None:
    """As UTF-8; None for what is none, or binary data by the look of it."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _json(data: bytes, width: int) -> str | None:
    """An object or a list of JSON, on one line where it fits; None for anything else. Numbers keep their digits."""
    if data.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        line = msgspec.json.format(data, indent=0).decode()
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return "\n".join(_folded(visible(line), width, 0))


def _folded(text: str, width: int, indent: int, before: str = "") -> list[str]:
    """``text``, JSON on one line, in lines of ``width``: what does not fit has a line for each of its members."""
    pad = " " * indent
    if (
        len(pad) + cells_wide(before) + cells_wide(text) <= width
        or text[0] not in "{["
        or len(text) == 2
        or indent > 2 * width
    ):
        return [f"{pad}{before}{text}"]
    lines = [f"{pad}{before}{text[0]}"]
    members = _members(text)
    for number, member in enumerate(members):
        name, value = _name_of(member) if text[0] == "{" else ("", member)
        inner = _folded(value, width, indent + 2, name)
        inner[-1] += "," if number < len(members) - 1 else ""
        lines += inner
    return [*lines, f"{pad}{text[-1]}"]


_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]')


def _members(text: str) -> list[str]:
    """What is between the outer brackets, by its commas."""
    found, depth, at = [], 0, 1
    for match in _STRUCTURE.finditer(text):
        sign = match[0]
        if sign == "," and depth == 1:
            found.append(text[at : match.start()])
            at = match.end() + 1
        depth += sign in "[{"
        depth -= sign in "]}"
    return [*found, text[at:-1]]


def _name_of(member: str) -> tuple[str, str]:
    """The name with its colon and a blank, and the value."""
    match = _STRUCTURE.match(member)
    assert match is not None
    return member[: match.end() + 2], member[match.end() + 2 :]
