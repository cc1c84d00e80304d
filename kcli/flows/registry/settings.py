"""``kcli registry config`` and ``mode`` with ``--set`` and ``--unset``, and what undoes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from kcli.account.change import ChangeOf, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.flows.journal import Draft, Journal, RegistrySettingEntry
from kcli.flows.registry.errors import NotAppliedError, RegistryStateError, wait_until_empty
from kcli.output.tables import Column
from kcli.serde.errors import RegistryError
from kcli.serde.registry.admin import IMPORT, RegistryAdmin, Setting

LEVELS = (
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
    "NONE",
)
MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", IMPORT)
SUBJECT = Column(
    "subject", values="string?", meaning="Name of the subject; null for the setting of all subjects."
)
OWN = Column("own", values="boolean", meaning="Whether the registry has it for the subject itself.")
_NO_MODES = (404, 405, 501)
CONFIG = (SUBJECT, Column("compatibility", values="string", meaning="The level that applies."), OWN)
MODE = (
    SUBJECT,
    Column("mode", values="string", meaning="The mode that applies."),
    Column(
        "own",
        values="boolean?",
        meaning="Whether the registry has it for the subject itself; null where it has no modes to set, and the mode of "
        "all may be what it gives for each, as Karapace does.",
    ),
)


class Change(NamedTuple):
    """A setting that applies before, and what is to be set; None: the subject shall have none of its own."""

    before: Setting
    after: str | None


SettingItem = Item[str, Change]


class SettingChange(ChangeOf[RegistryAdmin, str, Change]):
    """A new value, or None, of a subject, or of all (empty)."""

    key: ClassVar[str]
    item_meaning = "A setting."
    columns = (
        SUBJECT,
        Column("old", values="string", meaning="The value that applied before."),
        Column("new", values="string?", meaning="The value after; null: it is that of all subjects."),
    )
    quiet_report = True

    def __init__(self, subject: str, value: str | None) -> None:
        self.subject, self.value = subject, value
        self.place = subject or "all subjects"
        self.nothing = f"nothing is to be changed: the {self.key} of {self.place} is as requested"

    def read(self, admin: RegistryAdmin) -> Setting:
        """The setting now."""
        raise NotImplementedError

    def send(self, admin: RegistryAdmin, value: str | None) -> None:
        """Sets it."""
        raise NotImplementedError

    def refusal(self, admin: RegistryAdmin) -> KcliError | None:  # noqa: ARG002
        """Why the registry would refuse it."""
        return None

    def decide(self, admin: RegistryAdmin) -> list[SettingItem]:
        """Unchanged where it is so already."""
        now = self.read(admin)
        item: SettingItem = Item(self.subject, Change(now, self.value))
        if self._is_so(now):
            return [item._replace(outcome=Outcome.UNCHANGED)]
        error = self.refusal(admin)
        return [item if error is None else item._replace(outcome=Outcome.REFUSED, error=error)]

    def _is_so(self, now: Setting) -> bool:
        return not now.own if self.value is None else now.own and now.value == self.value

    def text(self, plan: Sequence[SettingItem]) -> str:
        """One line."""
        (item,) = plan
        old = f"{item.facts.before.value}{'' if item.facts.before.own else ' (that of all subjects)'}"
        new = "that of all subjects" if self.value is None else self.value
        return f"Change the {self.key} of {self.place}: {old} → {new}"

    def questions(self, plan: Sequence[SettingItem]) -> list[Question]:
        """Nothing has to be typed."""
        return [
            Question(self.text(plan), f"Change the {self.key} of {self.place}?", subject=self.subject or None)
        ]

    def journal(self, admin: RegistryAdmin, todo: Sequence[SettingItem]) -> Draft:  # noqa: ARG002
        """The value before."""
        entries = []
        for item in todo:
            before = item.facts.before
            old = before.value if before.own else None
            entries.append(RegistrySettingEntry(item.key, self.key, old, item.facts.after))
        return Draft(self.printed_by.partition(",")[0], entries)

    def apply(self, admin: RegistryAdmin, todo: Sequence[SettingItem]) -> dict[str, KcliError | None]:
        """Sets it."""
        for item in todo:
            self.send(admin, item.facts.after)
        return dict.fromkeys(item.key for item in todo)

    def read_back(
        self, admin: RegistryAdmin, items: Sequence[SettingItem]
    ) -> dict[str, Found[Change] | KcliError]:
        """Whether it is so."""
        bad = wait_until_empty(lambda: [] if self._is_so(self.read(admin)) else [self.subject])
        error = NotAppliedError(
            f"the {self.key} of {self.place} was changed, and is not so when it is read back",
            why="another client changed it since, or this node of the registry has not read it yet",
            do=f"`kcli registry {self.command}` shows it",
        )
        return {item.key: Found(item.facts, error if bad else None) for item in items}

    @property
    def command(self) -> str:
        """The words that show it."""
        word = "config" if self.key == "compatibility" else "mode"
        return f"{word} {self.subject}".rstrip()

    def row(self, item: SettingItem) -> dict[str, Any]:
        """The values of the columns."""
        return {"subject": item.key or None, "old": item.facts.before.value, "new": item.facts.after}

    def summary(self, items: Sequence[SettingItem]) -> Iterable[str]:
        """That it was changed."""
        new = "that of all subjects" if self.value is None else self.value
        return (f"the {self.key} of {self.place} is now {new}, read back" for _ in items)


class CompatibilityChange(SettingChange):
    """The compatibility."""

    kind = "RegistryConfigAlter"
    printed_by = "registry config, undo"
    key = "compatibility"

    def read(self, admin: RegistryAdmin) -> Setting:
        """The level now."""
        return admin.compatibility(self.subject)

    def send(self, admin: RegistryAdmin, value: str | None) -> None:
        """Sets it."""
        admin.set_compatibility(self.subject, value)


class ModeChange(SettingChange):
    """The mode. ``force``: IMPORT although there are schemas."""

    kind = "RegistryModeAlter"
    printed_by = "registry mode, undo"
    key = "mode"

    def __init__(self, subject: str, value: str | None, *, force: bool = False) -> None:
        super().__init__(subject, value)
        self._force = force

    def read(self, admin: RegistryAdmin) -> Setting:
        """The mode now."""
        return admin.mode(self.subject)

    def send(self, admin: RegistryAdmin, value: str | None) -> None:
        """Sets it."""
        admin.set_mode(self.subject, value, force=self._force)

    def refusal(self, admin: RegistryAdmin) -> KcliError | None:
        """A registry without modes; and IMPORT where there are schemas, whose ids it could contradict."""
        if not admin.has_modes():
            return RegistryStateError(
                f"the registry {admin.address} has no modes to set",
                why="it does not know the request",
                do="the registry's own configuration may have one",
            )
        there = admin.version_numbers(self.subject) if self.subject else admin.subjects()
        if self.value == IMPORT and there and not self._force:
            return RegistryStateError(
                f"the mode of {self.place} cannot become IMPORT",
                why="there are schemas",
                do="--force sets it nevertheless",
            )
        return None


def undoing(journal: Journal) -> SettingChange:
    """``kcli undo``: the value before. One that was changed since is refused."""
    (entry,) = [one for one in journal.entries if isinstance(one, RegistrySettingEntry)]
    return (
        CompatibilityRestore(journal, entry) if entry.key == "compatibility" else ModeRestore(journal, entry)
    )


class CompatibilityRestore(CompatibilityChange):
    """The compatibility before a change."""

    def __init__(self, journal: Journal, entry: RegistrySettingEntry) -> None:
        super().__init__(entry.subject, entry.before)
        self._made, self._entry = journal, entry

    def decide(self, admin: RegistryAdmin) -> list[SettingItem]:
        """ConfigError on another registry."""
        return _restored(super().decide, admin, self._made, self._entry)


class ModeRestore(ModeChange):
    """The mode before a change."""

    def __init__(self, journal: Journal, entry: RegistrySettingEntry) -> None:
        super().__init__(entry.subject, entry.before, force=True)
        self._made, self._entry = journal, entry

    def decide(self, admin: RegistryAdmin) -> list[SettingItem]:
        """ConfigError on another registry."""
        return _restored(super().decide, admin, self._made, self._entry)


def _restored(
    decide: Any, admin: RegistryAdmin, made: Journal, entry: RegistrySettingEntry
) -> list[SettingItem]:
    made.check_cluster(admin.address)
    items: list[SettingItem] = decide(admin)
    return [_judged(item, entry) if item.outcome is Outcome.PLANNED else item for item in items]


def _judged(item: SettingItem, entry: RegistrySettingEntry) -> SettingItem:
    now = item.facts.before
    own = now.value if now.own else None
    if own == entry.after:
        return item
    return item._replace(outcome=Outcome.REFUSED, error=changed_since(entry, own))


def changed_since(entry: RegistrySettingEntry, own: str | None) -> RegistryStateError:
    """The error for a setting that is neither what the change has left, nor what it was before."""
    place = entry.subject or "all subjects"
    left = entry.after or "it unset"
    words = f"{'config' if entry.key == 'compatibility' else 'mode'} {entry.subject}".rstrip()
    return RegistryStateError(
        f"the {entry.key} of {place} has been changed since",
        why=f"it is {own or 'not set'}, and the change that is to be undone left {left}; nothing was done to it",
        do=f"`kcli registry {words}` shows it",
    )


def restore_mode(admin: RegistryAdmin, subject: str, before: str | None) -> None:
    """The mode as it was; where a registry cannot take one away, that of all subjects."""
    try:
        admin.set_mode(subject, before)
    except RegistryError as error:
        if before is not None or error.status not in _NO_MODES:
            raise
        admin.set_mode(subject, admin.mode("").value)
