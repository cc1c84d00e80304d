"""The text formats: OpenMetrics 1.0 and the classic one of Prometheus, plain and compressed. Pure.

Both have the same sample lines here, so these are written and compressed once. prometheus_client writes 240,000 samples
in seconds, these functions in tenths; its parsers judge the result in the tests.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kcli.exporter.metrics import COUNTER, INFO, STATESET, Metric

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
    """Families in both formats; ``parts`` returns the pieces of one, which are to be written one after the other."""

    def __init__(self, families: Iterable[Family] = ()) -> None:
        self._parts: dict[str, list[Packed]] = {form: [] for form in FORMATS}
        self.samples = 0
        for metric, lines in families:
            if not lines:
                continue
            self.samples += len(lines)
            block = packed("".join(lines).encode())
            for form, parts in self._parts.items():
                parts += [packed(heading(metric, form).encode()), block]

    def parts(self, form: str) -> Sequence[Packed]:
        return self._parts[form]


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
