"""What is configured for a group, and what its coordinator says of it."""

from __future__ import annotations

from collections.abc import Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.errors import UnsupportedError
from kcli.flows.monitor.snapshot import Snapshot
from kcli.tui.config_columns import COLUMNS, ConfigRow, entry_rows, fact_rows
from kcli.tui.errands import Done, Errands
from kcli.tui.screens.listing import LISTS
from kcli.tui.screens.of_group import GROUP_KEYS, OfGroup
from kcli.tui.shell import command


class GroupConfig(OfGroup[ConfigRow]):
    """Facts of the last reading; the configuration is read once, when the screen is opened."""

    NAME = "configuration"
    ITEM = "TopConfig"
    COLUMNS = COLUMNS
    SORTED_BY = "NAME"
    NOTHING = "the group does not exist, or may not be described"
    KEYS = (("tab", "partitions"), *GROUP_KEYS, *LISTS)

    def __init__(self, group: str) -> None:
        super().__init__(group)
        self._entries: Sequence[ConfigEntry] = ()
        self._answer = ConfigRow(99, "configuration", "reading …", "", "dim")
        self._errands: Errands[Admin] | None = None

    def on_mount(self) -> None:
        """Reads the configuration."""
        actions = self.app.actions
        if actions is None:
            self._answer = ConfigRow(99, "configuration", "only of a live cluster", "", "dim")
            return
        self._errands = Errands(lambda _voice: actions.open_admin(), self.post_message)
        self.app.hire(self._errands)
        resource = ConfigResource(ConfigKind.GROUP, self.group)
        self._errands.do("config", lambda admin: admin.describe_configs([resource])[resource])

    def on_unmount(self) -> None:
        """The client is closed by its thread."""
        if self._errands is not None:
            self._errands.close()

    def on_done(self, message: Done) -> None:
        """The keys, or why they are not known."""
        found = message.result if message.error is None else message.error
        if isinstance(found, UnsupportedError):
            text = "brokers keep none for groups: that is new in Kafka 3.8 (KIP-848)"
            self._answer = ConfigRow(99, "configuration", text, "", "dim")
        elif isinstance(found, BaseException) and self.app.actions is not None:
            trouble = self.app.actions.trouble(found)
            text = "; ".join(filter(None, (trouble.what, trouble.why, trouble.do)))
            self._answer = ConfigRow(99, "configuration", text, "", "bad")
        elif isinstance(found, list):
            self._entries = found
            self._answer = ConfigRow(99, "configuration", "brokers keep none for this group", "", "dim")
        if self._errands is not None:
            self._errands.close()
        self.repaint()

    def key(self, row: ConfigRow) -> str:
        return row.name

    def rows(self, snapshot: Snapshot) -> Sequence[ConfigRow]:
        samples = snapshot.reading.sample.groups
        description = next((one.description for one in samples if one.group == self.group), None)
        facts = [] if description is None else fact_rows(description)
        kind = "" if description is None else description.type
        return [*facts, *(entry_rows(self._entries, kind, 100) or [self._answer])]

    def action_next(self) -> None:
        self.app.show_partitions(self.group)

    def copied(self) -> str:
        return command(("configs", "describe", "groups"), (self.group,), ("--all",), self.app.facts.options)
