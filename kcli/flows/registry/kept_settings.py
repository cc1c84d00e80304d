"""Compatibilities and modes among the items of a change of versions: those of an export, and those that ``kcli undo``
sets back.

The key of such an item has the version ``COMPATIBILITY`` or ``MODE``; the text of its schema is the value now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kcli.account.change import Item
from kcli.account.outcomes import Outcome
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.flows.journal import RegistrySettingEntry
from kcli.flows.registry.errors import NotAppliedError
from kcli.flows.registry.names import COMPATIBILITY, MODE, VersionKey
from kcli.flows.registry.settings import changed_since
from kcli.flows.registry.version_change import LIVE, NONE, VersionFacts, VersionItem, each
from kcli.output.progress import counted
from kcli.serde.errors import RegistryError
from kcli.serde.registry.admin import IMPORT, RegistryAdmin, Setting
from kcli.serde.registry.client import Schema

_VERSION = {"compatibility": COMPATIBILITY, "mode": MODE}
_INCOMPATIBLE = 409


class Wanted(NamedTuple):
    """``value``: None for none of its own. ``undoes``: what made it another one; it is refused where it has been changed
    since.
    """

    subject: str
    key: str
    value: str | None
    undoes: RegistrySettingEntry | None = None

    @classmethod
    def before(cls, entry: RegistrySettingEntry) -> Wanted:
        """What it was before the change of a journal."""
        return cls(entry.subject, entry.key, entry.before, entry)


class KeptSettings:
    """The settings that subjects are to have."""

    def __init__(self, wanted: Iterable[Wanted]) -> None:
        self._wanted = {VersionKey(one.subject, _VERSION[one.key]): one for one in wanted}

    def decide(self, admin: RegistryAdmin, *, importing: bool = False) -> list[VersionItem]:
        """The items. ``importing``: a mode IMPORT is that of a run which was killed, and is as good as none."""
        return [
            self._decided(key, one, self._own(admin, one), importing) for key, one in self._wanted.items()
        ]

    def _decided(self, key: VersionKey, one: Wanted, now: str | None, importing: bool) -> VersionItem:
        facts = VersionFacts(Schema(-1, "", now or "", subject=key.subject), NONE if now is None else LIVE)
        item: VersionItem = Item(key, facts, note=f"{one.key} {one.value or 'that of all subjects'}")
        if now == one.value:
            return item._replace(outcome=Outcome.UNCHANGED)
        left = importing and key.version == MODE and now == IMPORT
        if one.undoes is None or left or now == one.undoes.after:
            return item
        return item._replace(outcome=Outcome.REFUSED, error=changed_since(one.undoes, now))

    def send(self, admin: RegistryAdmin, key: VersionKey) -> None:
        """Sets it, unless it is so: registries forget the settings of a subject that is deleted."""
        one = self._wanted[key]
        if self._own(admin, one) == one.value:
            return
        if key.version == MODE:
            admin.set_mode(key.subject, one.value, force=one.value == IMPORT)
        else:
            admin.set_compatibility(key.subject, one.value)

    def wrong(self, admin: RegistryAdmin, key: VersionKey) -> KcliError | None:
        """The error where it is not so when it is read back."""
        one = self._wanted[key]
        if self._own(admin, one) == one.value:
            return None
        return NotAppliedError(
            f"the {key} was set, and is not so when it is read back",
            why="another client changed it since, or this node of the registry has not read it yet",
            do=f"`kcli registry {'mode' if key.version == MODE else 'config'} {key.subject}` shows it",
        )

    def entries(self, todo: Iterable[VersionItem]) -> list[RegistrySettingEntry]:
        """For the journal of the change: a mode IMPORT is not kept, which reads as that of a run that was killed."""
        found = []
        for item in todo:
            if item.key.version <= 0:
                one = self._wanted[item.key]
                found.append(
                    RegistrySettingEntry(one.subject, one.key, item.facts.schema.text or None, one.value)
                )
        return [one for one in found if (one.key, one.after) != ("mode", IMPORT)]

    @staticmethod
    def _own(admin: RegistryAdmin, one: Wanted) -> str | None:
        read: Callable[[str], Setting] = admin.mode if one.key == "mode" else admin.compatibility
        now = read(one.subject)
        return now.value if now.own else None


def forgotten(admin: RegistryAdmin, subject: str) -> list[RegistrySettingEntry]:
    """What the registry forgets of a subject with its last version, for the journal."""
    level, mode = admin.compatibility(subject), admin.mode(subject)
    entries = []
    if level.own:
        entries.append(RegistrySettingEntry(subject, "compatibility", level.value, None))
    if mode.own and mode.value != admin.mode("").value:  # Karapace has that of all for each subject
        entries.append(RegistrySettingEntry(subject, "mode", mode.value, None))
    return entries


def versions_in(items: Iterable[VersionItem]) -> list[VersionItem]:
    """The items that are versions."""
    return [item for item in items if item.key.version > 0]


def settings_in(items: Iterable[VersionItem]) -> list[VersionItem]:
    """The items that are settings."""
    return [item for item in items if item.key.version <= 0]


def together_with(versions: Sequence[VersionItem], settings: Sequence[VersionItem]) -> list[VersionItem]:
    """Both; a setting is refused where all versions of its subject are."""
    refused: dict[str, KcliError | None] = {}
    for item in versions:
        error = item.error if item.outcome is Outcome.REFUSED else None
        refused[item.key.subject] = error and refused.get(item.key.subject, error)
    return [*versions, *(_without_versions(item, refused.get(item.key.subject)) for item in settings)]


def _without_versions(item: VersionItem, error: KcliError | None) -> VersionItem:
    if error is None or item.outcome is not Outcome.PLANNED:
        return item
    return item._replace(outcome=Outcome.REFUSED, error=error)


def loosened(items: Iterable[VersionItem]) -> set[str]:
    """The subjects whose compatibility is to be another one: it decides about their versions, not that of now."""
    return {
        item.key.subject
        for item in items
        if item.key.version == COMPATIBILITY and item.outcome is Outcome.PLANNED
    }


def register_with(
    admin: RegistryAdmin,
    todo: Sequence[VersionItem],
    settings: KeptSettings,
    register: Callable[[VersionItem], None],
) -> Mapping[VersionKey, KcliError | None]:
    """Registers the versions, then sets the settings: the compatibility before it where that of now refuses a version."""
    levels = {item.key.subject: item.key for item in todo if item.key.version == COMPATIBILITY}

    def act(item: VersionItem) -> None:
        if item.key.version <= 0:
            settings.send(admin, item.key)
            return
        try:
            register(item)
        except RegistryError as error:
            level = levels.pop(item.key.subject, None)
            if error.status != _INCOMPATIBLE or level is None:
                raise
            settings.send(admin, level)
            register(item)

    return each(todo, act)


def settings_summary(items: Sequence[VersionItem]) -> Iterable[str]:
    """How many were set."""
    for version, word in ((COMPATIBILITY, "compatibility"), (MODE, "mode")):
        count = sum(1 for item in items if item.key.version == version)
        if count:
            yield f"set the {word} of {counted(count, 'subject')}, read back"
