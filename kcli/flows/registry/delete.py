"""``kcli registry delete``: deletes versions of a subject, softly or for good; and takes back what was registered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kcli.account.change import Item, Question, planned
from kcli.account.outcomes import Outcome
from kcli.core.classes import replace
from kcli.core.errors import KcliError
from kcli.flows.journal import CreatedSchemaEntry, Draft, Journal, RegistrySettingEntry, SchemaEntry
from kcli.flows.registry.errors import (
    NotAppliedError,
    RegistryStateError,
    mode_refusal,
    no_subject,
    no_version,
)
from kcli.flows.registry.import_mode import end_left, is_import_mode
from kcli.flows.registry.kept_settings import (
    KeptSettings,
    Wanted,
    forgotten,
    settings_in,
    settings_summary,
    versions_in,
)
from kcli.flows.registry.names import Named, VersionKey
from kcli.flows.registry.version_change import (
    DELETED,
    LIVE,
    ReadBack,
    VersionChange,
    VersionFacts,
    VersionItem,
    each,
    read_until,
)
from kcli.output.progress import counted
from kcli.serde.registry.admin import Registered, RegistryAdmin, alike
from kcli.serde.registry.client import Schema


class SchemaDeletion(VersionChange):
    """``named``: a version, or all versions of the subject that are not deleted; ``permanent``: those that are, too."""

    kind = "SchemaDelete"
    printed_by = "registry delete, undo"
    command = "registry delete"

    def __init__(self, named: Named, *, permanent: bool = False) -> None:
        self.named, self.permanent = named, permanent
        self._every: Sequence[Registered] = ()
        self._softly = 0

    def decide(self, admin: RegistryAdmin) -> list[VersionItem]:
        """Versions to which other schemas refer are refused."""
        subject = self.named.subject
        self._every = admin.versions(subject, deleted=True)
        if not self._every:
            raise no_subject(admin, subject)
        refused = mode_refusal(admin.mode(subject), subject, deleting=True)
        return [self._decided(admin, one, refused) for one in self._chosen()]

    def together(self, plan: Sequence[VersionItem]) -> list[VersionItem]:
        """A subject is deleted as a whole, or not at all."""
        error = next((item.error for item in plan if item.error is not None), None)
        if error is None or not self._whole:
            return list(plan)
        return [
            item._replace(outcome=Outcome.REFUSED, error=error) if item.outcome is Outcome.PLANNED else item
            for item in plan
        ]

    def _chosen(self) -> list[Registered]:
        live = [one for one in self._every if not one.deleted]
        wanted = self.named.version
        if wanted is None:
            return [*self._every] if self.permanent or not live else live
        if wanted < 0:
            return live[-1:] if live else [self._every[-1]]
        found = [one for one in self._every if one.schema.version == wanted]
        if not found:
            raise no_version(self.named, [one.schema.version for one in self._every])
        return found

    def _decided(self, admin: RegistryAdmin, one: Registered, refused: KcliError | None) -> VersionItem:
        key = VersionKey(one.schema.subject, one.schema.version)
        item: VersionItem = Item(key, VersionFacts(one.schema, DELETED if one.deleted else LIVE))
        if one.deleted and not self.permanent:
            return item._replace(outcome=Outcome.UNCHANGED, note="it is deleted already")
        error = refused or _referred_to(key, admin.referenced_by(*key))
        return item if error is None else item._replace(outcome=Outcome.REFUSED, error=error)

    @property
    def _whole(self) -> bool:
        return self.named.version is None

    def text(self, plan: Sequence[VersionItem]) -> str:
        """The versions, and what that means."""
        todo = planned(plan)
        if not todo:
            return "\n".join(
                [f"Nothing of subject {self.named.subject} is to be deleted:", *self.table(plan)]
            )
        count = counted(len(todo), "version")
        how = " for good" if self.permanent else ""
        after = (
            "Their ids cannot be read any more: consumers cannot decode records that have them."
            if self.permanent
            else "Records that have their ids can still be decoded, and the versions can be undeleted."
        )
        return "\n".join([f"Delete {count} of subject {self.named.subject}{how}:", *self.table(plan), after])

    def questions(self, plan: Sequence[VersionItem]) -> list[Question]:
        """The subject has to be typed, with the version where one is named."""
        count, how = counted(len(planned(plan)), "version"), " for good" if self.permanent else ""
        return [
            Question(self.text(plan), f"Delete {count} of {self.named.subject}{how}?", name=str(self.named))
        ]

    def unchanged(self, plan: Sequence[VersionItem]) -> Iterable[str]:
        """That nothing is left to be deleted."""
        if all(item.outcome is Outcome.UNCHANGED for item in plan):
            yield f"nothing is to be deleted: {self.named} is deleted already; --permanent deletes it for good"

    def journal(self, admin: RegistryAdmin, todo: Sequence[VersionItem]) -> Draft | None:
        """The schemas; and what the registry forgets of a subject without versions."""
        entries: list[SchemaEntry | RegistrySettingEntry] = [
            SchemaEntry.of(item.facts.schema, permanent=self.permanent, deleted=item.facts.state == DELETED)
            for item in todo
        ]
        gone = {item.key.version for item in todo}
        if all(one.deleted or one.schema.version in gone for one in self._every):
            entries += forgotten(admin, self.named.subject)
        return Draft(self.command, entries)

    def apply(
        self, admin: RegistryAdmin, todo: Sequence[VersionItem]
    ) -> Mapping[VersionKey, KcliError | None]:
        """Softly first, which registries require of what is deleted for good."""
        live = [item for item in todo if item.facts.state == LIVE]
        every = {VersionKey(one.schema.subject, one.schema.version): one for one in self._every}
        at_once = self._whole and {item.key for item in live} == {
            key for key, one in every.items() if not one.deleted
        }
        answers = self._deleted(admin, live, at_once=at_once, permanent=False)
        if not self.permanent:
            return answers
        left = [item for item in todo if answers.get(item.key) is None]
        self._softly = sum(1 for item in live if answers[item.key] is None)
        at_once = self._whole and {item.key for item in left} == every.keys()
        return answers | self._deleted(admin, left, at_once=at_once, permanent=True)

    def act(self, admin: RegistryAdmin, plan: Sequence[VersionItem]) -> list[VersionItem]:
        """The journal stays where the first half was done."""
        after = super().act(admin, plan)
        self.may_have_changed |= self._softly > 0
        return after

    def noticed(self, items: Sequence[VersionItem]) -> Iterable[str]:
        """That only the first half was done."""
        if self._softly and any(item.outcome is Outcome.FAILED for item in items):
            yield "what was not deleted for good is deleted softly: `kcli registry list --deleted` shows it"

    def _deleted(
        self, admin: RegistryAdmin, items: Sequence[VersionItem], *, at_once: bool, permanent: bool
    ) -> dict[VersionKey, KcliError | None]:
        """``at_once``: they are all of the subject, so one request deletes all or none."""
        if at_once and items:
            admin.delete_subject(self.named.subject, permanent=permanent)
            return dict.fromkeys(item.key for item in items)
        return each(items, lambda item: admin.delete_version(*item.key, permanent=permanent))

    def read_back(self, admin: RegistryAdmin, items: Sequence[VersionItem]) -> ReadBack:
        """Whether they are gone."""

        def wrong() -> dict[VersionKey, KcliError]:
            left = admin.version_numbers(self.named.subject, deleted=self.permanent)
            return {item.key: _still_there(item.key) for item in items if item.key.version in left}

        return read_until(items, wrong)

    def summary(self, items: Sequence[VersionItem]) -> Iterable[str]:
        """How many."""
        if items:
            count, how = counted(len(items), "version"), " for good" if self.permanent else ""
            yield f"deleted {count} of subject {self.named.subject}{how}, read back"


class SchemaRetraction(SchemaDeletion):
    """``kcli undo`` of what registered schemas: deletes their versions softly, and sets back what was set with them."""

    nothing = "nothing is to be deleted: the subjects do not have these schemas any more"

    def __init__(self, journal: Journal) -> None:
        entries = [entry for entry in journal.entries if isinstance(entry, CreatedSchemaEntry)]
        settings = [entry for entry in journal.entries if isinstance(entry, RegistrySettingEntry)]
        super().__init__(Named((entries or settings)[0].subject, None))
        self.made, self._entries = journal, entries
        self._settings = KeptSettings(Wanted.before(one) for one in settings if not is_import_mode(one))

    def together(self, plan: Sequence[VersionItem]) -> list[VersionItem]:
        """Each version by itself."""
        return list(plan)

    def decide(self, admin: RegistryAdmin) -> list[VersionItem]:
        """The newest first: others may refer to those before. ConfigError on another registry."""
        self.made.check_cluster(admin.address)
        there = [(entry, _registered(admin, entry)) for entry in reversed(self._entries)]
        own = {now.id for _entry, now in there if now is not None}
        items = [self._retracted(admin, entry, now, own) for entry, now in there]
        return [*items, *self._settings.decide(admin)]

    def _retracted(
        self, admin: RegistryAdmin, entry: CreatedSchemaEntry, now: Schema | None, own: Collection[int]
    ) -> VersionItem:
        """``own``: the ids of all that is to be deleted, which may refer to each other."""
        schema = entry.schema_of()
        if now is None:
            key, facts = VersionKey(entry.subject, entry.version), VersionFacts(schema, DELETED)
            return Item(key, facts, Outcome.UNCHANGED, note="the subject does not have it")
        key = VersionKey(entry.subject, now.version)
        item: VersionItem = Item(key, VersionFacts(_named(schema, now), LIVE))
        others = [number for number in admin.referenced_by(*key) if number not in own]
        error = mode_refusal(admin.mode(entry.subject), entry.subject, deleting=True)
        error = error or _referred_to(key, others)
        return item if error is None else item._replace(outcome=Outcome.REFUSED, error=error)

    def text(self, plan: Sequence[VersionItem]) -> str:
        """The versions, and the settings."""
        todo, command = planned(plan), f"kcli {self.made.command}"
        count, settings = (
            counted(len(versions_in(todo)), "version"),
            counted(len(settings_in(todo)), "setting"),
        )
        head = f"Delete {count} that {command} registered"
        if settings_in(todo):
            head = (
                f"{head}, and set {settings} back"
                if versions_in(todo)
                else f"Set {settings} of {command} back"
            )
        return "\n".join([f"{head}:", *self.table(plan)])

    def questions(self, plan: Sequence[VersionItem]) -> list[Question]:
        """Nothing has to be typed."""
        count = counted(len(planned(plan)), "change")
        return [Question(self.text(plan), f"Make {count} in the registry?", subject=self.made.id)]

    def unchanged(self, plan: Sequence[VersionItem]) -> Iterable[str]:
        """That they are gone."""
        if all(item.outcome is Outcome.UNCHANGED for item in plan):
            yield self.nothing

    def journal(self, admin: RegistryAdmin, todo: Sequence[VersionItem]) -> Draft:
        """Undoing it brings them back, and what the registry forgets of subjects without versions."""
        schemas = [item.facts.schema for item in versions_in(todo)]
        settings = {(one.subject, one.key): one for one in self._settings.entries(todo)}
        for subject in dict.fromkeys(one.subject for one in schemas):
            gone = {one.version for one in schemas if one.subject == subject}
            if gone.issuperset(admin.version_numbers(subject)):
                settings = {(one.subject, one.key): one for one in forgotten(admin, subject)} | settings
        return Draft("undo", [*(SchemaEntry.of(one) for one in schemas), *settings.values()])

    def clean_up(self, admin: RegistryAdmin, *, dry_run: bool) -> Iterable[KcliError]:
        """The mode IMPORT, in which a run that was killed has left subjects."""
        return () if dry_run else end_left(admin, self.made)

    def apply(
        self, admin: RegistryAdmin, todo: Sequence[VersionItem]
    ) -> Mapping[VersionKey, KcliError | None]:
        """One by one, then the settings."""

        def act(item: VersionItem) -> None:
            if item.key.version > 0:
                admin.delete_version(*item.key)
            else:
                self._settings.send(admin, item.key)

        return each(todo, act)

    def read_back(self, admin: RegistryAdmin, items: Sequence[VersionItem]) -> ReadBack:
        """Whether they are gone."""

        def wrong() -> dict[VersionKey, KcliError]:
            bad: dict[VersionKey, KcliError] = {
                item.key: _still_there(item.key)
                for item in versions_in(items)
                if item.key.version in admin.version_numbers(item.key.subject)
            }
            for item in settings_in(items):
                if error := self._settings.wrong(admin, item.key):
                    bad[item.key] = error
            return bad

        return read_until(items, wrong)

    def summary(self, items: Sequence[VersionItem]) -> Iterable[str]:
        """How many."""
        if versions := versions_in(items):
            yield f"deleted {counted(len(versions), 'version')}, read back"
        yield from settings_summary(items)


def _registered(admin: RegistryAdmin, entry: CreatedSchemaEntry) -> Schema | None:
    """The version that was registered. An import with new ids has changed the versions of its references."""
    schema = entry.schema_of()
    if entry.id >= 0 or not schema.references:
        return admin.look_up(entry.subject, schema)
    found = (one.schema for one in reversed(admin.versions(entry.subject)))
    return next((one for one in found if alike(one, schema)), None)


def _named(schema: Schema, now: Schema) -> Schema:
    return replace(schema, id=now.id, version=now.version)


def _referred_to(key: VersionKey, ids: Sequence[int]) -> RegistryStateError | None:
    if not ids:
        return None
    shown = ", ".join(map(str, ids[:5])) + (", …" if len(ids) > 5 else "")
    return RegistryStateError(
        f"{key} cannot be deleted: other schemas refer to it",
        why=f"they have the ids {shown}",
        do=f"delete these first, some registries want that with --permanent; "
        f"`kcli registry describe {key.subject}:{key.version} --references` shows them",
    )


def _still_there(key: VersionKey) -> NotAppliedError:
    return NotAppliedError(
        f"{key} was deleted, and is there",
        why="another client registered it since, or this node of the registry has not read it yet",
        do=f"`kcli registry describe {key.subject}` shows its versions",
    )
