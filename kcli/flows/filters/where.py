"""``--where EXPR``: an expression (``grammar``) on a record whose value is JSON.

It applies to ``{key, value, headers, topic, partition, offset, timestamp}``: the value parsed, the last value of each
header name, bytes that are not UTF-8 as base64. A record is selected where the result is true by JMESPath's rules: not
null, false, or an empty text, list or object. A value that is not JSON does not match, and is counted, where the
expression uses it; nor does one with a member twice that the expression reads. With ``-s`` key and value are decoded by
their serdes, and a value that cannot be decoded does not match.

The expression is compiled (``expression``) and applied to rows of the fields that it uses: nothing else is decoded, of
JSON values only the members that it names.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Any

from jmespath.exceptions import JMESPathError

from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError
from kcli.core.positions import read_instant
from kcli.flows.filters import json_value
from kcli.flows.filters.decoded import DecodedField
from kcli.flows.filters.expression import Expression, Path, Reader, UnlikeError, chain, follow, itself
from kcli.flows.filters.grammar import NUMBER, TEXT, Parsed, parse
from kcli.flows.filters.grep import raw_name
from kcli.flows.filters.json_value import Members, RepeatedError, Repeats, Tree, tree_of
from kcli.flows.filters.selection import BatchFields, Mask, both
from kcli.flows.filters.tokens import WhereError
from kcli.serde.errors import DecodeError

_TYPES: Mapping[str, str | None] = {
    "key": TEXT,  # without a serde
    "value": None,
    "headers": None,
    "topic": TEXT,
    "partition": NUMBER,
    "offset": NUMBER,
    "timestamp": NUMBER,
}
FIELDS = tuple(_TYPES)
_HELP = "as in --where 'value.status == 500 and key'; `kcli help filters` has more"
_VALUE_FIRST = ("value", *(name for name in FIELDS if name != "value"))
PLACES = 3
"""How many values that are not JSON are named."""
_SKIPS, _NEVER_EQUAL = "--where skips {}", "--where: {}, and they are never equal"
Judge = Callable[[Any], bool]
_UNREADABLE = (ValueError, RecursionError, DecodeError)


class Where:
    """``not_json`` counts the values that could not be parsed, ``failed`` the records for which the result is an error,
    ``unlike`` those in which a number was compared with text for equality; ``failure`` and ``unlikeness`` are the first
    of each. ``unread`` has the first places with a value that is not JSON.

    ``undecoded`` counts the values that the serde of ``value`` could not read; ``first`` is the error of the first one.
    ``repeated`` counts values with a member twice that the expression reads; ``first_repeated`` names the first one.
    ``notes`` are about the expression itself, ``paths`` the members of a record that it uses.
    """

    def __init__(
        self,
        text: str,
        key: DecodedField | None = None,
        value: DecodedField | None = None,
        *,
        now_ms: int | None = None,
        tz: tzinfo | None = None,
        warn: Callable[[str], object] = str,
    ) -> None:
        """Raises ConfigError for an invalid expression. ``warn`` is given the first error of each kind at once."""
        types = _TYPES if key is None else {**_TYPES, "key": None}
        now = wall_ms() if now_ms is None else now_ms
        notes: list[str] = []

        def instant(said: str) -> int:
            ms, note = read_instant(said, now, tz)
            notes.extend(filter(None, (note,)))
            return ms

        parsed = _parsed(text, types, instant)
        self.notes = (*parsed.notes, *notes)
        expression = Expression(parsed.tree)
        self.paths = expression.paths
        self._errors = (TypeError, JMESPathError)
        self._key, self._value, self._warn = key, value, warn
        self._unlike: list[UnlikeError] = []
        looked_at = {path[0] for path in expression.paths if path}
        self._names = [name for name in _VALUE_FIRST if () in expression.paths or name in looked_at]
        self._judge = expression.predicate(_RowReader(self._names), self._differ)
        tree = tree_of([path[1:] for path in expression.paths if path[:1] in ((), ("value",))])
        self._members = _members(tree) if value is None else None
        self._judge_members = self._judge
        if self._members is not None:
            self._judge_members = expression.predicate(_RowReader(self._names, self._members), self._differ)
        self._repeats = Repeats(tree, None if expression.reads_objects else expression.names)
        self.not_json = self.undecoded = self.repeated = self.failed = self.unlike = 0
        self.first = self.first_repeated = self.failure = self.unlikeness = ""
        self.unread: list[str] = []

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        if 0 not in mask:
            return both(mask, self._hits(fields, mask, range(len(mask))))
        indices = [index for index, wanted in enumerate(mask) if wanted]
        spread = Mask(len(mask))
        for index, hit in zip(indices, self._hits(fields, mask, indices), strict=True):
            spread[index] = hit
        return both(mask, spread)

    def _hits(self, fields: BatchFields, mask: Mask, indices: Sequence[int]) -> Mask:
        """A byte for each of the records ``indices``, which are those with a 1 in ``mask``."""
        names, judge = self._names, self._judge
        read: Reader = itself
        columns = [self._column(name, fields, mask, indices) for name in names if name != "value"]
        if "value" in names:
            values, read, judge = self._values(fields, mask, indices)
            columns.insert(0, values)
        if not columns:
            return self._judged(fields, indices, repeat(None), itself, judge)
        if len(columns) == 1:
            return self._judged(fields, indices, columns[0], read, judge)
        rows = zip(*columns, strict=False)  # some columns repeat one value endlessly
        return self._judged(fields, indices, rows, _of_first(read, len(columns)), judge)

    def _judged(
        self, fields: BatchFields, indices: Sequence[int], rows: Iterable[Any], read: Reader, judge: Judge
    ) -> Mask:
        hits, errors, unlike = Mask(), self._errors, self._unlike
        add = hits.append
        for index, row in zip(indices, rows, strict=False):
            try:
                seen = read(row)
            except _UNREADABLE:
                add(self._wants(fields, index))
                continue
            try:
                add(judge(seen))
            except errors as error:
                add(self._fails(fields, index, error))
            if unlike:
                self._report_unlike(fields, index)
        return hits

    def be_silent(self) -> None:
        """Warns of nothing: it works in a process, and who adds its findings warns of them."""
        self._warn = str

    def warn_since(self, failure: str, unlikeness: str) -> None:
        """Warns of what was added to the findings, which had these firsts before."""
        for before, now, text in (
            (failure, self.failure, _SKIPS),
            (unlikeness, self.unlikeness, _NEVER_EQUAL),
        ):
            if now and not before:
                self._warn(text.format(now))

    # --- many records ------------------------------------------------------------------------------

    def _values(
        self, fields: BatchFields, mask: Mask, indices: Sequence[int]
    ) -> tuple[Iterable[Any], Reader, Judge]:
        """The input for each record, its reader, and the predicate for the result."""
        if self._value is not None:
            return indices, partial(self._value.value, fields), self._judge
        if self._members is not None:
            # Every member of null is null, as of an empty object.
            values = fields.parts(mask, b"{}", in_key=False)
            if json_value.all_utf8(values):
                return values, self._repeats.reader(values, self._members.decode), self._judge_members
            return values, self._repeats.reader(values, json_value.decode), self._judge
        values = fields.parts(mask, b"null", in_key=False)
        return values, self._repeats.reader(values, json_value.decode), self._judge

    def _column(self, name: str, fields: BatchFields, mask: Mask, indices: Sequence[int]) -> Iterable[Any]:
        match name:
            case "topic" | "partition":
                return repeat(getattr(fields.tp, name))
            case "key" if self._key is None:
                return map(_text, fields.parts(mask, None, in_key=True))
            case "offset":
                return fields.offsets(mask)
            case "timestamp":
                return fields.timestamps(mask)
            case "headers" if not any(fields.columns.header_counts):
                return repeat({})
            case _:
                return [self._cell(name, fields, index) for index in indices]

    # --- one record --------------------------------------------------------------------------------

    def _wants(self, fields: BatchFields, index: int) -> bool:
        """For a record whose value was rejected: by a reader that is stricter than JSON, or rightly."""
        try:
            row = [self._cell(name, fields, index) for name in self._names]
        except DecodeError as error:
            self.undecoded += 1
            self.first = self.first or f"{fields.tp}@{fields.offset(index)}: {error}"
            return False
        except RepeatedError as error:
            self.repeated += 1
            self.first_repeated = self.first_repeated or f"{fields.tp}@{fields.offset(index)}: {error}"
            return False
        except (ValueError, RecursionError):
            self.not_json += 1
            if self.not_json <= PLACES:
                self.unread.append(f"{fields.tp}@{fields.offset(index)}")
            return False
        try:
            hit = self._judge(row[0] if len(row) == 1 else row)
        except self._errors as error:
            hit = self._fails(fields, index, error)
        if self._unlike:
            self._report_unlike(fields, index)
        return hit

    def _differ(self, unlike: UnlikeError) -> bool:
        self._unlike.append(unlike)
        return False

    def _fails(self, fields: BatchFields, index: int, error: Exception) -> bool:
        """Counts a record for which the expression is an error."""
        if not self.failed:
            self.failure = f"{fields.tp}@{fields.offset(index)}: {' '.join(str(error).split())}"
            self._warn(_SKIPS.format(self.failure))
        self.failed += 1
        self._unlike.clear()
        return False

    def _report_unlike(self, fields: BatchFields, index: int) -> None:
        """Counts a record in which a number was compared with text: neither equal nor an error."""
        if not self.unlike:
            self.unlikeness = f"{fields.tp}@{fields.offset(index)}: {self._unlike[0]}"
            self._warn(_NEVER_EQUAL.format(self.unlikeness))
        self.unlike += 1
        self._unlike.clear()

    def _cell(self, name: str, fields: BatchFields, index: int) -> Any:
        """One field of one record; errors concern its value."""
        match name:
            case "value":
                return self._value_of(fields, index)
            case "key":
                return self._key_of(fields, index)
            case "headers":
                return {_text(raw_name(one)): _text(held) for one, held in fields.headers(index)}
            case "offset":
                return fields.offset(index)
            case "timestamp":
                return fields.timestamp(index)
            case _:
                return getattr(fields.tp, name)

    def _value_of(self, fields: BatchFields, index: int) -> Any:
        if self._value is not None:
            return self._value.value(fields, index)
        data = fields.value(index)
        if data is None:
            return None
        value = json_value.parse(data)
        self._repeats.check(data)
        return value

    def _key_of(self, fields: BatchFields, index: int) -> Any:
        if self._key is not None:
            try:
                return self._key.value(fields, index)
            except DecodeError:
                pass
        return _text(fields.key(index))


class _RowReader:
    """Readers for rows of the fields ``names``: a single field is itself the row, else the row is a sequence of them."""

    def __init__(self, names: Sequence[str], members: Members | None = None) -> None:
        self._names = list(names)
        self._members = members

    def __call__(self, path: Path) -> Reader:
        """See Resolve."""
        if not path:
            at = {name: self._names.index(name) for name in FIELDS}
            return lambda row: {name: row[index] for name, index in at.items()}
        name, *rest = path
        if name not in self._names:
            return lambda _row: None
        cell: Reader = itself if len(self._names) == 1 else itemgetter(self._names.index(name))
        inside = self._members.reader if self._members is not None and name == "value" else follow
        return chain(cell, inside(tuple(rest)))


def _parsed(text: str, types: Mapping[str, str | None], instant: Callable[[str], int]) -> Parsed:
    try:
        return parse(text, types, instant)
    except WhereError as error:
        raise ConfigError(
            f"--where {text!r} is not valid at column {error.column}", why=error.why, do=error.do or _HELP
        ) from None
    except RecursionError:
        raise ConfigError(f"--where {text!r} is not valid", why="it is nested too deeply", do=_HELP) from None


def _members(tree: Tree) -> Members | None:
    """The needed members of values; None where the whole value is needed, or none."""
    try:
        return Members(tree) if tree else None
    except ValueError:  # an unsupported name
        return None


def _of_first(read: Reader, width: int) -> Reader:
    """``read`` for the first field of a row of ``width``."""
    if read is itself:
        return itself
    if width == 2:
        return lambda row: (read(row[0]), row[1])
    return lambda row: (read(row[0]), *row[1:])


def _text(data: bytes | None) -> str | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return b64encode(data).decode()
