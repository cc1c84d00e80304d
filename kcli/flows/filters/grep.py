"""``--grep [!]FIELD:REGEX``: a regular expression on the bytes of key, value, a header or the topic name.

Fields: ``k:``, ``v:``, ``h:NAME=``, ``t:``. Null never matches, so a negated expression selects it. The syntax is
Python's, on bytes: ``.`` is one byte, and letters beyond ASCII are their UTF-8 bytes. Where ``-s`` names a serde for
key or value, the expression applies to their text as it would be printed.

``^`` matches at the beginning of the field, not where a search begins, so filters extract the bytes of the field
first. One search over all bytes of a batch shows for most batches that no record can match; it is not made for
expressions with lookaround (``tests/unit/flows/filters``).
"""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.flows.filters.selection import BatchFields, Mask, both

if TYPE_CHECKING:
    from kcli.flows.filters.decoded import DecodedField

_FLIPPED = bytes([1, 0]) + bytes(254)
# With these a match in a part may differ from one in the whole: anchors, word boundaries, lookaround.
_LOOKS_AROUND = rb"[\^$]|\\[AZbB]|\(\?"


class Grep(NamedTuple):
    """``field`` is k, v, h or t; ``header`` the name for h. ``needle``: bytes contained in every match."""

    field: str
    header: bytes
    pattern: re.Pattern[bytes]
    negated: bool
    needle: bytes
    decoded: "DecodedField | None" = None

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        if self.field == "t":
            found = self.pattern.search(fields.tp.topic.encode()) is not None
            return found is not self.negated
        hits = self._hits(fields, mask)
        return both(mask, hits.translate(_FLIPPED) if self.negated else hits)

    def _hits(self, fields: BatchFields, mask: Mask) -> Mask:
        if self.field == "h":
            return self._header_hits(fields, mask)
        if self.decoded is not None:
            return self._decoded_hits(self.decoded, fields, mask)
        if not self.needle and self._is_nowhere(fields):
            return Mask(len(mask))
        in_key = self.field == "k"
        if self.pattern.pattern == self.needle:
            return Mask(fields.batch.holding(self.needle, in_key=in_key)[0])
        return self._among(fields.holding(self.needle, in_key=in_key), fields.data, mask)

    def _is_nowhere(self, fields: BatchFields) -> bool:
        """Whether no record can match, by a single search in all bytes of the batch."""
        return not self._looks_around and self.pattern.search(fields.data) is None

    @property
    def _looks_around(self) -> bool:
        return re.search(_LOOKS_AROUND, self.pattern.pattern) is not None

    def _among(self, holding: Iterator[tuple[int, int, int]], data: bytes, mask: Mask) -> Mask:
        """The matching records, among those that contain the needle."""
        hits, search, in_part = Mask(len(mask)), self.pattern.search, self._looks_around
        for index, start, end in holding:
            if mask[index]:
                match = search(data[start:end]) if in_part else search(data, start, end)
                hits[index] = match is not None
        return hits

    def _decoded_hits(self, decoded: "DecodedField", fields: BatchFields, mask: Mask) -> Mask:
        texts = (decoded.text(fields, index) if wanted else None for index, wanted in enumerate(mask))
        return Mask(text is not None and self.pattern.search(text) is not None for text in texts)

    def _header_hits(self, fields: BatchFields, mask: Mask) -> Mask:
        if self.needle not in fields.data:
            return Mask(len(mask))
        counts = fields.columns.header_counts
        return Mask(
            wanted and counts[index] > 0 and self._in_headers(fields, index)
            for index, wanted in enumerate(mask)
        )

    def _in_headers(self, fields: BatchFields, index: int) -> bool:
        return any(
            value is not None and raw_name(name) == self.header and self.pattern.search(value) is not None
            for name, value in fields.headers(index)
        )


def raw_name(name: str | bytes) -> bytes:
    """A header's name as it is stored."""
    return name.encode() if isinstance(name, str) else name


def parse_grep(text: str, key: "DecodedField | None" = None, value: "DecodedField | None" = None) -> Grep:
    """Parses ``!v:error`` and so on; ValueError with a sentence. Bytes that are not UTF-8 are used as passed by the
    shell.

    ``key`` and ``value``: those with a serde.
    """
    negated = text.startswith("!")
    field, colon, rest = text.removeprefix("!").partition(":")
    if not colon or field not in ("k", "v", "h", "t"):
        raise ValueError(
            f"{text!r} names no field: k:REGEX, v:REGEX, h:NAME=REGEX, t:REGEX; ! in front negates"
        )
    header = ""
    if field == "h":
        header, equals, rest = rest.partition("=")
        if not equals or not header:
            raise ValueError(f"{text!r} names no header: h:NAME=REGEX")
    raw = rest.encode("utf-8", "surrogateescape")
    try:
        pattern = re.compile(raw, re.DOTALL)
    except re.error as error:
        raise ValueError(f"{rest!r} is not a regular expression: {error}") from None
    decoded = {"k": key, "v": value}.get(field)
    return Grep(field, header.encode("utf-8", "surrogateescape"), pattern, negated, _needle(pattern), decoded)


def _needle(pattern: re.Pattern[bytes]) -> bytes:
    """The longest run of bytes contained in every match; empty where Python's regex parser is not accessible."""
    if pattern.flags & re.IGNORECASE:
        return b""
    try:
        parsed = import_module("re._parser").parse(pattern.pattern, pattern.flags)
    except ImportError:
        return b""
    runs = [bytearray()]
    for operation, argument in parsed:
        if str(operation) == "LITERAL":
            runs[-1].append(argument)
        else:
            runs.append(bytearray())
    return bytes(max(runs, key=len))
