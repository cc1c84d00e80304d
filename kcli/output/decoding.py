"""The narrow place for serdes: keys and values that are decoded before they are shown, in whatever format.

A decoder gets the bytes of a key or value with the record's headers and gives something that JSON can write. What it
cannot decode keeps its bytes, is shown as without a decoder, and is counted. Nulls are not decoded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kcli.core.records import render_ops as op
from kcli.core.records.kernels import Columns, decode_headers
from kcli.core.records.render_ops import Op
from kcli.core.records.view import BatchView
from kcli.core.types import Header
from kcli.output.template import Extra, Part

Headers = tuple[Header, ...]
Decoded = tuple[Any] | None
"""What was decoded; None where it was not."""


class Decoder(Protocol):
    """A serde, reading. ``name`` is what ``value_encoding`` says of what it has decoded."""

    name: str

    def __call__(self, data: bytes, headers: Headers) -> Any:
        """Something that JSON can write; ValueError where the bytes are not what the decoder reads."""


@dataclass(slots=True)
class Decoders:
    """For key and value, each optional. ``failed`` counts what could not be decoded."""

    key: Decoder | None = None
    value: Decoder | None = None
    failed: int = field(default=0, init=False)
    _last: dict[int, tuple[BatchView, list[Decoded]]] = field(default_factory=dict, init=False)

    def of(self, which: int) -> Decoder | None:
        """The one for ``render_ops.KEY`` or ``VALUE``."""
        return self.key if which == op.KEY else self.value

    def text(self, which: int, data: bytes | None, headers: Headers) -> bytes | None:
        """A text as it is, anything else as JSON; None: not decoded."""
        made = self._made(which, data, headers)
        return None if made is None else as_text(made[0])

    def columns(self, parts: Sequence[Part], extras: list[Extra]) -> list[Part]:
        """The parts with decoded keys and values, where there is a decoder for them; their columns join ``extras``."""
        return [self._decoded(part, extras) if isinstance(part, tuple) else part for part in parts]

    # --- inside ------------------------------------------------------------------------------------

    def _decoded(self, part: Op, extras: list[Extra]) -> Op:
        if part[0] != op.BYTES or not isinstance(part[1], int):
            return part
        decoder = self.of(part[1])
        write = _writer(part, decoder.name) if decoder is not None else None
        if write is None:
            return part
        extras.append(self._column(part[1], write))
        return (op.EXTRA, len(extras) - 1, part)

    def _column(self, which: int, write: Callable[[Any], bytes]) -> Extra:
        def column(batch: BatchView, columns: Columns) -> list[bytes | None]:
            return [None if made is None else write(made[0]) for made in self._all(which, batch, columns)]

        return column

    def _all(self, which: int, batch: BatchView, columns: Columns) -> list[Decoded]:
        """All of a batch; several columns may want it, and each record is decoded, and counted, once."""
        known = self._last.get(which)
        if known is not None and known[0] is batch:
            return known[1]
        data = bytes(batch.payload())
        key = which == op.KEY
        starts, ends = (
            (columns.key_starts, columns.key_ends) if key else (columns.value_starts, columns.value_ends)
        )
        headers = zip(columns.header_starts, columns.header_ends, strict=True)
        found = [
            self._made(which, data[at:end], decode_headers(data, *block)) if at >= 0 else None
            for at, end, block in zip(starts, ends, headers, strict=True)
        ]
        self._last[which] = (batch, found)
        return found

    def _made(self, which: int, data: bytes | None, headers: Headers) -> Decoded:
        decoder = self.of(which)
        if decoder is None or data is None:
            return None
        try:
            return (decoder(data, headers),)
        except ValueError:
            self.failed += 1
            return None


def as_json(value: Any) -> bytes:
    """Compact UTF-8 JSON."""
    import msgspec

    return msgspec.json.encode(value)


def as_text(value: Any) -> bytes:
    """A text as it is, anything else as JSON."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else as_json(value)


def _writer(part: Op, name: str) -> Callable[[Any], bytes] | None:
    """How a decoded value looks where this operation writes the bytes; None: the bytes are meant."""
    form, suffix = part[2], part[4]
    if form == op.JSON:
        assert isinstance(suffix, bytes)
        told = suffix.replace(b'"base64"', as_json(name))
        return lambda value: as_json(value) + told
    if form in (op.JSON_AS_IS, op.JSON_ESCAPED):
        return as_json
    if form == op.RAW:
        return as_text
    if form == op.CSV:
        return lambda value: csv_field(as_text(value))
    if form == op.NOT_TEXT:
        return lambda _: name.encode()
    return None


def csv_field(data: bytes) -> bytes:
    """Quoted where it must be, as the kernel does."""
    special = not data or any(sign in data for sign in b',"\r\n')
    return b'"%b"' % data.replace(b'"', b'""') if special else data
