"""The format of the input of ``produce``: which parser reads it, and how."""

from __future__ import annotations

from dataclasses import dataclass, field

from kcli.flows.inputs.encoding import Encoding
from kcli.flows.inputs.headers import HeaderBlocks
from kcli.flows.inputs.lines import LineFormat

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
