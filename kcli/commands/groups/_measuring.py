"""What ``kcli groups lag`` shows: lag, measured once or repeatedly, what is missing, and limits that are exceeded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing
from kcli.commands.groups._lag_rows import GroupVerdict, are_compared, exceeded_limits, lag_rows
from kcli.commands.groups.lag_options import LagOptions
from kcli.commands.groups.lag_output import LagOutput
from kcli.commands.shared.cluster import no_groups, warn_of_hidden
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.core.admin.admin import Admin
from kcli.core.clock import wall_ms
from kcli.core.cluster.metadata import OR_HIDDEN
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.names import own_group_note
from kcli.flows.groups.nearest import name_nearest, topics_without_groups
from kcli.flows.lag.measure import Measurement, measure_lag
from kcli.flows.lag.sample import LagSample, sample_seconds, without_rows
from kcli.flows.lag.verdicts import History

if TYPE_CHECKING:
    from kcli.flows.lag.notification import Notifications

_NAMED = 3  # groups in a warning


class Measuring:
    """One run of the command."""

    def __init__(self, inv: Invocation, admin: Admin, cluster: str, asked: LagOptions) -> None:
        self.inv, self.admin, self.cluster, self.asked = inv, admin, cluster, asked
        self.topics = frozenset(asked.topics)
        self.wanted = asked.wanted
        self.history = History()
        self.limits = (asked.max_lag, asked.max_lag_time)
        self.notifications: Notifications | None = None

    def once(self) -> int:
        """Measures once; returns the exit status."""
        found = self._measure()
        self._explain_own(found)
        self._warn_of_hidden(found)
        name_nearest(self.admin, found.sample.failed)
        notes, unread = self._unread_topics(found)
        for part in (*self._missing(found), *map(Missing.of, unread)):
            self.inv.lacks(part, later=True)
        compared_none = (
            self.asked.limited
            and self.asked.match is not None
            and not (found.sample.groups or found.sample.partial)
        )
        if compared_none:
            self.inv.lacks(_no_match(str(self.asked.match)), later=True)
        exceeded = exceeded_limits(found, *self.limits)
        rows = self._rows(found, watched=False)
        passed = self.asked.limited and not exceeded and self._are_compared(found)
        if not (passed and self.inv.omits_passed):
            with LagOutput(self.inv, self.asked.rows, self.cluster, watched=False) as output:
                output.show_sample(found.sample.at_ms, rows)
                if output.empty and not (compared_none or self.topics or found.sample.failed):
                    self._remark_empty(found)
        self.inv.out.release()  # on a terminal errors follow the table
        for note in notes:
            self.inv.talk.note(note)
        for error in exceeded:
            self.inv.failed(error)
        done = bool(found.sample.groups) or not (self.wanted.groups or unread or compared_none)
        return self.inv.finish(done=done)

    def watch(self, interval: float) -> int:
        """Measures every ``interval`` seconds until a signal, an exceeded limit, or the end of all named groups.

        Warnings are printed once, and again when they change. Returns the exit status.
        """
        with ExitStack() as stack:
            stack.enter_context(orderly_end())  # a document is complete whatever signal ends it
            reports = self.asked.on_verdict is not None or self.asked.webhook is not None
            if reports and not self.inv.dry_run:
                # Threads, processes and HTTP: only where changes are reported.
                from kcli.commands.groups._notifying import notifying

                self.notifications = stack.enter_context(notifying(self.inv, self.asked, self.cluster))
            exceeded = self._watch(interval)
        return self.inv.finish(done=exceeded)

    def _watch(self, interval: float) -> bool:
        """Until the end; whether a limit was exceeded."""
        found, warned = self._measure(), list[str]()  # an error of the first measurement ends the command
        self._explain_own(found)
        self._warn_of_hidden(found)
        if not self._names_exist(found):
            return False
        exceeded: list[KcliError] = []
        with LagOutput(self.inv, self.asked.rows, self.cluster, watched=True) as output:
            while self._goes_on(found.sample):
                began = monotonic()
                missing = [*self._missing(found), *map(Missing.of, self._unread_topics(found)[1])]
                self.inv.missing[:] = [part.entry() for part in missing]  # of the last sample
                output.show_sample(found.sample.at_ms, self._rows(found, watched=True))
                warned = self._warn(missing, warned)
                if exceeded := exceeded_limits(found, *self.limits):
                    break
                sleep(max(0.0, began + interval - monotonic()))
                found = self._measure_again(found.sample)
        for failure in exceeded:
            self.inv.failed(failure)
        self.inv.missing.clear()
        for part in self._missing(found):
            self.inv.lacks(part, told=bool(exceeded))
        return bool(exceeded)

    def _explain_own(self, found: Measurement) -> None:
        """Groups of kcli's own that are named are shown; their lag is that of no consumer."""
        for one in found.sample.groups if self.wanted.groups else ():
            if note := own_group_note(one.group):
                self.inv.talk.warn(f"group {one.group}: {note}")

    def _measure(self, known: Collection[str] = ()) -> Measurement:
        with self._time_of_sample():
            found = measure_lag(self.admin, self.wanted, self.asked.method, known)
        if self.asked.record is not None and not self.inv.dry_run:
            from kcli.flows.lag.recording import append_sample  # only with --record

            append_sample(self.asked.record, self.cluster, found)
        return found

    def _time_of_sample(self) -> AbstractContextManager[None]:
        """Of one that is repeated: a single one has the timeout for each call."""
        if self.asked.watch is None:
            return nullcontext()
        return self.admin.within(sample_seconds(self.admin, self.asked.watch))

    def _measure_again(self, before: LagSample) -> Measurement:
        """Groups of the sample before that are not in this one, and may exist, are among those that could not be read."""
        try:
            found = self._measure(before.names)
        except KcliError as error:
            partial = () if self.wanted.groups else (error,)
            failed = dict.fromkeys(sorted(before.names), error)
            return Measurement(LagSample(wall_ms(), (), {}, failed, partial), {})
        for name in before.failed.keys() - found.sample.failed.keys():
            self.history.resume(found.sample.at_ms, name)
        return found

    def _goes_on(self, sample: LagSample) -> bool:
        """Named groups are watched until none of them exists."""
        gone = [error for error in sample.failed.values() if isinstance(error, NotFoundError)]
        return bool(sample.groups or len(gone) < len(sample.failed) or not self.wanted.groups)

    def _rows(self, found: Measurement, *, watched: bool) -> Iterable[Iterable[Mapping[str, Any]]]:
        verdicts = {}
        explain = self.asked.rows == "group" or self.notifications is not None
        for one in found.sample.groups:
            rows = found.rows[one.group]
            self.history.add_rows(found.sample.at_ms, one.group, rows, one.state)
            trend = self.history.trend(one.group) if watched else None
            verdict = self.history.verdict(one.group, one.state, rows, explain=explain)
            verdicts[one.group] = GroupVerdict(verdict, trend)
        if self.notifications is not None:
            self.notifications.add(found, {name: one.verdict for name, one in verdicts.items()}, self.history)
        return lag_rows(found, verdicts, self.asked.rows, only_lagging=self.asked.only_lagging)

    def _warn(self, missing: Sequence[Missing], warned: list[str]) -> list[str]:
        """One warning for all groups that cannot be read for the same reason."""
        groups = dict[str, list[str]]()
        texts = []
        for part in missing:
            if part.what.startswith("group "):
                groups.setdefault(part.why, []).append(part.what.removeprefix("group "))
            else:
                texts.append(str(part.error))
        for why, names in groups.items():
            more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
            texts.append(f"not read: group {', '.join(names[:_NAMED])}{more}: {why}")
        for text in texts if texts != warned else ():
            self.inv.talk.warn(text)
        return texts

    # --- what is missing -----------------------------------------------------------------------------

    def _remark_empty(self, found: Measurement) -> None:
        """Why there are no rows."""
        if not found.sample.groups:
            self.inv.talk.remark(no_groups(self.asked.match, partial=bool(found.sample.partial)))
        elif any(one.committed for one in found.sample.groups):
            self.inv.talk.note("there is no lag")
        else:
            self.inv.talk.note("no offsets are committed, and no member reads a partition")
        if self.asked.limited:
            self.inv.talk.warn("no lag was compared with the limit")

    def _names_exist(self, found: Measurement) -> bool:
        """Reports the named groups that do not exist."""
        missing = {name: one for name, one in found.sample.failed.items() if isinstance(one, NotFoundError)}
        name_nearest(self.admin, missing)
        for error in missing.values():
            self.inv.failed(error)
        return not missing

    def _are_compared(self, found: Measurement) -> bool:
        return are_compared(found, in_time=self.asked.max_lag_time is not None)

    def _warn_of_hidden(self, found: Measurement) -> None:
        """Says what limits are not compared with."""
        hidden = not self.wanted.groups and warn_of_hidden(
            self.inv, self.admin, "groups", unsure=found.sample.unsure
        )
        partly = any(found.rows.values()) and not self._are_compared(found)
        if self.asked.limited and (hidden or found.sample.missing or partly):
            self.inv.talk.warn("only lag that could be read was compared with the limit")

    def _missing(self, found: Measurement) -> list[Missing]:
        """What has no rows, or no lag in them: also topics of named groups."""
        topics = found.sample.topics_without_rows(self.topics) if self.wanted.groups else ()
        return [*found.sample.missing, *map(without_rows, topics)]

    def _unread_topics(self, found: Measurement) -> tuple[list[str], list[KcliError]]:
        """Notes and errors on topics that no group reads, where no group was named."""
        topics = () if self.wanted.groups else found.sample.topics_without_rows(self.topics)
        return topics_without_groups(self.admin, topics)


def _no_match(match: str) -> Missing:
    """A limit for the groups that match is one for some of them: without any it is as for a named one that is away."""
    error = NotFoundError(
        f"no group matches {match}",
        why=f"no lag was compared with the limit; the cluster has no such group, {OR_HIDDEN}",
        do="`kcli groups list` lists the groups",
    )
    return Missing(f"a group that matches {match}", "", error)
