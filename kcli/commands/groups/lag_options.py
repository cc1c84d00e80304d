"""The options of ``groups lag`` as the user gave them: their defaults, and which cannot be combined."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from kcli.commands.groups._options import with_empty_group
from kcli.commands.shared.cluster import unique
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.usage import refuse_cluster_options, usage
from kcli.core.classes import dataclass
from kcli.core.names import means_own_groups

if TYPE_CHECKING:
    from kcli.flows.lag.sample import Wanted

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
    on_verdict: str | None = None
    webhook: str | None = None
    from_record: str | None = None
    at: str | None = None
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
    def wanted(self) -> Wanted:
        """What is measured."""
        # Not needed to report that no broker is reachable.
        from kcli.flows.lag.sample import Wanted

        match, topics = self.match, frozenset(self.topics)
        return Wanted(
            self.groups,
            self.rows in ("partition", "member"),
            None if match is None else lambda name: fnmatchcase(name, match),
            topics.__contains__ if topics else None,
            self.internal or means_own_groups(match),
        )

    @property
    def limited(self) -> bool:
        """Whether lag is compared with a limit."""
        return self.max_lag is not None or self.max_lag_time is not None

    def check(self, values: GlobalValues) -> None:
        """Raises a usage error for what cannot be combined."""
        self._check_notifications(values)
        self._check_record(values)
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

    def _check_notifications(self, values: GlobalValues) -> None:
        for option, given in (("--on-verdict", self.on_verdict), ("--webhook", self.webhook)):
            if given is not None and self.watch is None:
                raise usage(
                    f"groups lag: {option} without --watch",
                    why="a verdict changes between two samples, and there is only one",
                    do=f"add --watch, or leave out {option}",
                )
        if self.on_verdict is not None:
            # subprocess: only for commands
            from kcli.core.net.command import CommandError, command_words

            try:
                command_words(self.on_verdict)
            except CommandError as error:
                raise usage("groups lag: --on-verdict is no command", why=error.why, do=error.do) from None

        if self.webhook is not None:
            # HTTP: only for webhooks
            from kcli.flows.lag.webhook import parse_webhook

            parse_webhook(self.webhook, allow_plaintext_secrets=bool(values.allow_plaintext_secrets))

    def _check_record(self, values: GlobalValues) -> None:
        if self.from_record is None:
            if self.at is not None:
                raise usage(
                    "groups lag: --at without --from-record",
                    why="a cluster has no lag of the past",
                    do="name a recording: --from-record FILE",
                )
            return
        for option, given, why in (
            ("--watch", self.watch, "one sample of the recording is shown"),
            ("--record", self.record, "it would record the recording"),
            ("--time", self.time, "the recording has lag in time as it was measured"),
        ):
            if given is not None:
                raise usage(f"groups lag: --from-record with {option}", why=why, do=f"leave out {option}")
        refuse_cluster_options(values, "groups lag: --from-record", "--from-record reads a file")
