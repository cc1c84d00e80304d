r"""``-f PATTERN`` on input: the verbs of ``consume -f``, for reading. Pure.

``%k`` key, ``%v`` ``%s`` value (``{base64}``, ``{hex}``, ``{json}``), ``%h{…}`` headers, each by the inner pattern of
``%k`` and ``%v``, ``%h{NAME}`` the value of one, bare ``%h`` as ``n=v,…`` with ``n=NULL``, ``%d`` ``%T`` timestamp in
ms (−1 is none), ``%p`` partition. A field extends to the text that follows its verb. ``%K`` ``%V`` ``%S`` (decimal) and
``%R`` (four big-endian bytes) before a key or value are its length in bytes, ``%H`` is the number of headers; −1 is null.
``%t %o %e %x %y`` are ignored. Escapes ``\n \r \t \\ \xNN``. What a record has once is read once: a second verb for it
is an error.

Where the pattern ends in text that occurs nowhere else in it, that text ends a record, so that a bad record does not
affect others; a pattern that ends in a verb is ended by the delimiter of ``-D``.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.types import Header
from kcli.flows.inputs.input_format import HeaderBlocks
from kcli.flows.inputs.item import BadInput, BadLine, InputError, InputRow, Item
from kcli.flows.inputs.lines import LineFormat, LineParser, null_of
from kcli.flows.inputs.ndjson import check_partition, timestamp_of

Decode = Callable[[bytes], bytes]

_FIELDS = frozenset("kvs")
_SIZES = {"K": "k", "V": "v", "S": "v", "R": "v"}
_NUMBERS = frozenset("dTpH")
_IGNORED = frozenset("toexy")
_SAME = {"s": "v", "T": "d", "S": "V", "R": "V"}
_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\", "0": b"\0"}


class PatternError(ValueError):
    """The pattern is invalid."""


class Verb(NamedTuple):
    """A field of the record: ``name`` is the verb's letter, ``inner`` the pattern of each header, ``header`` the name of
    the only one; ``text`` as it was written.
    """

    name: str
    decode: Decode | None = None
    inner: tuple[Piece, ...] = ()
    header: bytes | None = None
    text: str = ""

    @property
    def sets(self) -> tuple[str, bytes | None]:
        """What it says of a record; ``%v`` and ``%s`` say the same, and so do ``%S``, ``%V`` and ``%R``."""
        return _SAME.get(self.name, self.name), self.header


Piece = Verb | bytes


@dataclass(slots=True)
class _Found:
    """What has been read of a record so far; ``sizes`` by verb."""

    data: dict[str, bytes | None] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    headers: list[Header] = field(default_factory=list)


class _Short(Exception):  # noqa: N818 - a signal, not an error
    """The record continues after the end of the data: more input is needed."""


class Pattern:
    """A parsed pattern. ``terminator`` ends a record, None when records follow each other by their own sizes."""

    def __init__(self, text: str, delimiter: bytes) -> None:
        pieces, end = _parse(text, 0, inside=False)
        assert end == len(text)
        if not any(isinstance(piece, Verb) and piece.name in "kvsh" for piece in pieces):
            raise PatternError("it reads neither a key nor a value nor headers")
        _check(pieces)
        self.terminator = None if _is_sized(pieces) else _terminator(pieces, delimiter)
        last = pieces[-1]
        if self.terminator is not None and isinstance(last, bytes):
            rest = last.removesuffix(self.terminator)
            pieces[-1:] = [rest] if rest else []
        self.pieces = tuple(pieces)

    def read_record(self, data: bytes, at: int, *, complete: bool) -> tuple[_Found, int]:
        """The record at ``at`` and its end; ``complete``: nothing follows ``data``. Raises BadLine, _Short."""
        found = _Found()
        for index, piece in enumerate(self.pieces):
            if isinstance(piece, bytes):
                at = _literal(data, at, piece, complete)
                continue
            behind = next((p for p in self.pieces[index + 1 : index + 2] if isinstance(p, bytes)), None)
            at = _field(data, at, piece, behind, found, complete)
        return found, at


def pattern_parser(
    text: str, how: LineFormat, blocks: HeaderBlocks, *, longest: int = 1 << 30
) -> LineParser | SizedParser:
    """The parser for ``-f``; PatternError for an invalid pattern."""
    pattern = Pattern(text, how.delimiter)
    if pattern.terminator is None:
        return SizedParser(pattern, how, blocks, longest)

    def parse(line: bytes, number: int) -> InputRow:
        found, end = pattern.read_record(line, 0, complete=True)
        if end < len(line):
            raise BadLine("the record continues after the end of the pattern", end + 1)
        return _row(found, number, line, how, blocks)

    return LineParser(parse, delimiter=pattern.terminator, longest=longest)


class SizedParser:
    """Records one after the other without a terminator; ``line`` counts records.

    Where a record cannot be read, the start of the next is not known: that ends the input.
    """

    def __init__(self, pattern: Pattern, how: LineFormat, blocks: HeaderBlocks, longest: int) -> None:
        self._pattern = pattern
        self._how = how
        self._blocks = blocks
        self._longest = longest
        self._rest = b""
        self._record = 0
        self._broken: InputError | None = None

    def feed(self, data: bytes) -> list[Item]:
        """The records that ``data`` completes. InputError where the input does not match the pattern."""
        return self._take(self._rest + data, complete=False)

    def finish(self) -> list[Item]:
        """The last record; a truncated record is bad input."""
        return self._take(self._rest, complete=True)

    def _take(self, data: bytes, *, complete: bool) -> list[Item]:
        if self._broken is not None:
            raise self._broken
        items: list[Item] = []
        at = 0
        while at < len(data):
            try:
                found, end = self._pattern.read_record(data, at, complete=complete)
                if end == at:
                    raise BadLine("the pattern matches an empty record", 1)
                row = _row(found, self._record + 1, data[at:end], self._how, self._blocks)
            except _Short:
                if len(data) - at > 2 * self._longest:
                    return self._end_at(items, BadLine(f"it has more than {self._longest:,} bytes"))
                break
            except BadLine as bad:
                if complete:
                    items.append(BadInput(self._record + 1, bad.column, bad.reason, data[at:]))
                    at = len(data)
                    break
                return self._end_at(items, bad)
            self._record += 1
            items.append(row)
            at = end
        self._rest = data[at:]
        return items

    def _end_at(self, items: list[Item], bad: BadLine) -> list[Item]:
        """Nothing can be read from here on: raises at once, or with the next call if records precede it."""
        self._broken = InputError(
            f"record {self._record + 1:,} of the input does not fit the pattern",
            why=bad.reason,
            do="check -f; the start of the next record is unknown",
        )
        if not items:
            raise self._broken
        return items


def _row(found: _Found, number: int, raw: bytes, how: LineFormat, blocks: HeaderBlocks) -> InputRow:
    timestamp, partition = found.numbers.get("d"), found.numbers.get("p")
    timestamp = None if timestamp is None else timestamp_of(timestamp)
    check_partition(partition)
    key, value = found.data.get("k"), found.data.get("v")
    if key is not None and "k" not in found.sizes:
        key = null_of(key, how)
    if value is not None and "v" not in found.sizes:
        value = null_of(value, how)
    headers = found.headers
    if how.null_marker is not None:
        headers = [(name, None if held == how.null_marker else held) for name, held in headers]
    return InputRow(number, key, value, blocks.of(headers), timestamp, partition, raw)


# --- reading ----------------------------------------------------------------------------------------------------------


def _literal(data: bytes, at: int, literal: bytes, complete: bool) -> int:
    if data.startswith(literal, at):
        return at + len(literal)
    if not complete and literal.startswith(data[at:]):
        raise _Short
    raise BadLine(f"{_shown(literal)} is missing", at + 1)


def _field(data: bytes, at: int, verb: Verb, behind: bytes | None, found: _Found, complete: bool) -> int:
    name = {"s": "v", "T": "d"}.get(verb.name, verb.name)
    if verb.name == "R":
        if len(data) < at + 4:
            if complete:
                raise BadLine("the length is cut off", at + 1)
            raise _Short
        found.sizes["v"] = int.from_bytes(data[at : at + 4], "big", signed=True)
        return at + 4
    if name in found.sizes and name in _FIELDS:
        size = found.sizes[name]
        if size < -1:
            raise BadLine(f"{size} is no length", at + 1)
        end = at + max(size, 0)
        if end > len(data):
            if complete:
                raise BadLine(f"{len(data) - at:,} of {size:,} bytes are there", len(data) + 1)
            raise _Short
        found.data[name] = None if size < 0 else _decoded(data[at:end], verb, at)
        return end
    if name == "h" and verb.inner and "H" in found.numbers:
        for _ in range(found.numbers["H"]):
            header, at = _header(data, at, verb.inner, complete)
            found.headers.append(header)
        return at
    end = _end(data, at, behind, complete)
    text = data[at:end]
    if name == "h" and verb.header is not None:
        found.headers.append((verb.header, text))
    elif name == "h":
        found.headers += _headers(text, verb.inner, at)
    elif verb.name in _SIZES:
        found.sizes[_SIZES[verb.name]] = _number(text, verb, at)
    elif verb.name in _NUMBERS:
        if text:
            found.numbers[name] = _number(text, verb, at)
    elif name in _FIELDS:
        found.data[name] = _decoded(text, verb, at)
    return end


def _end(data: bytes, at: int, behind: bytes | None, complete: bool) -> int:
    """Where a field without a size ends: before the text that follows it, or with the record."""
    if behind is None:
        if not complete:
            raise _Short
        return len(data)
    end = data.find(behind, at)
    if end < 0:
        if complete:
            raise BadLine(f"{_shown(behind)} is missing", at + 1)
        raise _Short
    return end


def _number(text: bytes, verb: Verb, at: int) -> int:
    if not re.fullmatch(rb"-?[0-9]{1,19}", text):
        raise BadLine(f"%{verb.name} is {_shown(text[:40])}, not a whole number", at + 1)
    return int(text)


def _decoded(text: bytes, verb: Verb, at: int) -> bytes:
    if verb.decode is None:
        return text
    try:
        return verb.decode(text)
    except ValueError as error:
        raise BadLine(f"%{verb.name} is not valid in its encoding: {error}", at + 1) from None


def _headers(text: bytes, inner: tuple[Piece, ...], at: int) -> list[Header]:
    if not text:
        return []
    if not inner:
        parts = [part.partition(b"=") for part in text.split(b",")]
        return [(name, None if not sign or value == b"NULL" else value) for name, sign, value in parts]
    headers, position = [], 0
    while position < len(text):
        try:
            header, end = _header(text, position, inner, True)
        except BadLine as bad:
            raise BadLine(bad.reason, at + bad.column) from None
        if end == position:
            raise BadLine("the pattern of headers reads nothing", at + position + 1)
        headers.append(header)
        position = end
    return headers


def _header(data: bytes, at: int, inner: tuple[Piece, ...], complete: bool) -> tuple[Header, int]:
    own = _Found()
    for index, piece in enumerate(inner):
        if isinstance(piece, bytes):
            at = _literal(data, at, piece, complete)
        else:
            behind = next((p for p in inner[index + 1 : index + 2] if isinstance(p, bytes)), None)
            at = _field(data, at, piece, behind, own, complete)
    return (own.data.get("k") or b"", own.data.get("v")), at


def _shown(data: bytes) -> str:
    return repr(data.decode("utf-8", "backslashreplace"))


# --- the pattern itself -----------------------------------------------------------------------------------------------


def _parse(text: str, at: int, *, inside: bool) -> tuple[list[Piece], int]:
    pieces: list[Piece] = []
    literal = b""
    while at < len(text) and not (inside and text[at] == "}"):
        if text[at] == "\\":
            data, at = _escape(text, at)
            literal += data
        elif text[at] != "%":
            literal += text[at].encode("utf-8", "surrogateescape")
            at += 1
        elif text[at : at + 2] == "%%":
            literal, at = literal + b"%", at + 2
        else:
            if literal:
                pieces.append(literal)
                literal = b""
            verb, at = _verb(text, at, inside=inside)
            pieces.append(verb)
    if literal:
        pieces.append(literal)
    return pieces, at


def _verb(text: str, at: int, *, inside: bool) -> tuple[Verb, int]:
    name, end = text[at + 1 : at + 2], at + 2
    known = _FIELDS | frozenset(_SIZES) | _NUMBERS | _IGNORED | {"h"}
    if not name:
        raise PatternError("it ends with a single %; write %% for a percent sign")
    if name not in known or (inside and name not in "kvKV"):
        raise PatternError(f"there is no verb %{name} to read by" + (" inside %h{…}" if inside else ""))
    if text[end : end + 1] != "{":
        return Verb(name, text=text[at:end]), end
    if name == "h":
        inner, end = _parse(text, end + 1, inside=True)
        if text[end : end + 1] != "}":
            raise PatternError("the brace after %h is not closed")
        _check(inner)
        if not inner:
            raise PatternError("%h{} reads nothing; write %h{NAME}, or %h{%k=%v;} for each header")
        said = text[at : end + 1]
        if isinstance(inner[0], bytes) and len(inner) == 1:
            return Verb(name, header=inner[0], text=said), end + 1
        return Verb(name, None, tuple(inner), text=said), end + 1
    close = text.find("}", end)
    if close < 0:
        raise PatternError(f"the brace after %{name} is not closed")
    argument = text[end + 1 : close]
    decode = _DECODERS.get(argument) if name in _FIELDS else None
    if decode is None:
        raise PatternError(f"%{name}{{{argument}}} cannot be read; %k, %v and %s take base64, hex and json")
    return Verb(name, decode, text=text[at : close + 1]), close + 1


def _check(pieces: list[Piece]) -> None:
    """Checks that two fields are separated, so that the end of the first can be found, and that none is read twice."""
    counted: set[str] = set()
    read: dict[tuple[str, bytes | None], Verb] = {}
    for verb in (piece for piece in pieces if isinstance(piece, Verb) and piece.name not in _IGNORED):
        first = read.setdefault(verb.sets, verb)
        if first is not verb:
            same = (
                f"{verb.text} is there twice"
                if first.text == verb.text
                else f"{first.text} and {verb.text} are the same"
            )
            raise PatternError(f"{same}: a record has it once, and one of the two would be lost")
    for index, piece in enumerate(pieces):
        if isinstance(piece, bytes):
            continue
        name = {"s": "v"}.get(piece.name, piece.name)
        ended = name in counted or piece.name == "R" or (name == "h" and "H" in counted and piece.inner)
        behind = pieces[index + 1 : index + 2]
        if not ended and behind and isinstance(behind[0], Verb):
            raise PatternError(
                f"%{piece.name} and %{behind[0].name} are adjacent: the end of the first one cannot be determined"
            )
        counted.add(_SIZES.get(piece.name, piece.name if piece.name == "H" else ""))


def _terminator(pieces: list[Piece], delimiter: bytes) -> bytes | None:
    """What ends a record and nothing else: the delimiter, or the whole text at the end of the pattern."""
    last, others = pieces[-1], [piece for piece in pieces[:-1] if isinstance(piece, bytes)]
    if not isinstance(last, bytes):
        return delimiter
    for end in (delimiter, last):
        if last.endswith(end) and not any(end in text for text in (last.removesuffix(end), *others)):
            return end
    return None


def _is_sized(pieces: list[Piece]) -> bool:
    names = {piece.name for piece in pieces if isinstance(piece, Verb)}
    return bool(names & _SIZES.keys()) or "H" in names


def _escape(text: str, at: int) -> tuple[bytes, int]:
    following = text[at + 1 : at + 2]
    if following in _ESCAPES and following:
        return _ESCAPES[following], at + 2
    found = re.compile(r"\\x([0-9A-Fa-f]{2})").match(text, at)
    if found is None:
        raise PatternError(f"there is no escape {text[at : at + 4]!r}; there are \\n \\r \\t \\0 \\\\ \\xNN")
    return bytes([int(found[1], 16)]), at + 4


def _from_json(text: bytes) -> bytes:
    found = json.loads(text)
    if not isinstance(found, str):
        raise ValueError("it is no JSON string")
    return found.encode()


_DECODERS: dict[str, Decode] = {
    "base64": lambda text: binascii.a2b_base64(text, strict_mode=True),
    "hex": binascii.unhexlify,
    "json": _from_json,
}
