"""``--grep [!]FIELD:REGEX``: a regular expression on the bytes of key, value, a header or the topic's name.

Fields: ``k:``, ``v:``, ``h:NAME=``, ``t:``. A null matches nothing, so its negation matches it. The syntax is Python's,
on bytes: ``.`` is one byte, and letters beyond ASCII are their UTF-8 bytes. Where ``-s`` names a serde for key or value,
their text is looked at, as it would be printed.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcli.flows.filters.batch_fields import BatchFields, Ranges
from kcli.flows.filters.selection import Mask, both

if TYPE_CHECKING:
    from kcli.flows.filters.decoded import DecodedField

_FLIPPED = bytes([1, 0]) + bytes(254)
_SPECIAL = frozenset(b".^$*+?{}[]\\|()")
# With these a match in a part need not be one in the whole: anchors, borders of words, looking around.
_LOOKS_AROUND = re.compile(rb"[\^$]|\\[AZbB]|\(\?")


@dataclass(frozen=True, slots=True)
class Grep:
    """``field`` is k, v, h or t; ``header`` the name for h. ``literal``: the pattern stands for its own bytes."""

    field: str
    header: bytes
    pattern: re.Pattern[bytes]
    negated: bool
    literal: bool
    decoded: "DecodedField | None" = None

    def keep(self, fields: BatchFields, mask: Mask) -> bool:
        """See Filter."""
        if self.field == "t":
            found = self.pattern.search(fields.where.topic.encode()) is not None
            return found is not self.negated
        if self.decoded is None and self._is_nowhere(fields):
            if self.negated:
                return True
            mask[:] = bytes(len(mask))
            return False
        hits = self._hits(fields, mask)
        return both(mask, hits.translate(_FLIPPED) if self.negated else hits)

    def _is_nowhere(self, fields: BatchFields) -> bool:
        """Whether no record can match, as one look at all bytes of the batch tells."""
        if self.literal:
            return self.pattern.pattern not in fields.data
        if _LOOKS_AROUND.search(self.pattern.pattern):
            return False
        return self.pattern.search(fields.data) is None

    def _hits(self, fields: BatchFields, mask: Mask) -> Mask:
        if self.field == "h":
            return self._header_hits(fields, mask)
        if self.decoded is not None:
            return self._decoded_hits(self.decoded, fields, mask)
        ranges, ends = fields.keys if self.field == "k" else fields.values, fields.record_ends
        if self.literal and self.pattern.pattern and ends is not None:
            return _literal_hits(fields.data, self.pattern.pattern, ranges, ends)
        search, data = self.pattern.search, fields.data
        return Mask(
            wanted and start >= 0 and search(data[start:end]) is not None
            for wanted, start, end in zip(mask, *ranges, strict=True)
        )

    def _decoded_hits(self, decoded: "DecodedField", fields: BatchFields, mask: Mask) -> Mask:
        texts = (decoded.text(fields, index) if wanted else None for index, wanted in enumerate(mask))
        return Mask(text is not None and self.pattern.search(text) is not None for text in texts)

    def _header_hits(self, fields: BatchFields, mask: Mask) -> Mask:
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
    """``!v:error`` and so on; ValueError with a sentence. Bytes that are not UTF-8 are what the shell handed over.

    ``key`` and ``value`` are those with a serde.
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
    literal = not _SPECIAL & set(raw)
    decoded = {"k": key, "v": value}.get(field)
    return Grep(field, header.encode("utf-8", "surrogateescape"), pattern, negated, literal, decoded)


def _literal_hits(data: bytes, needle: bytes, ranges: Ranges, ends: list[int]) -> Mask:
    """Goes from one place of the bytes to the next: a batch without them costs next to nothing."""
    starts, stops = ranges
    hits, at = Mask(len(ends)), data.find(needle)
    while at >= 0:
        index = bisect_right(ends, at)
        if 0 <= starts[index] <= at and at + len(needle) <= stops[index]:
            hits[index] = 1
            at = data.find(needle, ends[index])
        else:
            at = data.find(needle, at + 1)
    return hits
