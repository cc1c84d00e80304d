"""The text formats: OpenMetrics 1.0 and the classic one of Prometheus, plain and compressed. Pure.

Both have the same sample lines here, so these are written and compressed once. prometheus_client writes 240,000 samples
in seconds, these functions in tenths; its parsers judge the result in the tests.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from kcli.core.classes import NamedTuple
from kcli.exporter.metric import COUNTER, INFO, STATESET, Metric

OPENMETRICS, CLASSIC = "application/openmetrics-text; version=1.0.0", "text/plain; version=0.0.4"
FORMATS = (OPENMETRICS, CLASSIC)
_EOF = b"# EOF\n"
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_LAST_BLOCK = b"\x03\x00"
_LEVEL = 1


class Family(NamedTuple):
    """A metric and its sample lines."""

    metric: Metric
    lines: Sequence[str]


class Packed(NamedTuple):
    """Bytes, and the same as blocks of raw deflate that may stand anywhere in a stream."""

    plain: bytes
    deflated: bytes


class Text:
    """Families in both formats; ``parts`` returns the pieces of one, which are to be written one after the other.

    ``label`` is one that all samples have besides their own, as ``cluster="prod"``; empty for none.
    """

    def __init__(self, families: Iterable[Family] = (), label: str = "") -> None:
        self.blocks: dict[Metric, Packed] = {}
        """The sample lines of each family that has some."""
        self.samples = 0
        for metric, lines in families:
            if lines:
                self.samples += len(lines)
                shown = [labelled(line, label) for line in lines] if label else lines
                self.blocks[metric] = packed("".join(shown).encode())

    def parts(self, form: str) -> list[Packed]:
        return joined([self], form)


def joined(
    texts: Sequence[Text], form: str, wanted: Callable[[Metric], bool] = lambda _metric: True
) -> list[Packed]:
    """The pieces of several texts: the samples of a family are together, as both formats have it."""
    parts = []
    for metric in dict.fromkeys(metric for text in texts for metric in text.blocks if wanted(metric)):
        parts.append(_packed_heading(metric, form))
        parts += [text.blocks[metric] for text in texts if metric in text.blocks]
    return parts


def labelled(line: str, label: str) -> str:
    """A sample line with a label before its own."""
    name, brace, rest = line.partition("{")
    if brace:
        return f"{name}{{{label},{rest}"
    name, _, value = line.partition(" ")
    return f"{name}{{{label}}} {value}"


@cache
def _packed_heading(metric: Metric, form: str) -> Packed:
    return packed(heading(metric, form).encode())


def packed(data: bytes) -> Packed:
    """With its compressed form, at the fastest level: pages are compressed more often than they are sent."""
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return Packed(data, stream.compress(data) + stream.flush(zlib.Z_FULL_FLUSH))


def document(form: str, parts: Sequence[Packed]) -> list[bytes]:
    """A page."""
    return [*(one.plain for one in parts), *([_EOF] if form == OPENMETRICS else [])]


def gzipped(form: str, parts: Sequence[Packed]) -> list[bytes]:
    """The same page as one member of gzip (RFC 1952), without compressing anything but its end."""
    if form == OPENMETRICS:
        parts = [*parts, packed(_EOF)]
    checksum, size = 0, 0
    for one in parts:
        checksum = zlib.crc32(one.plain, checksum)
        size += len(one.plain)
    end = checksum.to_bytes(4, "little") + (size & 0xFFFF_FFFF).to_bytes(4, "little")
    return [_GZIP_HEADER, *(one.deflated for one in parts), _LAST_BLOCK, end]


def heading(metric: Metric, form: str) -> str:
    """HELP, TYPE and, where the format has it, UNIT."""
    name, kind, unit = metric.name, metric.kind, ""
    if form == OPENMETRICS:
        unit = f"# UNIT {name} {metric.unit}\n" if metric.unit else ""
    elif kind == COUNTER:
        name += "_total"
    elif kind == INFO:
        name, kind = name + "_info", "gauge"
    elif kind == STATESET:
        kind = "gauge"
    return f"# HELP {name} {metric.text}\n# TYPE {name} {kind}\n{unit}"


def labels_of(names: Sequence[str], values: Sequence[str | int]) -> str:
    """``{group="g",partition="0"} ``: what follows the name of a sample, with the blank before the value."""
    pairs = ",".join(f'{name}="{escaped(str(value))}"' for name, value in zip(names, values, strict=True))
    return f"{{{pairs}}} " if pairs else " "


def escaped(text: str) -> str:
    """The text of a label. A lone surrogate, which UTF-8 does not have, becomes U+FFFD."""
    text = text.encode("utf-8", "replace").decode() if not text.isascii() and _lone(text) else text
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _lone(text: str) -> bool:
    return any("\ud800" <= one <= "\udfff" for one in text)
