"""The mode IMPORT of subjects: set while their schemas are registered with ids, restored, and what a run that was killed
has left.

The journal of the run has the modes before for as long as they are not restored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kcli.core.errors import KcliError
from kcli.flows.journal import Draft, Entry, Journal, RegistrySettingEntry, amend, listed
from kcli.flows.registry.errors import is_silent, not_sent
from kcli.flows.registry.settings import restore_mode
from kcli.serde.registry.admin import IMPORT, RegistryAdmin

_MODE = "mode"
_ON_PURPOSE = "registry mode"


class ImportMode:
    """Of the subjects of one run."""

    def __init__(self) -> None:
        self._before: dict[str, str | None] = {}
        self._there: dict[str, Journal | None] = {}
        self._draft: Draft | None = None

    def is_there(self, admin: RegistryAdmin, subject: str) -> None:
        """The subject is in the mode before anything is done."""
        if subject not in self._there:
            self._there[subject] = left_by(admin.address, subject)

    def warnings(self) -> Iterator[str]:
        """What becomes of the subjects that are in the mode already."""
        for subject, journal in self._there.items():
            start = f"subject {subject} is in mode IMPORT already"
            if journal is None:
                yield f"{start}, and stays in it; `kcli registry mode {subject} --set READWRITE` ends it"
            else:
                then = _before(journal, subject) or "that of all subjects"
                yield f"{start}: the run of journal {journal.id} has left it so; it gets its mode again ({then})"

    def entries(self, admin: RegistryAdmin, subjects: Collection[str]) -> list[RegistrySettingEntry]:
        """For the journal of the run, of which ``keep`` is told."""
        return [
            RegistrySettingEntry(subject, _MODE, mode.value if mode.own else None, IMPORT)
            for subject in subjects
            if (mode := admin.mode(subject)).value != IMPORT
        ]

    def keep(self, draft: Draft) -> Draft:
        """The journal that has the modes before."""
        self._draft = draft
        return draft

    def begin(self, admin: RegistryAdmin, subject: str) -> None:
        """Sets it where the subject is in another one."""
        mode = admin.mode(subject)
        if mode.value != IMPORT:
            self._before[subject] = mode.value if mode.own else None
            admin.set_mode(subject, IMPORT, force=True)

    def end(self, admin: RegistryAdmin) -> list[KcliError]:
        """The modes as they were before; also those that a run that was killed has left."""
        left = {subject: journal for subject, journal in self._there.items() if journal is not None}
        self._there = {subject: None for subject in self._there if subject not in left}
        before = {subject: _before(journal, subject) for subject, journal in left.items()} | self._before
        self._before = {}
        errors, restored = list[KcliError](), list[str]()
        for subject, mode in before.items():
            silent = errors[-1] if errors and is_silent(errors[-1]) else None
            try:
                if silent is not None:
                    raise not_sent(f"the mode of {subject}", silent)
                restore_mode(admin, subject, mode)
                restored.append(subject)
            except KcliError as error:
                error.do = (
                    f"`kcli registry mode {subject} --set READWRITE` lets producers register schemas again"
                )
                errors.append(error)
        if self._draft is not None:
            self._draft.amend(_without(self._draft.entries, restored))
        for journal in {journal.id: journal for journal in left.values()}.values():
            amend(journal, _without(journal.entries, restored))
        return errors


def end_left(admin: RegistryAdmin, journal: Journal) -> Iterator[KcliError]:
    """Restores the modes that the run of this journal has left, because it was killed."""
    restored = []
    for entry in journal.entries:
        if not isinstance(entry, RegistrySettingEntry) or not _is_mode_of(entry, entry.subject):
            continue
        if admin.mode(entry.subject) == (IMPORT, True):
            try:
                restore_mode(admin, entry.subject, entry.before)
            except KcliError as error:
                yield error
                continue
        restored.append(entry.subject)
    if restored:
        amend(journal, _without(journal.entries, restored))


def left_by(address: str, subject: str) -> Journal | None:
    """The run that has left the subject in the mode; None if none has, or the mode was set on purpose since."""
    for journal in reversed(listed(address)[0]):
        if any(_is_mode_of(entry, subject) for entry in journal.entries):
            return None if journal.command == _ON_PURPOSE else journal
    return None


def is_import_mode(entry: object) -> bool:
    """Whether the entry of an import is the mode IMPORT, in which a subject is meanwhile."""
    return isinstance(entry, RegistrySettingEntry) and (entry.key, entry.after) == (_MODE, IMPORT)


def _is_mode_of(entry: object, subject: str) -> bool:
    return isinstance(entry, RegistrySettingEntry) and is_import_mode(entry) and entry.subject == subject


def _before(journal: Journal, subject: str) -> str | None:
    (mode,) = (
        entry.before
        for entry in journal.entries
        if isinstance(entry, RegistrySettingEntry) and _is_mode_of(entry, subject)
    )
    return mode


def _without(entries: Collection[Entry], subjects: Collection[str]) -> list[Entry]:
    return [entry for entry in entries if not any(_is_mode_of(entry, subject) for subject in subjects)]
