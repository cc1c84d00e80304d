"""The format of the input of ``produce``: which parser reads it, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kcli.core.kernels.active import encode_headers
from kcli.core.types import Header
from kcli.flows.inputs.encoding import Encoding
from kcli.flows.inputs.lines import LineFormat


class HeaderBlocks:
    """``of(own)`` returns the encoded block; the block of records without headers of their own is encoded once."""

    def __init__(self, common: Sequence[Header] = ()) -> None:
        self._common = list(common)
        self.none = encode_headers(self._common)

    def of(self, own: Sequence[Header]) -> bytes:
        """The block of a record that has ``own`` headers."""
        return encode_headers([*own, *self._common]) if own else self.none


FORMATS = ("lines", "ndjson", "kcat", "raw", "csv", "file", "failed")


@dataclass(slots=True, eq=False, repr=False)
class InputFormat:
    """``kind`` is one of FORMATS, or ``pattern``; ``longest`` limits a record. ``keep``: keep the raw input in case it
    fails. ``encoding``: the encoding by ``-s``, ``serdes`` its argument.
    """

    kind: str = "lines"
    how: LineFormat = field(default_factory=LineFormat)
    blocks: HeaderBlocks = field(default_factory=HeaderBlocks)
    pattern: str = ""
    longest: int = 1 << 30
    keep: bool = False
    encoding: Encoding = field(default_factory=Encoding)
    serdes: str = ""
