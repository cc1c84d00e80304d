"""``kcli groups delete``: deletes groups without members, with all their committed offsets; share groups with their start
offsets and what is acknowledged after them. Configurations of groups stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from kcli.account.change import Change, ChangedError, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription
from kcli.core.classes import NamedTuple
from kcli.core.cluster.metadata import OR_HIDDEN
from kcli.core.error_codes import NON_EMPTY_GROUP
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.core.names import group_shown, is_own_group, means_own_groups, own_group_danger
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.losses import FORGOTTEN, StillThereError, journal_of
from kcli.flows.groups.members import described, live_error, member_table
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.groups.stored_offsets import read_offsets
from kcli.flows.journal import Draft
from kcli.flows.permitted import denied_groups, hidden
from kcli.output.progress import counted
from kcli.output.tables import Column, indented_table

_TOPICS = (Column("topic"), Column("committed_offsets", "number"))
_SHARE_TOPICS = (Column("topic"), Column("start_offsets", "number"))


class Unlisted(NamedTuple):
    """The groups that a broker coordinates and did not list: some of them may match."""

    broker: int


class Group(NamedTuple):
    """A group with its offsets, of a share group start offsets."""

    description: GroupDescription
    committed: Committed | KcliError

    @property
    def offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets that could be read."""
        if isinstance(self.committed, KcliError):
            return {}
        return {tp: one for tp, one in self.committed.items() if isinstance(one, OffsetAndMetadata)}

    @property
    def partitions(self) -> set[TopicPartition] | None:
        """Those with a committed offset; None where they are not known."""
        if isinstance(self.committed, KcliError):
            return None
        return {tp for tp, offset in self.committed.items() if offset is not None}


Key = str | Unlisted
GroupItem = Item[Key, Group | None]


class GroupDeletion(Change[Key, Group | None]):
    """The groups with these names, and those that ``match`` a shell pattern. ``check`` is called with all names before
    anything is asked about them.
    """

    kind = "GroupDelete"
    printed_by = "groups delete"
    item_meaning = "A group, or the groups that a broker could not list."
    columns = (
        Column("group", meaning="Name of the group; null for those that could not be listed."),
        Column("type", meaning="classic, consumer, share or streams; null where it is unknown."),
        Column("state", meaning="State of the group; null where it is unknown."),
        Column("members", "number", meaning="How many members it has; null where it is unknown."),
        Column(
            "committed_offsets",
            "number",
            meaning="How many partitions have a committed offset, or a start offset; null where it is unknown.",
        ),
    )
    quiet_report = True

    def __init__(
        self, names: Sequence[str], match: str | None, check: Callable[[Sequence[str]], object]
    ) -> None:
        self.names, self.match, self._check = names, match, check
        self._scope: list[GroupItem] | None = None
        self._hidden: list[str] = []

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(groups=self.names, listing=self.match is not None)

    def decide(self, admin: Admin) -> list[GroupItem]:
        """Groups with members are refused. The scope is that of the first call: later ones look again at its groups."""
        admin.require("delete_groups")
        if self._scope is None:
            self._scope = self._listed(admin)
        names = [item.key for item in self._scope if isinstance(item.key, str)]
        found = admin.describe_groups(names, include_operations=True, all_types=True) if names else {}
        name_nearest(admin, found)
        groups = {name: one for name, one in found.items() if not isinstance(one, KcliError)}
        shares = [name for name, one in groups.items() if one.type == SHARE]
        committed = read_offsets(admin, dict.fromkeys(groups), shares)
        denied = denied_groups(groups, "DELETE", "deleting group {}")

        def decided(name: str) -> GroupItem:
            one = found[name]
            if isinstance(one, KcliError):
                return Item(name, None, Outcome.REFUSED, one)
            error = denied.get(name)
            if error is None and one.members:
                error = live_error(one, f"group {group_shown(name)} was not deleted")
            item: GroupItem = Item(name, Group(one, committed[name]))
            return item if error is None else item._replace(outcome=Outcome.REFUSED, error=error)

        return [decided(item.key) if isinstance(item.key, str) else item for item in self._scope]

    def _listed(self, admin: Admin) -> list[GroupItem]:
        names = dict.fromkeys(self.names)
        if self.match is None:
            return [Item(name, None) for name in names]
        listing = admin.list_groups()
        matching = [row.group_id for row in listing.groups if fnmatchcase(row.group_id, self.match)]
        own = means_own_groups(self.match)
        chosen = [name for name in matching if own or not is_own_group(name)]
        if not (chosen or names or listing.errors):
            but = " but kcli's own, which are deleted by their names" if matching else ""
            raise NotFoundError(
                f"no group matches {self.match}{but}",
                why=f"nothing was deleted; the cluster has no other group with such a name, {OR_HIDDEN}",
                do="`kcli groups list` lists the groups",
            )
        self._hidden = hidden(admin, "groups") if chosen else []
        names |= dict.fromkeys(chosen)
        self._check(tuple(names))
        scope: list[GroupItem] = [Item(name, None) for name in names]
        for broker, error in listing.errors.items():
            scope.append(Item(Unlisted(broker), None, Outcome.REFUSED, error))
        return scope

    def text(self, plan: Sequence[GroupItem]) -> str:
        """What goes with each group."""
        parts = []
        for item in plan:
            if item.facts is not None:
                parts.append(_plan(item.facts, refused=item.error is not None))
                if item.outcome is Outcome.PLANNED and (danger := own_group_danger(str(item.key))):
                    parts.append(f"{danger}.")
        return "\n".join(parts)

    def questions(self, plan: Sequence[GroupItem]) -> list[Question]:
        """One for each group, by its name."""
        return [
            Question(
                _plan(item.facts),
                f"Delete group {group_shown(str(item.key))}?",
                name=str(item.key),
                danger=own_group_danger(str(item.key)),
            )
            for item in plan
            if item.outcome is Outcome.PLANNED and item.facts is not None
        ]

    def warnings(self, plan: Sequence[GroupItem]) -> Iterator[str]:
        """Groups that may not have been listed, and offsets that ``kcli undo`` will lack."""
        yield from self._hidden
        for item in plan:
            if item.outcome is Outcome.PLANNED and item.facts is not None:
                partitions, readable = item.facts.partitions, len(item.facts.offsets)
                if partitions is None or len(partitions) > readable:
                    yield (
                        f"committed offsets of group {group_shown(str(item.key))} cannot be read: they will not be in "
                        "the journal, and cannot be restored"
                    )

    def again(self, item: GroupItem, now: GroupItem | None) -> GroupItem:
        """Its offsets may have moved; the plan has their number by topic."""
        if item.facts is None or now is None or now.facts is None or now.outcome is not Outcome.PLANNED:
            return super().again(item, now)
        if now.facts.partitions != item.facts.partitions:
            changed = ChangedError(f"group {group_shown(str(item.key))}")
            return item._replace(outcome=Outcome.REFUSED, error=changed)
        return item._replace(facts=now.facts)

    def journal(self, admin: Admin, todo: Sequence[GroupItem]) -> Draft | None:
        """The offsets."""
        groups = {str(item.key): item.facts for item in todo if item.facts is not None}
        shares = [name for name, group in groups.items() if group.description.type == SHARE]
        offsets = {name: group.offsets for name, group in groups.items()}
        return journal_of(admin, self.printed_by, offsets, shares)

    def apply(self, admin: Admin, todo: Sequence[GroupItem]) -> dict[Key, KcliError | None]:
        """Deletes the groups."""
        answers = admin.delete_groups([str(item.key) for item in todo])
        for error in answers.values():
            if isinstance(error, BrokerError) and error.code == NON_EMPTY_GROUP and not error.do:
                error.do = "a member has joined since the plan was made; stop it and try again"
        return dict(answers.items())

    def read_back(
        self, admin: Admin, items: Sequence[GroupItem]
    ) -> Mapping[Key, Found[Group | None] | KcliError]:
        """Whether the groups are gone."""
        found = admin.describe_groups([str(item.key) for item in items], all_types=True)
        return {item.key: _after(item, found[str(item.key)]) for item in items}

    def row(self, item: GroupItem) -> dict[str, Any]:
        """The values of the columns."""
        group = item.facts and item.facts.description
        partitions = item.facts and item.facts.partitions
        return {
            "group": item.key if isinstance(item.key, str) else None,
            "type": group.type if group else None,
            "state": group.state if group else None,
            "members": len(group.members) if group else None,
            "committed_offsets": None if partitions is None else len(partitions),
        }

    def summary(self, items: Sequence[GroupItem]) -> Iterable[str]:
        """A line for each."""
        return (f"deleted group {group_shown(str(item.key))}" for item in items)


def _plan(group: Group, *, refused: bool = False) -> str:
    """What goes with the group."""
    of_share = group.description.type == SHARE
    noun = "start offset" if of_share else "committed offset"
    what, members = described(group.description), member_table(group.description.members)
    end = ", which is refused" if refused else ""
    if group.partitions is None:
        return "\n".join(
            [f"Delete {what}{end}; how many {noun}s it has is not known: {group.committed}", *members]
        )
    counts = Counter(tp.topic for tp in group.partitions)
    columns = _SHARE_TOPICS if of_share else _TOPICS
    rows = [{columns[0].key: topic, columns[1].key: count} for topic, count in sorted(counts.items())]
    line = f"Delete {what} with {counted(len(group.partitions), noun)}{end}."
    kept = [FORGOTTEN] if of_share else []
    return "\n".join([line, *indented_table(columns, rows), *members, *kept])


def _after(item: GroupItem, found: GroupDescription | KcliError) -> Found[Group | None] | KcliError:
    if isinstance(found, NotFoundError):
        return Found(item.facts)
    if isinstance(found, KcliError):
        return found
    return Found(item.facts, StillThereError(f"group {group_shown(str(item.key))}"))
