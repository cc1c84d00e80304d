"""``kcli groups remove-members``: removes members from a group (KIP-345): of consumers only, as LeaveGroup does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import Any

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.members import GroupMember
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import own_group_danger
from kcli.flows.groups.description import SHARE, STREAMS
from kcli.flows.groups.members import MEMBERS, described, member_row, member_table, stop_share_members
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.permitted import denied_groups
from kcli.output.progress import counted
from kcli.output.tables import Column

REASON = "removed by an operator with kcli groups remove-members"
_MEANINGS = {
    "member_id": "Id of the member; where it does not exist, what was given for it.",
    "instance_id": "Instance id of a static member; null for others.",
    "client_id": "Client id of the member; null where it does not exist.",
    "host": "Host of the member; null where it does not exist.",
    "partitions": "How many partitions it has; null where it is unknown.",
}


class StillMemberError(KcliError):
    """A member that was removed is in the group."""

    exit_code = ExitCode.REFUSED


class Member(NamedTuple):
    """A member by its id, or, where there is none, by the word that was given for it."""

    group: str
    word: str

    def __str__(self) -> str:
        return f"member {self.word} of group {self.group}"


MemberItem = Item[Member, MemberDescription | None]


class MemberRemoval(Change[Member, MemberDescription | None]):
    """The members with these ids or instance ids; without any, all."""

    kind = "MemberRemove"
    printed_by = "groups remove-members"
    item_meaning = "A member."
    columns = (
        Column("group"),
        *(Column(one.key, one.kind, spare=one.spare, meaning=_MEANINGS[one.key]) for one in MEMBERS),
    )
    quiet_report = True

    def __init__(self, group: str, words: Sequence[str]) -> None:
        self.group, self.words = group, words
        self.nothing = f"group {group} has no members"
        self._description: GroupDescription | None = None
        self._removed: set[Member] = set()

    def decide(self, admin: Admin) -> list[MemberItem]:
        """Members that do not exist are refused."""
        group = self._described(admin, include_operations=True)
        denied = denied_groups({self.group: group}, "READ", "removing members of group {}").get(self.group)
        self._description = group
        items: dict[Member, MemberItem] = {}
        for word in self.words or (None,):
            named = [one for one in group.members if word in (None, one.member_id, one.instance_id)]
            if word is not None and not named:
                key = Member(self.group, word)
                items[key] = Item(key, None, Outcome.REFUSED, self._unknown(word))
            for member in named:
                key = Member(self.group, member.member_id)
                item: MemberItem = Item(key, member)
                items[key] = item if denied is None else item._replace(outcome=Outcome.REFUSED, error=denied)
        return list(items.values())

    def _described(self, admin: Admin, *, include_operations: bool = False) -> GroupDescription:
        found = admin.describe_groups([self.group], include_operations=include_operations, all_types=True)
        group = found[self.group]
        if not isinstance(group, KcliError) and group.type == SHARE:
            raise UnsupportedError(
                f"members of group {self.group} cannot be removed",
                why="it is a share group, and LeaveGroup, by which others remove members, is for consumer groups",
                do=stop_share_members(self.group),
            )
        if isinstance(group, KcliError):
            if include_operations:
                name_nearest(admin, found)
            raise group
        return group

    def _unknown(self, word: str) -> NotFoundError:
        return NotFoundError(
            f"group {self.group} has no member {word}",
            why="members are named by their member id or their instance id",
            do=f"`kcli groups describe {quote(self.group)} --members` lists the members",
        )

    def text(self, plan: Sequence[MemberItem]) -> str:
        """The members that would be removed, and what they and the remaining members notice."""
        text = self._text(plan)
        own = own_group_danger(self.group) if text else None
        return text if own is None else f"{text}\n{own}."

    def _text(self, plan: Sequence[MemberItem]) -> str:
        leaving = [item.facts for item in plan if item.facts is not None]
        group = self._description
        if not leaving or group is None:
            return ""
        count = counted(len(group.members), "member")
        lines = [f"Remove {len(leaving)} of {count} from {described(group)}.", *member_table(leaving)]
        lines.append(
            "They notice at their next heartbeat, lose their partitions, and can no longer commit what they have read\n"
            "since their last commit: it will be read again. Consumers that keep running rejoin by themselves: stop them "
            "first\nif they are to stay away."
        )
        if len(leaving) < len(group.members):
            lines.append("The members that stay take over the partitions in one rebalance.")
        return "\n".join(lines)

    def questions(self, plan: Sequence[MemberItem]) -> list[Question]:
        """The name of the group has to be typed."""
        sentence = f"Remove these members of group {self.group}?"
        return [Question(self._text(plan), sentence, name=self.group, danger=own_group_danger(self.group))]

    def again(self, item: MemberItem, now: MemberItem | None) -> MemberItem:
        """A member may have got other partitions meanwhile."""
        if now is None:
            word = item.key.word
            return item._replace(outcome=Outcome.REFUSED, error=self._unknown(word))
        return now if now.outcome is not Outcome.PLANNED else item

    def apply(self, admin: Admin, todo: Sequence[MemberItem]) -> dict[Member, KcliError | None]:
        """Removes the members."""
        members = {
            item.key: GroupMember(item.facts.member_id, item.facts.instance_id)
            for item in todo
            if item.facts is not None
        }
        streams = [self.group] if self._description and self._description.type == STREAMS else []
        wanted = {self.group: [*members.values()]}
        answers = admin.remove_members(wanted, reason=REASON, streams=streams)[self.group]
        found = {key: answers[member] for key, member in members.items()}
        self._removed = {key for key, error in found.items() if error is None}
        return found

    def read_back(
        self, admin: Admin, items: Sequence[MemberItem]
    ) -> Mapping[Member, Found[MemberDescription | None] | KcliError]:
        """Whether the members are gone. A consumer of KIP-848 or KIP-1071 that keeps running rejoins with the id that it
        had: where the broker confirmed that it was removed, that is no contradiction.
        """
        try:
            group = self._described(admin)
        except NotFoundError:  # with its last member, where it has no offsets
            return {item.key: Found(item.facts) for item in items}
        rejoins = self._removed if group.type in ("consumer", STREAMS) else set()
        left = {Member(self.group, member.member_id) for member in group.members} - rejoins
        return {item.key: Found(item.facts, _still(item.key) if item.key in left else None) for item in items}

    def row(self, item: MemberItem) -> dict[str, Any]:
        """The values of the columns."""
        member = dict.fromkeys(_MEANINGS) if item.facts is None else member_row(item.facts)
        return {"group": item.key.group, **member, "member_id": item.key.word}

    def summary(self, items: Sequence[MemberItem]) -> Iterable[str]:
        """How many are gone."""
        if items:
            yield f"removed {counted(len(items), 'member')} from group {self.group}"


def _still(key: Member) -> KcliError:
    return StillMemberError(
        f"{key} was removed, and is in the group",
        why="the group was described after the removal, and has it",
        do="a consumer that keeps running rejoins: stop it first",
    )
