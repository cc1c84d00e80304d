r"""The ``-f`` format: text with verbs, parsed once into pieces, run for each record.

Verbs of kcl and of kcat, where they differ kcat's: ``%t`` topic, ``%p`` partition, ``%o`` offset, ``%k`` key,
``%v`` ``%s`` value, ``%K`` ``%V`` their lengths, ``%S`` the value's length (−1 for null), ``%R`` that length as
four big-endian bytes, ``%T`` ``%d`` timestamp in ms, ``%d{strftime[…]}`` the time in UTC, ``%h`` headers as
``n=v,…``, ``%h{…}`` each header with ``%k`` and ``%v``, ``%H`` their number, ``%e`` leader epoch, ``%x``
producer id, ``%y`` producer epoch, ``%%``. ``%k``, ``%v`` and ``%s`` take ``{base64}``, ``{hex}``, ``{json}``.
Escapes ``\n \r \t \\ \xNN``. No newline is added.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kcli.core.types import Header, Record


@dataclass(frozen=True, slots=True)
class Source:
    """A record with what only its batch knows."""

    record: Record
    producer_id: int = -1
    producer_epoch: int = -1


Piece = Callable[[Source], bytes]


class TemplateError(ValueError):
    """The format has a verb or an escape that does not exist; says where."""


class Template:
    """``render(source)`` gives the bytes of one record."""

    def __init__(self, text: str, *, null: bytes = b"") -> None:
        self._null = null
        self._pieces = self._parse(text)

    def render(self, source: Source) -> bytes:
        """The record as the format says."""
        return b"".join([piece(source) for piece in self._pieces])

    # --- parsing -------------------------------------------------------------------------------------

    def _parse(self, text: str) -> list[Piece]:
        pieces: list[Piece] = []
        literal = bytearray()
        pos = 0

        def flush() -> None:
            if literal:
                pieces.append(_constant(bytes(literal)))
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
                    pieces.append(self._piece(verb, argument, text[pos:end]))
                pos = end
            else:
                literal += char.encode("utf-8", "surrogateescape")
                pos += 1
        flush()
        return pieces

    def _piece(self, verb: str, argument: str | None, said: str) -> Piece:
        null = self._null
        if verb in "kvs":
            encode = _encoding(argument, said)
            name = "key" if verb == "k" else "value"
            return lambda s: encode(data) if (data := getattr(s.record, name)) is not None else null
        if verb == "h" and argument is not None:
            inner = _HeaderTemplate(argument, null)
            return lambda s: b"".join([inner.render(name, value) for name, value in s.record.headers])
        if verb == "d" and argument is not None:
            return _strftime(argument, said)
        simple = _SIMPLE.get(verb)
        if simple is None:
            raise TemplateError(f"there is no verb {said!r}")
        if argument is not None:
            raise TemplateError(f"%{verb} takes nothing in braces: {said!r}")
        return simple


class _HeaderTemplate:
    """The inside of ``%h{…}``: ``%k`` and ``%v`` are the header's name and value."""

    def __init__(self, text: str, null: bytes) -> None:
        self._template = Template(text, null=null)

    def render(self, name: str | bytes, value: bytes | None) -> bytes:
        record = Record("", -1, -1, -1, -1, _name_bytes(name), value)
        return self._template.render(Source(record))


def _constant(data: bytes) -> Piece:
    return lambda _source: data


def _verb(text: str, pos: int) -> tuple[str, str | None, int]:
    """The verb at ``pos``, what stands in its braces, and where it ends. Brackets protect braces inside."""
    if pos + 1 >= len(text):
        raise TemplateError("the format ends with a single %; write %% for a percent sign")
    verb, end = text[pos + 1], pos + 2
    if end < len(text) and text[end] == "{":
        depth, close = 0, end
        while close < len(text):
            depth += {"{": 1, "}": -1}.get(text[close], 0)
            if depth == 0:
                return verb, text[end + 1 : close], close + 1
            close += 1
        raise TemplateError(f"the brace behind %{verb} is not closed")
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
    raise TemplateError(f"there is no escape {text[pos : pos + 4]!r}; there are \\n \\r \\t \\\\ \\xNN")


def _encoding(argument: str | None, said: str) -> Callable[[bytes], bytes]:
    if argument is None:
        return bytes
    if argument == "hex":
        return lambda data: data.hex().encode()
    if argument == "base64":
        import base64

        return base64.b64encode
    if argument == "json":
        import json

        return lambda data: json.dumps(data.decode("utf-8", "backslashreplace"), ensure_ascii=False).encode()
    raise TemplateError(f"{said!r}: there are the encodings base64, hex and json")


def _strftime(argument: str, said: str) -> Piece:
    if not (argument.startswith("strftime[") and argument.endswith("]")):
        raise TemplateError(f"{said!r}: write %d{{strftime[%Y-%m-%d %H:%M:%S]}}")
    pattern = argument[len("strftime[") : -1]
    from datetime import UTC, datetime, timedelta

    epoch = datetime(1970, 1, 1, tzinfo=UTC)

    def render(source: Source) -> bytes:
        stamp = source.record.timestamp
        try:
            text = (epoch + timedelta(milliseconds=stamp)).strftime(pattern) if stamp >= 0 else ""
            return text.encode()
        except (OverflowError, ValueError):
            return _number(stamp)  # a time or a text that no calendar can write: the number itself

    return render


def _name_bytes(name: str | bytes) -> bytes:
    return name.encode() if isinstance(name, str) else name


def _number(value: int) -> bytes:
    return b"%d" % value


def _length(data: bytes | None) -> int:
    return len(data) if data is not None else 0


def _kcat_length(data: bytes | None) -> int:
    return len(data) if data is not None else -1


def _kcat_headers(headers: tuple[Header, ...]) -> bytes:
    return b",".join(
        [_name_bytes(name) + b"=" + (b"NULL" if value is None else value) for name, value in headers]
    )


_SIMPLE: dict[str, Piece] = {
    "t": lambda s: s.record.topic.encode(),
    "p": lambda s: _number(s.record.partition),
    "o": lambda s: _number(s.record.offset),
    "K": lambda s: _number(_length(s.record.key)),
    "V": lambda s: _number(_length(s.record.value)),
    "S": lambda s: _number(_kcat_length(s.record.value)),
    "R": lambda s: _kcat_length(s.record.value).to_bytes(4, "big", signed=True),
    "T": lambda s: _number(s.record.timestamp),
    "d": lambda s: _number(s.record.timestamp),
    "h": lambda s: _kcat_headers(s.record.headers),
    "H": lambda s: _number(len(s.record.headers)),
    "e": lambda s: _number(s.record.leader_epoch),
    "x": lambda s: _number(s.producer_id),
    "y": lambda s: _number(s.producer_epoch),
}
