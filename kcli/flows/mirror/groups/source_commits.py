"""What the selected groups have committed on the source, for partitions that are mirrored; and what of it is missing.

Without a source it is what the job has seen of it last. Errors of brokers are in what is missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from kcli.account.outcomes import Outcome
from kcli.account.survey import Missing
from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import Committed
from kcli.core.errors import KcliError
from kcli.core.near_names import near_names
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.groups.memory import GroupMemory
from kcli.flows.mirror.groups.offsets import Mapped, SyncedOffset, Verdict, failed
from kcli.flows.mirror.groups.selection import GroupSelectors, others
from kcli.output.progress import counted

Maps = Mapping[TopicPartition, Mapped]

_SHARE = "share"
_NOT_SELECTED = "check --sync-groups and --from"


class SourceCommits:
    """``commits``: by group and partition. ``absent`` is what is not there, or could not be read, ``missing`` what lists
    of groups lack.
    """

    def __init__(self, selectors: GroupSelectors, maps: Maps, memory: GroupMemory) -> None:
        self._selectors, self._maps, self._memory = selectors, maps, memory
        self.commits: dict[str, dict[TopicPartition, OffsetAndMetadata]] = {}
        self.absent: list[SyncedOffset] = []
        self.missing: list[Missing] = []
        self._types: dict[str, str] | None = None  # of the groups that are listed; None: they are not known

    def recall(self) -> None:
        """From the memory of the job, which no list of groups is needed for."""
        seen = self._memory.groups()
        self._types = dict.fromkeys(seen, "")
        for group in self._chosen(seen):
            for tp, known in self._memory.commits(group, self._maps).items():
                one = OffsetAndMetadata(known.source_offset, known.metadata)
                self.commits.setdefault(group, {})[tp] = one
        self._account("the job has seen no offset that it committed on the source")

    def read(self, source: Admin) -> None:
        """From the source's coordinators. Brokers before 2.5 cannot wait for transactions that are open. What they return
        was committed before these, thus is never ahead of the group; a later look finds the rest.
        """
        try:
            if self._selectors.patterns:
                self._list(source)
            # A list without the groups of a coordinator that is away: those that an earlier look has seen were asked for.
            known = self._memory.groups() if self.missing else ()
            wanted = self._wanted(source, self._chosen({*(self._types or ()), *known}))
            stable = source.lacks("fetch_stable") is None
            found = source.fetch_offsets(wanted, require_stable=stable) if wanted else {}
        except KcliError as error:
            if self._selectors.patterns and not self.missing:
                self.missing.append(Missing.of(error, "the groups of the source"))
            self.absent.clear()
            for group in self._chosen(self._memory.groups()):
                self._unreadable(group, error)
        else:
            for group, committed in found.items():
                self._take(group, committed)
            if self._types is None and any(name not in self.commits for name in self._selectors.names):
                self._list_for_names(source)
        self._account("it has committed no offset of a mirrored partition")

    def _list(self, source: Admin) -> None:
        listing = source.list_groups()
        self._types = {row.group_id: row.type for row in listing.groups}
        self.missing += map(Missing.of, listing.missing)

    def _list_for_names(self, source: Admin) -> None:
        """For the reason why a group that is named has no offsets; its coordinator has answered, whoever else has not."""
        try:
            self._types = {row.group_id: row.type for row in source.list_groups().groups}
        except KcliError:
            return

    def _chosen(self, groups: Iterable[str]) -> list[str]:
        """The groups that are named, then those that patterns select."""
        listed = sorted(groups)
        by_pattern = (self._selectors.selected(one, listed) for one in self._selectors.patterns)
        return list(dict.fromkeys([*self._selectors.names, *chain.from_iterable(by_pattern)]))

    def _wanted(self, source: Admin, chosen: Sequence[str]) -> dict[str, list[TopicPartition]]:
        """The partitions to be asked for: all that are mirrored where a group is named, else those that it has commits
        of, or had: a pattern may select thousands of groups that read other topics.
        """
        names, types = self._selectors.names, self._types or {}
        wanted = {name: list(self._maps) for name in names}
        others = [group for group in chosen if group not in wanted and types.get(group) != _SHARE]
        for group, committed in (source.fetch_offsets(dict.fromkeys(others)) if others else {}).items():
            if isinstance(committed, KcliError):
                self._unreadable(group, committed)
            elif own := committed.keys() & self._maps.keys() | self._made(group):
                wanted[group] = sorted(own)
        for group in chosen:
            if group not in names and types.get(group) == _SHARE:
                self._absent(group, _of_share_group())
        return wanted if self._maps else {}

    def _made(self, group: str) -> set[TopicPartition]:
        """The partitions in which the job has set an offset of the group."""
        return {tp for tp, known in self._memory.commits(group, self._maps).items() if known.made}

    def _take(self, group: str, committed: Committed | KcliError) -> None:
        if isinstance(committed, KcliError):
            self._unreadable(group, committed)
            return
        made = self._made(group)
        for tp, commit in committed.items():
            if isinstance(commit, OffsetAndMetadata):
                self.commits.setdefault(group, {})[tp] = commit
            elif isinstance(commit, KcliError):
                self._absent(group, failed(commit, status=Outcome.MISSING), tp)
            elif tp in made:
                self._absent(
                    group, Verdict(Outcome.MISSING, why="it is not committed on the source any more"), tp
                )

    def _unreadable(self, group: str, error: KcliError) -> None:
        """A group of which nothing could be read: in the partitions that earlier looks have seen, if any."""
        verdict = failed(error, status=Outcome.MISSING)
        for tp in self._memory.commits(group, self._maps) or [None]:
            self._absent(group, verdict, tp)

    def _absent(self, group: str, verdict: Verdict, tp: TopicPartition | None = None) -> None:
        if tp is None:
            self.absent.append(SyncedOffset(group, None, None, None, verdict))
            return
        known = self._memory.known(group, tp, self._maps[tp])
        self.absent.append(
            SyncedOffset(
                group,
                tp,
                self._maps[tp].target,
                known.source_offset if known is not None else None,
                verdict._replace(offset=known.made[-1] if known is not None and known.made else None),
                known.made_ms if known is not None and known.made else None,
            )
        )

    def _account(self, why: str) -> None:
        """Adds what was asked for and of which there is nothing; ``why`` a group has no offsets."""
        present = self.commits.keys() | {one.group for one in self.absent}
        for name in self._selectors.names:
            if name not in present:
                self._absent(name, self._nothing(name, why))
        for selector in self._selectors.patterns:
            matching = self._selectors.selected(selector, {*(self._types or ()), *present})
            if present.isdisjoint(matching):
                self._absent(selector, self._none_of(matching))

    def _nothing(self, name: str, why: str) -> Verdict:
        if self._types is None or name in self._types:
            if (self._types or {}).get(name) == _SHARE:
                return _of_share_group()
            return Verdict(Outcome.MISSING, why=why)
        near = near_names(name, others(self._types), 3)
        do = f"did you mean {', '.join(near)}?" if near else _NOT_SELECTED
        return Verdict(Outcome.MISSING, why="no group of that name has a member or a committed offset", do=do)

    def _none_of(self, matching: Sequence[str]) -> Verdict:
        if self.missing:
            return Verdict(Outcome.MISSING, why="no group that it selects was listed")
        if not matching:
            return Verdict(Outcome.MISSING, why="it selects no group", do=_NOT_SELECTED)
        many = counted(len(matching), "group")
        return Verdict(
            Outcome.MISSING,
            why=f"of the {many} that it selects none has committed an offset of a mirrored partition",
        )


def _of_share_group() -> Verdict:
    return Verdict(
        Outcome.REFUSED,
        why="it is a share group: what its members have acknowledged is no offset that can be translated",
        do="leave it out, or exclude it with --exclude-groups",
    )
