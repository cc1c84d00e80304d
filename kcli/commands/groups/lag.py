"""``kcli groups lag``: how far groups are behind, in records and in time; once, or again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kcli.commands.shared.cluster import connect, open_admin, unique
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.garbage import uncollected
from kcli.commands.shared.options import LIKE_A_DURATION, OUTPUT_KINDS, AttachedOption
from kcli.commands.shared.types import DURATION, GROUP, TOPIC, CountType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcli.commands.groups._lag_output import LagOutput
    from kcli.core.admin.admin import Admin
    from kcli.core.errors import KcliError
    from kcli.flows.lag.look import LagLook
    from kcli.flows.lag.sample import Wanted


SHORTEST = 0.1
"""Seconds between two looks, at least."""


@command(
    "lag",
    outputs=(*OUTPUT_KINDS, "openmetrics"),
    examples=(
        ("kcli groups lag", "all groups, a line each"),
        ("kcli groups lag billing", "by partition, with the age of the first unread record"),
        ("kcli groups lag billing --watch", "repeat every two seconds, with rates and the time to drain"),
        (
            "kcli groups lag billing --max-lag-time 5m -q",
            "for monitoring: exit code 8 when the lag is larger",
        ),
        ("kcli groups lag --match 'bill*' --only-lagging", "those of some groups that are behind"),
        ("kcli groups lag --by partition -o tsv", "everything, for cut and awk"),
    ),
)
@click.argument("names", nargs=-1, type=GROUP, metavar="[GROUP…]")
@click.option(
    "--topic", "topics", type=TOPIC, multiple=True, metavar="TOPIC", help="only this topic; repeatable"
)
@click.option("--match", metavar="GLOB", help="all groups whose names match this shell pattern")
@click.option("--only-lagging", is_flag=True, help="leave out what has no lag")
@click.option(
    "--by",
    type=click.Choice(["group", "topic", "partition", "member"]),
    help="a line for each  [default: partition when groups are named, else group]",
)
@click.option(
    "--time",
    type=click.Choice(["exact", "estimate", "off"]),
    help="lag in time: from the records, from the time index, or not  [default: exact when groups are named, else off]",
)
@click.option(
    "-w",
    "--watch",
    cls=AttachedOption,
    bare="2s",
    looks=LIKE_A_DURATION,
    type=DURATION,
    metavar="[=DUR]",
    help="repeat every 2 s, or every DUR",
)
@click.option(
    "--max-lag", type=CountType(0), metavar="N", help="exit with 8 when a group is more than N records behind"
)
@click.option(
    "--max-lag-time",
    type=DURATION,
    metavar="DUR",
    help="exit with 8 when a partition is more than DUR behind, as in 5m",
)
@click.option("--record", metavar="FILE", help="append each sample to FILE, as JSON lines")
@pass_invocation
def lag(inv: Invocation, /, **flags: Any) -> int:
    """Show how far groups are behind.

    Lag in records is the end of the log less the committed offset; lag in time is the age, now, of the first unread
    record: `read` from that record, or `interpolated` with --time estimate. A partition that cannot be looked at is a
    line with a note. VERDICT: ok, slow, stalled, stopped, empty, rebalancing, rewound or loss risk; what takes several
    samples to tell appears only with --watch, which runs until it is interrupted or a limit is exceeded.
    """
    names = unique(flags["names"])
    _check(flags)
    if flags["watch"] is None:
        inv.page()
    by = flags["by"] or ("partition" if names else "group")
    time = flags["time"] or ("exact" if names or flags["max_lag_time"] is not None else "off")
    with uncollected(wanted=time == "off" and flags["watch"] is None), open_admin(inv) as admin:
        from kcli.flows.lag.sample import Wanted

        members = by in ("partition", "member")
        wanted = Wanted(names, frozenset(flags["topics"]), members=members, match=flags["match"])
        run = _Run(inv, admin, wanted, by, time, flags)
        cluster = connect(inv, admin)
        return run.once(cluster) if flags["watch"] is None else run.watch(cluster, flags["watch"])


def _check(flags: dict[str, Any]) -> None:
    from kcli.commands.shared.usage import usage

    if flags["names"] and flags["match"] is not None:
        raise usage(
            "groups lag: --match with names of groups",
            why="it means all groups whose names match",
            do="leave out the names, or --match",
        )
    if flags["time"] == "off" and flags["max_lag_time"] is not None:
        raise usage(
            "groups lag: --time off with --max-lag-time",
            why="without lag in time there is nothing to compare",
            do="leave --time out, or use --max-lag",
        )
    if flags["watch"] is not None and flags["watch"] < SHORTEST:
        raise usage(
            "groups lag: --watch is too short",
            why=f"each look asks the brokers; {SHORTEST:g} s is the least",
            do="--watch=1s",
        )


class _Run:
    def __init__(
        self, inv: Invocation, admin: Admin, wanted: Wanted, by: str, time: str, flags: dict[str, Any]
    ) -> None:
        from kcli.flows.lag.verdicts import History

        self.inv, self.admin, self.wanted, self.by, self.time, self.flags = (
            inv,
            admin,
            wanted,
            by,
            time,
            flags,
        )
        self.history = History()

    def once(self, cluster: str) -> int:
        """One look, and its exit status."""
        from kcli.flows.groups.nearest import name_nearest

        seen = self._look(cluster)
        with self._output(cluster, watched=False) as output:
            output.show(seen.sample.at_ms, self._rows(seen, watched=False))
        if output.empty and not (self.wanted.topics or seen.sample.failed):
            self.inv.talk.note(self._empty(seen))
        name_nearest(self.admin, seen.sample.failed)
        notes, unread = self._unread(seen)
        for note in notes:
            self.inv.talk.note(note)
        for error in (*self._left_out(seen), *unread):
            self.inv.failed(error)
        for breach in self._breaches(seen):
            self.inv.failed(breach)
        return self.inv.finish(done=bool(seen.sample.groups) or not (self.wanted.groups or unread))

    def watch(self, cluster: str, interval: float) -> int:
        """Looks again and again, to a signal, the first breach, or the end of all groups that were named.

        What a look does not tell is said once, and again when it is something else.
        """
        from time import monotonic, sleep

        from kcli.core.errors import KcliError

        seen, told = self._look(cluster), list[str]()  # what is wrong from the beginning ends it
        if not self._names_exist(seen):
            return self.inv.finish(done=False)
        breaches: list[KcliError] = []
        with self._output(cluster, watched=True) as output:
            while seen.sample.groups or not self.wanted.groups:
                began = monotonic()
                output.show(seen.sample.at_ms, self._rows(seen, watched=True))
                told = self._tell([*self._left_out(seen), *self._unread(seen)[1]], told)
                if breaches := self._breaches(seen):
                    break
                sleep(max(0.0, began + interval - monotonic()))
                try:
                    seen = self._look(cluster)
                except KcliError as error:
                    told = self._tell([error], told)
        for why in breaches or self._left_out(seen):
            self.inv.failed(why)
        return self.inv.finish(done=bool(breaches))

    def _empty(self, seen: LagLook) -> str:
        """Why there is no row."""
        if seen.sample.groups:
            nothing = any(one.committed for one in seen.sample.groups)
            return "nothing lags" if nothing else "nothing is committed, and no member reads anything"
        match = self.wanted.match
        return "there are no groups" if match is None else f"no group matches {match}"

    def _names_exist(self, seen: LagLook) -> bool:
        """Tells which groups do not exist, before any others are watched."""
        from kcli.core.errors import NotFoundError
        from kcli.flows.groups.nearest import name_nearest

        missing = {name: one for name, one in seen.sample.failed.items() if isinstance(one, NotFoundError)}
        name_nearest(self.admin, missing)
        for error in missing.values():
            self.inv.failed(error)
        return not missing

    def _tell(self, errors: Sequence[KcliError], told: list[str]) -> list[str]:
        said = [str(error) for error in errors]
        for text in said if said != told else ():
            self.inv.talk.warn(text)
        return said

    def _look(self, cluster: str) -> LagLook:
        from kcli.flows.lag.look import look

        seen = look(self.admin, self.wanted, self.time)
        if self.flags["record"] is not None:
            from kcli.flows.lag.recording import append_sample

            append_sample(self.flags["record"], cluster, seen.sample)
        return seen

    def _rows(self, seen: LagLook, *, watched: bool) -> Iterable[Iterable[Mapping[str, Any]]]:
        from kcli.commands.groups._lag_rows import Said, lag_rows

        said = {}
        for one in seen.sample.groups:
            rows = seen.rows[one.group]
            self.history.add(seen.sample.at_ms, one.group, rows)
            trend = self.history.trend(one.group) if watched else None
            said[one.group] = Said(self.history.verdict(one.group, one.state, rows), trend)
        return lag_rows(seen, said, self.by, only_lagging=self.flags["only_lagging"])

    def _output(self, cluster: str, *, watched: bool) -> LagOutput:
        from kcli.commands.groups._lag_output import LagOutput

        return LagOutput(self.inv, self.by, cluster, watched=watched)

    def _left_out(self, seen: LagLook) -> list[KcliError]:
        """Why there are no rows of groups or topics that were asked for."""
        from kcli.core.errors import NotFoundError

        missing = list[str]()
        if self.wanted.groups and self.wanted.topics:
            missing = sorted(self._without_rows(seen))
        return [
            *seen.sample.failed.values(),
            *seen.sample.partial,
            *(
                NotFoundError(
                    f"none of these groups has an offset or a member for topic {topic}",
                    do="check the topic name, or leave out --topic: without --topic all topics are shown",
                )
                for topic in missing
            ),
        ]

    def _unread(self, seen: LagLook) -> tuple[list[str], list[KcliError]]:
        """Of topics that no group has anything of, where no group was named: what is to be noted, and what is wrong."""
        from kcli.commands.groups._unread_topics import unread_topics

        return unread_topics(self.admin, () if self.wanted.groups else self._without_rows(seen))

    def _without_rows(self, seen: LagLook) -> set[str]:
        if not self.wanted.topics:
            return set()
        there = {tp.topic for one in seen.sample.groups for tp in one.committed}
        return set(self.wanted.topics) - there

    def _breaches(self, seen: LagLook) -> list[KcliError]:
        from kcli.commands.groups._lag_rows import breaches

        return breaches(seen, self.flags["max_lag"], self.flags["max_lag_time"])
