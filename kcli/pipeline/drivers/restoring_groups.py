"""Sets the positions of groups after an import: each at the record that it was at in the export.

Positions are those of the export. Which offset of the target has the same record the tasks have found out
(``restored_offsets``); here it is looked up, moved to the first record that is there now, committed and read back. What a
group has committed on the target by itself is never replaced: what an earlier run has set is known by a commit of the
import's own. While a group has members, its coordinator refuses a commit of somebody else.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence

from kcli.account.change import is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.commits import Stored
from kcli.core.admin.committed import Committed
from kcli.core.admin.topics import id_bytes
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition
from kcli.flows.groups.first_records import first_unread_records
from kcli.flows.groups.members import live_error
from kcli.flows.groups.offsets import LogEnds, log_ends
from kcli.flows.mirror.groups.offsets import GroupsAccount, SyncedOffset, Verdict, failed, settle
from kcli.flows.permitted import denied_groups
from kcli.pipeline.restored_offsets import Pairs, commits_of, read_offsets
from kcli.pipeline.saved_state import SavedGroups

_TAKE_BACK = "if the position of the export is to be set, delete the offset of the group on the target"


class RestoredPartition(NamedTuple):
    """A partition of the export, ``start`` to ``end``, of which all before ``position`` is restored to ``target``.
    ``last``: where its last file ends; what is behind it was removed. ``has_records``: whether it has any.
    """

    target: TopicPartition
    topic_id: str
    start: int
    end: int
    position: int
    last: int
    has_records: bool
    pairs: Pairs


def translated(offset: int, one: RestoredPartition | None) -> Verdict:
    """PLANNED with the offset from which a reader on the target gets the same records; or why there is none."""
    if one is None:
        return Verdict(Outcome.MISSING, why="its partition is not in the export")
    if offset < one.start:
        why = f"it is before the export, which begins at offset {one.start}"
        return Verdict(Outcome.MISSING, why=why)
    if offset > one.end:
        return Verdict(Outcome.MISSING, why=f"it is past the export, which ends at offset {one.end}")
    known = min(offset, one.last)
    if known in one.pairs and offset <= one.position:
        return Verdict(Outcome.PLANNED, one.pairs[known])
    if one.position < one.end and offset >= one.position:
        why = f"records are restored up to offset {one.position} only"
        return Verdict(Outcome.MISSING, why=why, do="run it again: the same command continues")
    if not one.has_records:
        return Verdict(Outcome.PLANNED)  # at the end of nothing
    return Verdict(
        Outcome.REFUSED, why="an earlier run has restored its record, without finding out where that is"
    )


class GroupRestore:
    """The positions of an export, and the import that they belong to: ``group`` names what is its own."""

    def __init__(self, admin: Admin, saved: SavedGroups, group: str) -> None:
        self._admin, self.saved, self._memory = admin, saved, f"{group}.set"
        self.count = sum(1 for _ in saved.commits())

    def wanted(self) -> dict[TopicPartition, tuple[int, ...]]:
        """The offsets that groups are at, by partition of the export."""
        found: dict[TopicPartition, set[int]] = {}
        for _group, tp, commit in self.saved.commits():
            found.setdefault(tp, set()).add(commit.offset)
        return {tp: tuple(sorted(offsets)) for tp, offsets in found.items()}

    def refusal(self) -> KcliError | None:
        """Why the positions could not be set: a group with members, or one that this client may not commit for."""
        names = [group.group for group in self.saved.groups]
        described = self._admin.describe_groups(names, include_operations=True, all_types=True)
        groups = {name: one for name, one in described.items() if not isinstance(one, KcliError)}
        live = [one for one in groups.values() if one.members]
        if live:
            shown = ", ".join(one.group_id for one in live)
            return live_error(live[0], f"the positions of {shown} cannot be restored: nothing is imported")
        unread = [
            one
            for one in described.values()
            if isinstance(one, KcliError) and not isinstance(one, NotFoundError)
        ]
        return next(
            iter([*denied_groups(groups, "READ", "committing offsets of group {}").values(), *unread]), None
        )

    def restore(
        self, restored: Mapping[TopicPartition, RestoredPartition], warn: Callable[[str], object]
    ) -> GroupsAccount:
        """Sets the positions; errors of brokers are in the account."""
        rows = [
            _Row(group, tp, commit, restored.get(tp), translated(commit.offset, restored.get(tp)))
            for group, tp, commit in self.saved.commits()
        ]
        try:
            self._place(rows)
            self._compare(rows, memory := self._read_memory(rows))
        except KcliError as error:
            for row in rows:
                if row.verdict.status is Outcome.PLANNED:
                    row.verdict = failed(error, row.verdict.offset)
        else:
            self._commit([row for row in rows if row.verdict.status is Outcome.PLANNED])
            self._remember(rows, memory, warn)
        return GroupsAccount(
            [
                SyncedOffset(
                    row.group, row.source, row.one and row.one.target, row.commit.offset, row.verdict
                )
                for row in rows
            ]
        )

    def _place(self, rows: Sequence["_Row"]) -> None:
        """Moves each position to the first record that is there, or to the end."""
        planned = [row for row in rows if row.verdict.status is Outcome.PLANNED]
        logs = log_ends(self._admin, {row.target for row in planned}, stable=True) if planned else {}
        begins = {}
        for row in planned:
            log = logs[row.target]
            row.verdict = _in_log(row.verdict, log)
            at = row.verdict.offset
            if (
                row.verdict.status is Outcome.PLANNED
                and at is not None
                and log.end is not None
                and at < log.end
            ):
                begins[row] = (row.target, at)
        found = first_unread_records(self._admin, set(begins.values()), logs) if begins else {}
        for row, begin in begins.items():
            record = found[begin]
            if isinstance(record, KcliError):
                row.verdict = failed(record, row.verdict.offset)
            else:
                end = logs[row.target].end
                row.verdict = row.verdict._replace(offset=end if record is None else record.offset)

    def _compare(self, rows: Sequence["_Row"], memory: Mapping[TopicPartition, Pairs]) -> None:
        """What groups have committed on the target already."""
        wanted: dict[str, list[TopicPartition]] = {}
        for row in rows:
            if row.verdict.status is Outcome.PLANNED:
                wanted.setdefault(row.group, []).append(row.target)
        there: Mapping[str, Committed | KcliError] = self._admin.fetch_offsets(wanted) if wanted else {}
        for row in rows:
            if row.verdict.status is not Outcome.PLANNED:
                continue
            of_group = there[row.group]
            now = of_group if isinstance(of_group, KcliError) else of_group[row.target]
            if isinstance(now, KcliError):
                row.verdict = failed(now, row.verdict.offset)
            elif now is not None and now.offset == row.verdict.offset and now.metadata == row.commit.metadata:
                row.verdict = Verdict(Outcome.UNCHANGED, now.offset, "it is committed already")
            elif now is not None and now.offset not in (
                row.verdict.offset,
                memory.get(row.target, {}).get(_key(row.group)),
            ):
                why = f"the group has committed offset {now.offset} on the target"
                row.verdict = Verdict(Outcome.REFUSED, row.verdict.offset, why, _TAKE_BACK)

    def _commit(self, planned: Sequence["_Row"]) -> None:
        """Commits what is planned, and reads it back."""
        wanted: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
        for row in planned:
            assert row.one is not None
            assert row.verdict.offset is not None
            wanted.setdefault(row.group, {})[row.target] = OffsetAndMetadata(
                row.verdict.offset, row.commit.metadata, topic_id=id_bytes(row.one.topic_id)
            )  # without a leader epoch: that of the export means nothing here
        if not wanted:
            return
        stored: Mapping[str, Stored]
        back: Mapping[str, Committed | KcliError]
        try:
            stored = self._admin.commit_offsets({GroupMetadata(name): rows for name, rows in wanted.items()})
        except KcliError as error:
            stored = {name: dict.fromkeys(rows, error) for name, rows in wanted.items()}
        doubtful = {
            name: [tp for tp, error in answers.items() if error is None or is_lost(error)]
            for name, answers in stored.items()
        }
        try:
            asked = {name: tps for name, tps in doubtful.items() if tps}
            back = self._admin.fetch_offsets(asked) if asked else {}
        except KcliError as error:
            back = dict.fromkeys(wanted, error)
        for row in planned:
            of_group = back.get(row.group, {})
            now = of_group if isinstance(of_group, KcliError) else of_group.get(row.target)
            row.verdict = settle(row.verdict, stored[row.group][row.target], now)
            if row.verdict.status is Outcome.DONE and isinstance(now, OffsetAndMetadata):
                row.verdict = _read_back(row, now)

    def _read_memory(self, rows: Sequence["_Row"]) -> dict[TopicPartition, Pairs]:
        """What earlier runs have set, by partition of the target and key of the group."""
        targets = {row.target for row in rows if row.verdict.status is Outcome.PLANNED}
        return read_offsets(self._admin, self._memory, sorted(targets)) if targets else {}

    def _remember(
        self,
        rows: Sequence["_Row"],
        memory: Mapping[TopicPartition, Pairs],
        warn: Callable[[str], object],
    ) -> None:
        """Keeps what is set, for a later run."""
        known = {tp: dict(pairs) for tp, pairs in memory.items()}
        for row in rows:
            if row.verdict.status in (Outcome.DONE, Outcome.UNCHANGED) and row.verdict.offset is not None:
                known.setdefault(row.target, {})[_key(row.group)] = row.verdict.offset
        wanted: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
        for tp, pairs in known.items():
            if pairs != memory.get(tp):
                for name, commit in commits_of(self._memory, pairs).items():
                    wanted.setdefault(name, {})[tp] = commit
        try:
            answers = self._admin.commit_offsets(wanted) if wanted else {}  # type: ignore[arg-type]
            errors = [error for rows_ in answers.values() for error in rows_.values() if error is not None]
        except KcliError as error:
            errors = [error]
        if errors:
            warn(f"a later run takes these positions for those of the groups themselves: {errors[0]}")


class _Row:
    """A position on its way."""

    def __init__(
        self,
        group: str,
        source: TopicPartition,
        commit: OffsetAndMetadata,
        one: RestoredPartition | None,
        verdict: Verdict,
    ) -> None:
        self.group, self.source, self.commit, self.one, self.verdict = group, source, commit, one, verdict

    @property
    def target(self) -> TopicPartition:
        """Of what is planned."""
        assert self.one is not None
        return self.one.target


def _in_log(verdict: Verdict, log: LogEnds) -> Verdict:
    at = verdict.offset
    if log.start is None or log.end is None:
        return failed(log.error or KcliError("the log cannot be read", why=log.note or ""), at)
    if at is None:  # nothing was restored
        if log.start == log.end:
            return verdict._replace(offset=log.end)
        why = "none of its records is in the export, and the target has records of something else"
        return Verdict(Outcome.REFUSED, why=why)
    if at < log.start:
        why = f"offset {at} was removed on the target: its log begins at {log.start}"
        return Verdict(Outcome.REFUSED, at, why)
    if at > log.end:
        return Verdict(Outcome.FAILED, at, f"the log of the target ends at offset {log.end}: it lost records")
    return verdict


def _read_back(row: _Row, now: OffsetAndMetadata) -> Verdict:
    if now.offset == row.verdict.offset and now.metadata != row.commit.metadata:
        return Verdict(Outcome.FAILED, now.offset, "other metadata was read back")
    return row.verdict


def _key(group: str) -> int:
    return int(hashlib.sha256(group.encode()).hexdigest()[:12], 16)
