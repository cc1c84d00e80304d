"""The range of offsets that a job reads, from ``--offset``, ``--since`` and ``--until``."""

from collections.abc import Mapping
from typing import Any

from kcli.commands.shared.usage import usage
from kcli.core.positions import OffsetSpec, RangeSpec


def wanted_range(flags: Mapping[str, Any], command: str) -> RangeSpec:
    """From where ``--offset`` or ``--since`` say, else the earliest offset; a usage error for contradictions."""
    spec: RangeSpec = flags.get("offset") or RangeSpec(None)
    start, stop = spec
    for flag, end in (("since", start), ("until", stop)):
        if flags[flag] is not None and end is not None:
            raise usage(
                f"kcli pipeline {command}: --{flag} with --offset",
                why=f"both say where to {'begin' if flag == 'since' else 'end'}",
                do="leave one of them out",
            )
    if flags["since"] is not None:
        start = OffsetSpec("timestamp", flags["since"])
    if flags["until"] is not None:
        stop = OffsetSpec("timestamp", flags["until"])
    if any(end is not None and end.kind == "stored" for end in (start, stop)):
        raise usage(
            f"kcli pipeline {command}: --offset stored",
            why="it means the committed offsets of a group, and a job has none",
            do="give earliest, an offset or a time",
        )
    if (
        start is not None
        and stop is not None
        and start.kind == stop.kind == "timestamp"
        and stop.value < start.value
    ):
        raise usage(
            f"kcli pipeline {command}: the range ends before it begins",
            why="there is nothing between them: 3h is three hours ago, +3h in three hours",
            do="exchange the two times",
        )
    return RangeSpec(start or OffsetSpec("earliest"), stop)
