"""Fields of records by their names, as ``--select``, ``--by``, ``--distinct`` and ``%v{.PATH}`` name them.

A list is ``FIELD [as NAME], …``; a field is one of ``ROOTS``, and behind ``value``, ``key`` and ``headers`` a path:
``value.customer.id``, ``value.items[0].sku``, ``headers.trace-id``, ``value."a.b"``. A path leads into parsed JSON, or
into what ``-s`` decodes. What a record lacks is null, as is a path into what is not JSON, which is counted.

Of a batch, rows are read at once: only the members that are named, and each value is parsed once.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.flows.filters import json_value
from kcli.flows.filters.decoded import DecodedField
from kcli.flows.filters.expression import chain, itself
from kcli.flows.filters.grep import raw_name
from kcli.flows.filters.json_value import Decode, Members, RepeatedError, Repeats, tree_of
from kcli.flows.filters.selection import BatchFields, Mask
from kcli.output.template import rfc3339
from kcli.serde.errors import DecodeError

ROOTS = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "time",
    "date",
    "hour",
    "key",
    "value",
    "headers",
    "leader_epoch",
)
"""``timestamp`` in ms; ``time``, ``date`` and ``hour`` are its text in UTC."""
_WITH_PATHS = ("key", "value", "headers")
_CONSTANT = frozenset(("topic", "partition", "timestamp_type", "leader_epoch"))
_TIMES = {"date": 10, "hour": 13}
_ENDS = {10: "", 13: ":00Z"}
_HOUR = 3_600_000  # ms
_STEP = re.compile(r'\.(?:"((?:[^"\\]|\\.)+)"|([^\s.,\[\]"]+))|\[(-?\d+)\]')
_NAME = re.compile(r"[A-Za-z_]\w*")
_AS = re.compile(r'\s+[aA][sS]\s+(?:"((?:[^"\\]|\\.)+)"|([^\s,"]+))')

Step = str | int
Read = Callable[[Any], Any]
_UNREADABLE = (ValueError, RecursionError, DecodeError)


class FieldPath(NamedTuple):
    """A field: one of ``ROOTS``, and the path inside it. ``name`` is what it is called in the output."""

    name: str
    root: str
    path: tuple[Step, ...] = ()

    @property
    def is_inside(self) -> bool:
        """Whether the key or the value has to be parsed."""
        return bool(self.path) and self.root != "headers"


class FieldPathError(ValueError):
    """What is wrong with a list of fields."""


def parse_fields(text: str) -> tuple[FieldPath, ...]:
    """Parses ``key, value.customer.id as customer``; FieldPathError with a phrase."""
    fields: list[FieldPath] = []
    at = 0
    while True:
        field, at = _field(text, at)
        if any(field.name == other.name for other in fields):
            raise FieldPathError(f"two fields are called {field.name}: give one another name with `as`")
        fields.append(field)
        if at == len(text):
            return tuple(fields)
        at += 1  # the comma


def _field(text: str, at: int) -> tuple[FieldPath, int]:
    at += len(text) - at - len(text[at:].lstrip())
    found = _NAME.match(text, at)
    if found is None:
        near = text[at : at + 20]
        raise FieldPathError(
            f"a field is missing before {near!r}" if near else "a field is missing at the end"
        )
    root, start, at = found[0], at, found.end()
    if root not in ROOTS:
        raise FieldPathError(f"there is no field {root!r}: {', '.join(ROOTS)}, and paths such as value.a.b")
    path: list[Step] = []
    while step := _STEP.match(text, at):
        quoted, bare, index = step.groups()
        path.append(int(index) if index is not None else bare if bare is not None else _unquoted(quoted))
        at = step.end()
    name = text[start:at]
    _check_path(root, path, name)
    if alias := _AS.match(text, at):
        name, at = alias[2] if alias[2] is not None else _unquoted(alias[1]), alias.end()
    at += len(text) - at - len(text[at:].lstrip())
    if at < len(text) and text[at] != ",":
        raise FieldPathError(f"{text[at : at + 20]!r} is not expected after {text[start:at].rstrip()!r}")
    return FieldPath(name, root, tuple(path)), at


def _check_path(root: str, path: Sequence[Step], said: str) -> None:
    if path and root not in _WITH_PATHS:
        raise FieldPathError(f"{said!r}: {root} has no fields of its own")
    if root == "headers" and (len(path) > 1 or (path and isinstance(path[0], int))):
        raise FieldPathError(f'{said!r}: write headers.NAME, or headers."NAME" where the name has a dot')


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


class FieldReader:
    """Reads ``fields`` of the records of a batch; ``key`` and ``value`` are those with a serde.

    A cell is bytes (a key, a value or a header that is not decoded), a value of JSON, or None. ``not_json``, ``repeated``
    and ``undecoded`` count the keys and values that a path could not be followed into; ``first`` is the first of them.
    """

    def __init__(
        self, fields: Sequence[FieldPath], key: DecodedField | None = None, value: DecodedField | None = None
    ) -> None:
        self.fields = tuple(fields)
        self.not_json = self.repeated = self.undecoded = 0
        self.first = ""
        self._decoded = {"key": key, "value": value}
        self._inside = {root: self._parser(root) for root in ("key", "value")}

    @property
    def skipped(self) -> int:
        """The number of keys and values that could not be looked into."""
        return self.not_json + self.repeated + self.undecoded

    @property
    def is_constant(self) -> bool:
        """Whether all records of a batch have the same cells."""
        return all(field.root in _CONSTANT for field in self.fields)

    def is_plain(self, field: FieldPath) -> bool:
        """Whether its cells are bytes, numbers or text of their own, rather than values of JSON."""
        return not self._is_parsed(field) and (field.root != "headers" or bool(field.path))

    def rows(self, fields: BatchFields, mask: Mask) -> Iterator[tuple[Any, ...]]:
        """The cells of each record that has a 1 in ``mask``, in order."""
        return zip(*self.columns(fields, mask), strict=True)

    def columns(self, fields: BatchFields, mask: Mask) -> list[Iterable[Any]]:
        """The cells of these records by field."""
        count = mask.count(1)
        inside: dict[str, Sequence[Sequence[Any]]] = {}
        columns: list[Iterable[Any]] = []
        for field in self.fields:
            if not self._is_parsed(field):
                columns.append(self._column(field, fields, mask, count))
                continue
            if field.root not in inside:
                inside[field.root] = self._parsed(field.root, fields, mask)
            columns.append(inside[field.root][self._parsed_fields(field.root).index(field)])
        return columns

    # --- what is in every record -------------------------------------------------------------------

    def _column(self, field: FieldPath, fields: BatchFields, mask: Mask, count: int) -> Iterable[Any]:
        batch = fields.batch
        match field.root:
            case "topic" | "partition":
                return repeat(getattr(fields.tp, field.root), count)
            case "offset":
                return fields.offsets(mask)
            case "timestamp":
                return [None if time < 0 else time for time in fields.timestamps(mask)]
            case "time" | "date" | "hour":
                return _times(fields.timestamps(mask), _TIMES.get(field.root))
            case "timestamp_type":
                return repeat({0: "CreateTime", 1: "LogAppendTime"}.get(batch.timestamp_type), count)
            case "leader_epoch":
                return repeat(None if batch.leader_epoch < 0 else batch.leader_epoch, count)
            case "headers":
                return self._headers(field, fields, mask)
            case root:
                return fields.parts(mask, None, in_key=root == "key")

    def _headers(self, field: FieldPath, fields: BatchFields, mask: Mask) -> Iterable[Any]:
        indices = (index for index, wanted in enumerate(mask) if wanted)
        if not field.path:
            return [[[_shown(name), _shown(held)] for name, held in fields.headers(n)] for n in indices]
        wanted = str(field.path[0]).encode("utf-8", "surrogateescape")
        cells = []
        for index in indices:
            held = [value for name, value in fields.headers(index) if raw_name(name) == wanted]
            cells.append(held[-1] if held else None)
        return cells

    # --- inside of keys and values ------------------------------------------------------------------

    def _is_parsed(self, field: FieldPath) -> bool:
        return field.is_inside or self._decoded.get(field.root) is not None

    def _parsed_fields(self, root: str) -> list[FieldPath]:
        return [field for field in self.fields if field.root == root and self._is_parsed(field)]

    def _parser(self, root: str) -> "JsonPaths | None":
        paths = [field.path for field in self._parsed_fields(root)]
        return JsonPaths(paths) if paths else None

    def _parsed(self, root: str, fields: BatchFields, mask: Mask) -> Sequence[Sequence[Any]]:
        """A column for each of the fields of ``root`` that are parsed."""
        parser, decoded = self._inside[root], self._decoded[root]
        assert parser is not None
        if decoded is None:
            cells = fields.parts(mask, None, in_key=root == "key")
            if (columns := parser.columns(cells)) is not None:
                return columns
            rows = self._rows_checked(parser, fields, mask, cells)
        else:
            rows = [self._row_decoded(parser, decoded, fields, n) for n, wanted in enumerate(mask) if wanted]
        return list(zip(*rows, strict=True)) or [[] for _ in parser.nothing]

    def _rows_checked(
        self, parser: "JsonPaths", fields: BatchFields, mask: Mask, cells: Sequence[bytes | None]
    ) -> list[Sequence[Any]]:
        """The cells of values some of which are null, or no JSON."""
        read, columns = parser.quick(cells), parser.cells
        rows: list[Sequence[Any]] = []
        for index, data in zip((n for n, wanted in enumerate(mask) if wanted), cells, strict=True):
            if data is None:
                rows.append(parser.nothing)
                continue
            try:
                rows.append(columns(read(data)))
            except _UNREADABLE:
                rows.append(self._row_checked(parser, fields, index, data))
        return rows

    def _row_checked(
        self, parser: "JsonPaths", fields: BatchFields, index: int, data: bytes
    ) -> Sequence[Any]:
        """For what a quick reader has rejected: it is stricter than JSON, or right."""
        try:
            return parser.checked(data)
        except RepeatedError as error:
            self.repeated += 1
            self._note(fields, index, str(error))
        except (ValueError, RecursionError):
            self.not_json += 1
            self._note(fields, index, "it is not JSON")
        return parser.nothing

    def _row_decoded(
        self, parser: "JsonPaths", decoded: DecodedField, fields: BatchFields, index: int
    ) -> Sequence[Any]:
        try:
            return parser.plain(decoded.value(fields, index))
        except DecodeError as error:
            self.undecoded += 1
            self._note(fields, index, str(error))
        data = fields.key(index) if decoded.part == "key" else fields.value(index)
        return [None if path else data for path in parser.paths]

    def _note(self, fields: BatchFields, index: int, why: str) -> None:
        self.first = self.first or f"{fields.tp}@{fields.offset(index)}: {why}"


class JsonPaths:
    """What ``paths`` lead to in JSON: ``cells`` of what a ``quick`` reader returns, ``plain`` of a whole value.

    ``every``: in what is at their ends no member may be repeated, because all of them are used.
    """

    def __init__(self, paths: Sequence[tuple[Step, ...]], *, every: bool = False) -> None:
        self.paths = paths
        self.nothing: Sequence[Any] = (None,) * len(paths)
        names = [_names(path) for path in paths]
        tree = tree_of(names)
        used = {name for path in paths for name in path if isinstance(name, str)}
        self._repeats = Repeats(tree, None if every else used)
        self._plain = [_follow(path) for path in paths]
        self._members = self._reader_of(tree)
        self._quick = self._plain
        if self._members is not None:
            inside = [self._members.reader(name) for name in names]
            rest = [_follow(path[len(name) :]) for path, name in zip(paths, names, strict=True)]
            self._quick = [chain(one, then) for one, then in zip(inside, rest, strict=True)]
        self._whole = self._members is None

    def quick(self, values: Sequence[bytes | None]) -> Decode:
        """A reader of these values; it raises ValueError for some that are JSON, too."""
        found = [value for value in values if value is not None]
        self._whole = self._members is None or not json_value.all_utf8(found)
        decode = json_value.decode if self._members is None or self._whole else self._members.decode
        return self._repeats.reader(found, decode)

    def columns(self, values: Sequence[bytes | None]) -> list[list[Any]] | None:
        """The cells of these values by path; None where some of them are null, or need a closer look."""
        if None in values:
            return None
        try:
            read = list(map(self.quick(values), values))  # type: ignore[arg-type]
        except _UNREADABLE:
            return None
        return [list(map(reader, read)) for reader in (self._plain if self._whole else self._quick)]

    def cells(self, read: Any) -> Sequence[Any]:
        """The cells of what the reader of ``quick`` has returned."""
        return [reader(read) for reader in (self._plain if self._whole else self._quick)]

    def plain(self, value: Any) -> Sequence[Any]:
        """The cells of a whole value."""
        return [reader(value) for reader in self._plain]

    def checked(self, data: bytes) -> Sequence[Any]:
        """The cells of JSON; ValueError or RecursionError for what is none, RepeatedError for what is ambiguous."""
        value = json_value.parse(data)
        self._repeats.check(data)
        return self.plain(value)

    @staticmethod
    def _reader_of(tree: json_value.Tree) -> Members | None:
        try:
            return Members(tree) if tree else None
        except ValueError:  # a name that the quick reader does not support
            return None


def _names(path: tuple[Step, ...]) -> tuple[str, ...]:
    """The names that ``path`` begins with, up to an index."""
    names: list[str] = []
    for step in path:
        if isinstance(step, int):
            break
        names.append(step)
    return tuple(names)


def _follow(path: tuple[Step, ...]) -> Read:
    if not path:
        return itself

    def follow(current: Any) -> Any:
        for step in path:
            if isinstance(step, int):
                within = isinstance(current, list) and -len(current) <= step < len(current)
                current = current[step] if within else None
            else:
                current = current.get(step) if isinstance(current, dict) else None
        return current

    return follow


def _times(stamps: Sequence[int], length: int | None) -> list[str | None]:
    """RFC 3339 in UTC, or its first ``length`` characters."""
    if length is None:
        texts = {stamp: rfc3339(stamp) for stamp in set(stamps)}
        return [texts[stamp] for stamp in stamps]
    hours: dict[int, str | None] = {}
    for hour in {stamp // _HOUR for stamp in stamps}:
        text = rfc3339(hour * _HOUR)
        hours[hour] = None if text is None else text[:length] + _ENDS[length]
    return [hours[stamp // _HOUR] for stamp in stamps]


def _shown(data: str | bytes | None) -> str | None:
    return data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
