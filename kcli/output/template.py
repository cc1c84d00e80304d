r"""The ``-f`` format: text with verbs, parsed once into a render program.

Verbs of kcl and of kcat, where they differ kcat's: ``%t`` topic, ``%p`` partition, ``%o`` offset, ``%k`` key,
``%v`` ``%s`` value, ``%K`` ``%V`` ``%S`` lengths of key and value (−1 for null), ``%R`` the value's length as
four big-endian bytes, ``%T`` ``%d`` timestamp in ms, ``%T{iso}`` and ``%d{strftime[…]}`` the time in UTC, ``%h``
headers as ``n=v,…``, ``%h{NAME}`` the last value of that name, ``%h{…}`` with ``%k`` and ``%v`` each header, ``%H`` their
number, ``%e`` leader epoch, ``%x`` producer id, ``%y`` producer epoch, ``%{deliveries}`` how often a share group has
delivered the record, ``%%``. ``%k``, ``%v`` and ``%s`` take
``{base64}``, ``{hex}``, ``{json}``, and ``{.a.b}`` for a member of JSON.
Escapes ``\n \r \t \\ \xNN``. No newline is added.

``RECORD`` is such a program, too: a record as JSON, as ``consume -o ndjson`` writes and ``produce -i ndjson`` reads it.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from kcli.core.classes import NamedTuple
from kcli.core.consumer.fetched import FetchedBatch
from kcli.core.kernels import render_ops as op
from kcli.core.kernels.active import decode_headers
from kcli.core.kernels.render_ops import Op, Program
from kcli.core.kernels.shapes import Columns
from kcli.core.types import TopicPartition


class Wanted(NamedTuple):
    """A batch that is being rendered, and which of its records are: see ``render_records``."""

    fetched: FetchedBatch
    columns: Columns
    limit: int | None = None
    selected: bytes | bytearray = b""

    def indexes(self) -> Iterator[int]:
        """The indexes of the records that are written, in order."""
        fetched, selected, left = self.fetched, self.selected, self.limit
        base = fetched.batch.base_offset
        for index, delta in enumerate(self.columns.offset_deltas):
            if fetched.first <= base + delta < fetched.stop and (not selected or selected[index]):
                if left is not None:
                    if left <= 0:
                        return
                    left -= 1
                yield index


Extra = Callable[[Wanted], Sequence[bytes | None]]
"""A column that only Python can compute, an entry per record of the batch; those that are not written do not count."""

Member = Callable[[str], Extra]
"""Of ``value.a.b``: what is there, as text. Raises TemplateError for what is no path."""

TOPIC, PARTITION, BROKER, DELIVERIES = "topic", "partition", "broker", "deliveries"
Part = Op | str
"""An operation, or topic, partition, broker, delivery count: literals as soon as it is known what is read."""


class TemplateError(ValueError):
    """The format has a verb or an escape that does not exist; names it."""


class Template:
    """``parts`` are the operations of the format, for ``bind``; ``extras`` the columns it needs.

    ``has_verbs``: whether it prints anything of a record.
    """

    def __init__(self, text: str, *, null: bytes = b"", member: Member | None = None) -> None:
        """``member`` makes the column of a path within key or value."""
        self._null, self._member = null, member
        self.extras: list[Extra] = []
        self.parts = self._parse(text, self._record_verb)
        self.has_verbs = _has_verbs(self.parts)

    # --- parsing -------------------------------------------------------------------------------------

    def _parse(self, text: str, operation: Callable[[str, str | None, str], Part]) -> list[Part]:
        parts: list[Part] = []
        literal = bytearray()
        pos = 0

        def flush() -> None:
            if literal:
                parts.append((op.LITERAL, bytes(literal)))
                literal.clear()

        while pos < len(text):
            char = text[pos]
            if char == "\\":
                data, pos = _escape(text, pos)
                literal += data
            elif char == "%":
                verb, argument, end = _verb(text, pos)
                if verb == "%":
                    literal += b"%"
                else:
                    flush()
                    parts.append(operation(verb, argument, text[pos:end]))
                pos = end
            else:
                literal += char.encode("utf-8", "surrogateescape")
                pos += 1
        flush()
        return parts

    def _record_verb(self, verb: str, argument: str | None, said: str) -> Part:
        if verb == "" and argument == DELIVERIES:
            return DELIVERIES
        if verb == "":
            raise TemplateError(f"there is no verb {said!r}; there are {_VERBS}")
        if verb == "h" and argument is not None:
            inner = self._parse(argument, self._header_verb)
            if not inner:
                raise TemplateError(f"{said!r} names no header: write %h{{NAME}}, or %h{{%k=%v }} for each")
            if not _has_verbs(inner):
                (name,) = bind(inner, TopicPartition("", -1))
                self.extras.append(_header_value(bytes(name[1]), self._null))  # type: ignore[arg-type]
                return (op.EXTRA, len(self.extras) - 1)
            return (op.HEADERS, op.HEADERS_EACH, bind(inner, TopicPartition("", -1)))
        if verb in "Td" and argument == "iso":
            return (op.TIME, b"", b"", self._null)
        if verb in "kvs" and argument is not None and argument[:1] in (".", "[") and self._member is not None:
            self.extras.append(self._member(("key" if verb == "k" else "value") + argument))
            return (op.EXTRA, len(self.extras) - 1)
        if verb == "d" and argument is not None:
            self.extras.append(_strftime(argument, said))
            return (op.EXTRA, len(self.extras) - 1)
        return self._header_verb(verb, argument, said, _SIMPLE)

    def _header_verb(
        self, verb: str, argument: str | None, said: str, simple: dict[str, Part] | None = None
    ) -> Part:
        """A verb that is also allowed within ``%h{…}``."""
        if verb in "kvs":
            field = op.KEY if verb == "k" else op.VALUE
            return (op.BYTES, field, _encoding(argument, said), self._null, b"")
        found = _OF_FIELDS.get(verb) or (simple or {}).get(verb)
        if found is None and simple is None and verb in _SIMPLE:
            raise TemplateError(f"{said!r} is not for headers: %h{{…}} may contain %k, %v and lengths")
        if found is None:
            raise TemplateError(f"there is no verb {said!r}; there are {_VERBS}")
        if argument is not None:
            raise TemplateError(f"%{verb} accepts nothing in braces: {said!r}")
        return found


def bind(parts: Sequence[Part], tp: TopicPartition, broker: int = -1, deliveries: int = 0) -> Program:
    """The program of a partition that ``broker`` leads; literals that meet become one."""
    said = {TOPIC: tp.topic, PARTITION: str(tp.partition), BROKER: str(broker), DELIVERIES: str(deliveries)}
    program: list[Op] = []
    for part in parts:
        one: Op = (op.LITERAL, said[part].encode()) if isinstance(part, str) else part
        before = program[-1] if program else ()
        if one[0] == op.LITERAL and before[:1] == (op.LITERAL,):
            program[-1] = (op.LITERAL, before[1] + one[1])  # type: ignore[operator]
        else:
            program.append(one)
    return tuple(program)


def _has_verbs(parts: Sequence[Part]) -> bool:
    return any(isinstance(part, str) or part[0] != op.LITERAL for part in parts)


_OF_FIELDS: dict[str, Part] = {
    "K": (op.NUMBER, op.KEY_LENGTH),
    "V": (op.NUMBER, op.VALUE_LENGTH),
    "S": (op.NUMBER, op.VALUE_LENGTH),
    "R": (op.LENGTH, op.VALUE),
}
_SIMPLE: dict[str, Part] = {
    "t": TOPIC,
    "p": PARTITION,
    "o": (op.NUMBER, op.OFFSET),
    "T": (op.NUMBER, op.TIMESTAMP),
    "d": (op.NUMBER, op.TIMESTAMP),
    "h": (op.HEADERS, op.HEADERS_TEXT),
    "H": (op.NUMBER, op.HEADER_COUNT),
    "e": (op.NUMBER, op.LEADER_EPOCH),
    "x": (op.NUMBER, op.PRODUCER_ID),
    "y": (op.NUMBER, op.PRODUCER_EPOCH),
}
_VERBS = "%t %p %o %k %v %s %K %V %S %R %T %d %h %H %e %x %y %{deliveries} %%"


def _verb(text: str, pos: int) -> tuple[str, str | None, int]:
    """The verb at ``pos``, its argument in braces, and where it ends. Brackets protect braces inside."""
    if pos + 1 >= len(text):
        raise TemplateError("the format ends with a single %; write %% for a percent sign")
    verb, end = text[pos + 1], pos + 2
    if verb == "{":  # a verb that is a word
        verb, end = "", pos + 1
    if end < len(text) and text[end] == "{":
        depth, close = 0, end
        while close < len(text):
            depth += {"{": 1, "}": -1}.get(text[close], 0)
            if depth == 0:
                return verb, text[end + 1 : close], close + 1
            close += 1
        raise TemplateError(f"the brace after %{verb} is not closed")
    return verb, None, end


_HEX = frozenset("0123456789abcdefABCDEF")
_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}


def _escape(text: str, pos: int) -> tuple[bytes, int]:
    following = text[pos + 1 : pos + 2]
    if following in _ESCAPES and following:
        return _ESCAPES[following], pos + 2
    digits = text[pos + 2 : pos + 4]
    if following == "x" and len(digits) == 2 and set(digits) <= _HEX:
        return bytes([int(digits, 16)]), pos + 4
    raise TemplateError(f"there is no escape '{text[pos : pos + 2]}'; there are \\n \\r \\t \\\\ \\xNN")


_ENCODINGS = {None: op.RAW, "hex": op.HEX, "base64": op.BASE64, "json": op.JSON_ESCAPED}


def _encoding(argument: str | None, said: str) -> int:
    form = _ENCODINGS.get(argument)
    if form is None:
        raise TemplateError(f"{said!r}: there are base64, hex, json, and paths such as .a.b")
    return form


def _header_value(name: bytes, null: bytes) -> Extra:
    """The last header of that name, as ``--where`` sees it; nothing where there is none."""

    def column(wanted: Wanted) -> list[bytes]:
        batch, columns = wanted.fetched.batch, wanted.columns
        data, found = bytes(batch.payload()), [b""] * len(columns.offset_deltas)
        for index in wanted.indexes():
            if not batch.is_control and columns.header_counts[index]:
                held = decode_headers(data, columns.header_starts[index], columns.header_ends[index])
                for own, value in held:
                    if (own.encode() if isinstance(own, str) else own) == name:
                        found[index] = null if value is None else value
        return found

    return column


def _strftime(argument: str, said: str) -> Extra:
    if not (argument.startswith("strftime[") and argument.endswith("]")):
        raise TemplateError(f"{said!r}: write %d{{strftime[%Y-%m-%d %H:%M:%S]}}, or %T{{iso}}")
    pattern = argument[len("strftime[") : -1]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)

    def text(stamp: int) -> bytes:
        try:
            shown = (epoch + timedelta(milliseconds=stamp)).strftime(pattern) if stamp >= 0 else ""
            return shown.encode()
        except (OverflowError, ValueError):
            return b"%d" % stamp  # a time or a text that no calendar can write: the number itself

    def column(wanted: Wanted) -> list[bytes]:
        batch, columns = wanted.fetched.batch, wanted.columns
        if batch.timestamp_type == 1:
            return [text(batch.max_timestamp)] * len(columns.timestamp_deltas)
        return [text(batch.base_timestamp + delta) for delta in columns.timestamp_deltas]

    return column


RECORD: tuple[Part, ...] = (
    (op.LITERAL, b'{"topic":"'),
    TOPIC,
    (op.LITERAL, b'","partition":'),
    PARTITION,
    (op.LITERAL, b',"offset":'),
    (op.NUMBER, op.OFFSET),
    (op.LITERAL, b',"timestamp":'),
    (op.NUMBER, op.TIMESTAMP, b"null"),
    (op.LITERAL, b',"timestamp_type":'),
    (op.TIMESTAMP_TYPE, b"null", b'"CreateTime"', b'"LogAppendTime"'),
    (op.LITERAL, b',"time":'),
    (op.TIME, b'"', b'"', b"null"),
    (op.LITERAL, b',"key":'),
    (op.BYTES, op.KEY, op.JSON, b"null", b',"key_encoding":"base64"'),
    (op.LITERAL, b',"value":'),
    (op.BYTES, op.VALUE, op.JSON, b"null", b',"value_encoding":"base64"'),
    (op.LITERAL, b',"headers":'),
    (op.HEADERS, op.HEADERS_JSON),
    (op.LITERAL, b',"leader_epoch":'),
    (op.NUMBER, op.LEADER_EPOCH, b"null"),
)
"""All but the closing brace: the marker of a transaction has one more field."""


OF_SHARE_GROUPS: tuple[Part, ...] = ((op.LITERAL, b',"delivery_count":'), DELIVERIES)
"""What a share group adds to a record, before the closing brace."""


def closing(marker: str | None) -> tuple[Part, ...]:
    """What ends the object; ``marker`` is COMMIT or ABORT where it is no record but the end of a transaction."""
    return ((op.LITERAL, b"}" if marker is None else b',"control":"%b"}' % marker.encode()),)


def rfc3339(timestamp: int) -> str | None:
    """A timestamp in ms as UTC with milliseconds; None for −1 and for what no calendar has."""
    if timestamp < 0:
        return None
    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp)
    except OverflowError:
        return None
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{timestamp % 1000:03d}Z"
