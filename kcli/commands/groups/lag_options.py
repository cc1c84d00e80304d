"""The options of ``groups lag`` as the user gave them: their defaults, and which cannot be combined."""

from dataclasses import dataclass

from kcli.commands.groups._options import with_empty_group
from kcli.commands.shared.cluster import unique
from kcli.commands.shared.usage import usage

SHORTEST_INTERVAL = 0.1
"""Seconds between two samples, at least."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LagOptions:
    """One field an option of the command line; None: not given. Durations are seconds."""

    names: tuple[str, ...] = ()
    empty_group: bool = False
    match: str | None = None
    internal: bool = False
    topics: tuple[str, ...] = ()
    only_lagging: bool = False
    by: str | None = None
    time: str | None = None
    watch: float | None = None
    record: str | None = None
    max_lag: int | None = None
    max_lag_time: float | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that are named."""
        return unique(with_empty_group(self.names, self.empty_group))

    @property
    def rows(self) -> str:
        """What has a line each."""
        return self.by or ("partition" if self.groups else "group")

    @property
    def method(self) -> str:
        """How lag in time is found."""
        return self.time or ("exact" if self.groups or self.max_lag_time is not None else "off")

    @property
    def limited(self) -> bool:
        """Whether lag is compared with a limit."""
        return self.max_lag is not None or self.max_lag_time is not None

    def check(self) -> None:
        """Raises a usage error for what cannot be combined."""
        if self.groups and self.match is not None:
            raise usage(
                "groups lag: --match with names of groups",
                why="--match means all groups whose names match",
                do="leave out the names or --match",
            )
        if self.time == "off" and self.max_lag_time is not None:
            raise usage(
                "groups lag: --time off with --max-lag-time",
                why="--time off leaves out the lag in time, which --max-lag-time limits",
                do="leave out --time, or use --max-lag",
            )
        if self.watch is not None and self.watch < SHORTEST_INTERVAL:
            raise usage(
                "groups lag: --watch is too short",
                why=f"each sample sends requests to the brokers; the shortest interval is {SHORTEST_INTERVAL:g} s",
                do="--watch=1s",
            )
