"""``--where EXPR``: a JMESPath expression on a record whose value is JSON.

It applies to ``{key, value, headers, topic, partition, offset, timestamp}``: the value parsed, the last value of each
header name, bytes that are not UTF-8 as base64. A record is selected where the result is true by JMESPath's rules: not
null, false, or an empty text, list or object. A value that is not JSON does not match, and is counted, where the
expression uses it; nor does one with a member twice that the expression reads. With ``-s`` key and value are decoded by
their serdes, and a value that cannot be decoded does not match.

The expression is compiled (``expression``) and applied to rows of the fields that it uses: nothing else is decoded, of
JSON values only the members that it names.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Any

from jmespath.exceptions import JMESPathError, ParseError
from jmespath.lexer import Lexer
from jmespath.parser import ParsedResult, Parser

from kcli.core.errors import ConfigError
from kcli.flows.filters import json_value
from kcli.flows.filters.batch_fields import BatchFields
from kcli.flows.filters.decoded import DecodedField
from kcli.flows.filters.expression import Expression, Path, Reader, chain, fault_of, follow, itself
from kcli.flows.filters.grep import raw_name
from kcli.flows.filters.json_value import Members, RepeatedError, Repeats, Tree, tree_of
from kcli.flows.filters.selection import Mask, both
from kcli.serde.errors import DecodeError
from kcli.serde.json_text import json_integer, json_number

FIELDS = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
_VALUE_FIRST = ("value", *(name for name in FIELDS if name != "value"))
Judge = Callable[[Any], bool]
_LITERAL = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_UNREADABLE = (ValueError, RecursionError, DecodeError)


class Where:
    """``not_json`` counts the values that could not be parsed; ``failed`` results that are type errors.

    ``undecoded`` counts the values that the serde of ``value`` could not read; ``first`` is the error of the first one.
    ``repeated`` counts values with a member twice that the expression reads; ``first_repeated`` names the first one.
    """

    def __init__(self, text: str, key: DecodedField | None = None, value: DecodedField | None = None) -> None:
        """Raises ConfigError for invalid JMESPath."""
        expression = _parsed(text)
        self._errors = (TypeError, JMESPathError)
        self._key, self._value = key, value
        looked_at = {path[0] for path in expression.paths if path}
        if strange := sorted(looked_at.difference(FIELDS)):
            raise _no_field(text, strange[0])
        self._names = [name for name in _VALUE_FIRST if () in expression.paths or name in looked_at]
        self._judge = expression.predicate(_RowReader(self._names))
        tree = tree_of([path[1:] for path in expression.paths if path[:1] in ((), ("value",))])
        self._members = _members(tree) if value is None else None
        self._judge_members = self._judge
        if self._members is not None:
            self._judge_members = expression.predicate(_RowReader(self._names, self._members))
        self._repeats = Repeats(tree, None if expression.reads_objects else expression.names)
        self.not_json = self.undecoded = self.repeated = 0
        self.first = self.first_repeated = ""
        self.failed = 0

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
        hits, errors = Mask(), self._errors
        add = hits.append
        for index, row in zip(indices, rows, strict=False):
            try:
                seen = read(row)
            except _UNREADABLE:
                add(self._wants(fields, index))
                continue
            try:
                add(judge(seen))
            except errors:
                self.failed += 1
                add(False)
        return hits

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
            return False
        try:
            return self._judge(row[0] if len(row) == 1 else row)
        except self._errors:
            self.failed += 1
            return False

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


class _Lexer(Lexer):  # type: ignore[misc]
    """Literals without loss: ``jmespath`` rounds their numbers."""

    def _consume_literal(self) -> dict[str, Any]:
        found = _LITERAL.match(self._expression, self._position)
        token: dict[str, Any] = super()._consume_literal()
        assert found is not None  # otherwise it is not closed, which is an error
        try:
            text = found[1].replace("\\`", "`")
            return {**token, "value": json.loads(text, parse_int=json_integer, parse_float=json_number)}
        except ValueError:  # what jmespath accepts beyond JSON
            return token


class _Parser(Parser):  # type: ignore[misc]
    """jmespath's, with that lexer, and a cache of its own."""

    _CACHE: dict[str, ParsedResult] = {}  # noqa: RUF012 - so is its name

    def _parse(self, expression: str) -> ParsedResult:
        self._tokens = list(_Lexer().tokenize(expression))
        self._index = 0
        parsed = self._expression(binding_power=0)
        if self._current_token() != "eof":
            rest = self._lookahead_token(0)
            raise ParseError(rest["start"], rest["value"], rest["type"], f"Unexpected token: {rest['value']}")
        return ParsedResult(expression, parsed)


def _parsed(text: str) -> Expression:
    try:
        parsed = _Parser().parse(text).parsed
        fault = fault_of(parsed)
        if fault:
            raise _no_expression(text, fault)
        return Expression(parsed)
    except JMESPathError as error:
        raise _no_expression(text, " ".join(str(error).split())) from None
    except RecursionError:
        raise _no_expression(text, "it is nested too deeply") from None


def _no_expression(text: str, why: str) -> ConfigError:
    return ConfigError(
        f"--where {text!r} is not a JMESPath expression",
        why=why,
        do="as in --where 'value.status == `500` && key'; see jmespath.org",
    )


def _no_field(text: str, name: str) -> ConfigError:
    """The error for an unknown field, which would be null for every record."""
    return ConfigError(
        f"--where {text!r}: a record has no field {name!r}",
        why=f"its fields are {', '.join(FIELDS)}",
        do=f"a member of a JSON value is value.{name}",
    )


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
