"""The members of a group."""

from collections.abc import Sequence

from kcli.flows.lag.summary import summary
from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.member_columns import COLUMNS, MemberRow
from kcli.tui.screens.group_config import GroupConfig
from kcli.tui.screens.listing import LISTS
from kcli.tui.screens.of_group import GROUP_KEYS, OfGroup
from kcli.tui.shell import command


class GroupMembers(OfGroup[MemberRow]):
    """Who they are, where they run, and how far behind each is."""

    NAME = "members"
    ITEM = "TopMember"
    COLUMNS = COLUMNS
    SORTED_BY = "CLIENT"
    NOTHING = "no members"
    KEYS = (("tab", "configuration"), *GROUP_KEYS, *LISTS)

    def key(self, row: MemberRow) -> str:
        return f"{row.member.client_id} {row.member.member_id}"

    def rows(self, snapshot: Snapshot) -> Sequence[MemberRow]:
        samples = snapshot.reading.sample.groups
        description = next((one.description for one in samples if one.group == self.group), None)
        if description is None:
            return []
        rows = {row.tp: row for row in snapshot.rows.get(self.group, ())}
        return [
            MemberRow(member, summary([rows[tp] for tp in member.assignment or () if tp in rows]))
            for member in description.members
        ]

    def action_next(self) -> None:
        self.app.switch_screen(GroupConfig(self.group))

    def copied(self) -> str:
        return command(("groups", "describe"), (self.group,), ("--members",), self.app.facts.options)
