"""The range of offsets that a job reads: ``--offset``, ``--since``, ``--until``; and the slices of endless jobs."""

from kcli.commands.shared.usage import usage
from kcli.core.clock import wall_ms
from kcli.core.positions import OffsetSpec, RangeSpec, check_times


def wanted_range(
    command: str, *, since: int | None, until: int | None, offset: RangeSpec | None = None
) -> RangeSpec:
    """From where ``--offset`` or ``--since`` say, else the earliest offset; a usage error for contradictions.

    ``since`` and ``until`` are in ms since the epoch.
    """
    start, stop = offset or RangeSpec(None)
    for flag, given, end in (("since", since, start), ("until", until, stop)):
        if given is not None and end is not None:
            raise usage(
                f"kcli pipeline {command}: --{flag} with --offset",
                why=f"both say where to {'begin' if flag == 'since' else 'end'}",
                do="leave one of them out",
            )
    if since is not None:
        start = OffsetSpec("timestamp", since)
    if until is not None:
        stop = OffsetSpec("timestamp", until)
    if any(end is not None and end.kind == "stored" for end in (start, stop)):
        raise usage(
            f"kcli pipeline {command}: --offset stored",
            why="it means the committed offsets of a group, and a job has none",
            do="give earliest, an offset or a time",
        )
    named = "--since" if since is not None else "--offset"
    check_times(RangeSpec(start, stop), wall_ms(), f"kcli pipeline {command}", since=named)
    return RangeSpec(start or OffsetSpec("earliest"), stop)


def check_slices(command: str, spec: RangeSpec, *, continuous: bool, sliced: bool) -> None:
    """Usage errors for an endless job with an end, and for ``--slice`` (``sliced``) without ``--continuous``."""
    if continuous and spec.stop is not None:
        raise usage(
            f"kcli pipeline {command}: --continuous with an end",
            why="it goes on with what arrives, until it is stopped",
            do="leave --until, or the end in --offset, or --continuous out",
        )
    if sliced and not continuous:
        raise usage(
            f"kcli pipeline {command}: --slice without --continuous",
            why="a run that ends with what is there now is not sliced",
            do="add --continuous, or leave --slice out",
        )
