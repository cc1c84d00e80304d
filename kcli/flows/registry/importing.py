"""``kcli registry import``: registers the schemas of a file, with their ids and versions, or with new ones; and what
was deleted for good, by ``kcli undo``.

Registries accept ids in the mode IMPORT only, in which they accept nothing without an id: the mode is set on each subject
for as long as it takes, and then restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kcli.account.change import Found, Item, Question, planned
from kcli.account.outcomes import Outcome
from kcli.core.classes import replace
from kcli.core.errors import KcliError
from kcli.flows.journal import CreatedSchemaEntry, Draft, Journal, RegistrySettingEntry, SchemaEntry
from kcli.flows.registry.errors import (
    IncompatibleError,
    NotAppliedError,
    RegistryStateError,
    is_silent,
    missing_reference,
    mode_refusal,
    wait_until_empty,
)
from kcli.flows.registry.exported import Exported, in_order
from kcli.flows.registry.import_mode import ImportMode
from kcli.flows.registry.kept_settings import (
    KeptSettings,
    Wanted,
    loosened,
    register_with,
    settings_in,
    settings_summary,
    together_with,
    versions_in,
)
from kcli.flows.registry.names import MODE, VersionKey
from kcli.flows.registry.version_change import (
    DELETED,
    LIVE,
    NEW_ID,
    NEW_VERSION,
    NONE,
    ReadBack,
    VersionChange,
    VersionFacts,
    VersionItem,
    each,
)
from kcli.output.progress import counted
from kcli.serde.registry.admin import IMPORT, Registered, RegistryAdmin, same_schema
from kcli.serde.registry.client import Schema


class SchemaImport(VersionChange):
    """``keep``: with the ids and versions of the file. ``name``: the file's, for people."""

    kind = "SchemaImport"
    printed_by = "registry import, undo"
    columns = (*VersionChange.columns, NEW_VERSION, NEW_ID)
    command = "registry import"
    nothing = "nothing is to be registered: the registry has it all"
    parts = True

    def __init__(self, exported: Exported, name: str, *, keep: bool) -> None:
        self.exported, self.name, self.keep = exported, name, keep
        levels = exported.levels.items()
        self._settings = KeptSettings(Wanted(subject, "compatibility", level) for subject, level in levels)
        self._loosened: set[str] = set()
        self._mode = ImportMode()
        self._left: list[KcliError] = []
        self._new: dict[VersionKey, Schema] = {}

    def decide(self, admin: RegistryAdmin) -> list[VersionItem]:
        """A version that has another schema, and an id that is another schema's, are refused."""
        without_mode = self.keep and not admin.has_modes()
        there: dict[str, dict[int, Registered]] = {}
        refused: dict[str, KcliError | None] = {}
        for subject in dict.fromkeys(schema.subject for schema in self.exported.schemas):
            there[subject] = {one.schema.version: one for one in admin.versions(subject, deleted=True)}
            mode = admin.mode(subject)
            refused[subject] = mode_refusal(mode, subject, deleting=self.keep)
            if mode == (IMPORT, True):
                self._mode.is_there(admin, subject)
        self._new = {}
        settings = self._settings.decide(admin, importing=self.keep)
        self._loosened = loosened(settings)
        decide = self._kept if self.keep else self._renumbered
        mine = {VersionKey(one.subject, one.version) for one in self.exported.schemas}
        items = []
        for schema in self.exported.schemas:
            missing = missing_reference(admin, schema, mine)
            if missing is not None:
                items.append(_refused(_absent(schema), missing))
            else:
                items.append(decide(admin, schema, there[schema.subject]))
        no_mode = _no_import(admin) if without_mode else None
        items = [_refused(item, no_mode or refused[item.key.subject]) for item in items]
        return [*items, *(_refused(item, no_mode) for item in settings)]

    def _kept(self, admin: RegistryAdmin, schema: Schema, there: Mapping[int, Registered]) -> VersionItem:
        now = there.get(schema.version)
        state = NONE if now is None else DELETED if now.deleted else LIVE
        key = VersionKey(schema.subject, schema.version)
        item: VersionItem = Item(key, VersionFacts(schema, state, schema.version, schema.id))
        if now is not None and (now.schema.id != schema.id or not same_schema(now.schema, schema)):
            return _refused(item, _other_version(key, now.schema))
        if state == LIVE:
            return item._replace(outcome=Outcome.UNCHANGED, note="it is there")
        other = admin.by_id(schema.id, schema.subject)
        if other is not None and not same_schema(other, schema):
            return _refused(item, _other_schema(key, schema.id))
        return item

    def _renumbered(
        self, admin: RegistryAdmin, schema: Schema, there: Mapping[int, Registered]
    ) -> VersionItem:
        key = VersionKey(schema.subject, schema.version)
        now = there.get(schema.version)
        state = NONE if now is None else DELETED if now.deleted else LIVE
        item: VersionItem = Item(key, VersionFacts(schema, state))
        mapped = self._mapped(schema)
        if mapped is None:
            return item  # it refers to one that is to be registered: nothing can be asked about it yet
        known = admin.look_up(schema.subject, mapped)
        if known is not None and _lacks_contract(known, schema):
            return _refused(item, _no_contract(key))
        if known is not None:
            self._new[key] = known
            facts = item.facts._replace(new_version=known.version, new_id=known.id)
            return item._replace(facts=facts, outcome=Outcome.UNCHANGED, note="it is there")
        answer = admin.check(schema.subject, mapped)
        if not answer.is_compatible and schema.subject not in self._loosened:
            level = admin.compatibility(schema.subject).value
            return _refused(item, IncompatibleError(schema.subject, level, answer.messages))
        return item

    def _mapped(self, schema: Schema) -> Schema | None:
        """With references to the versions that those of the file have here; None where one has none yet."""
        mine = {VersionKey(one.subject, one.version) for one in self.exported.schemas}
        references = []
        for ref in schema.references:
            key = VersionKey(ref.subject, ref.version)
            if key in self._new:
                references.append(replace(ref, version=self._new[key].version))
            elif key in mine:
                return None
            else:
                references.append(ref)
        return replace(schema, references=tuple(references))

    def text(self, plan: Sequence[VersionItem]) -> str:
        """The versions, and what happens meanwhile."""
        todo = planned(plan)
        if not todo:
            return "\n".join([f"Nothing of {self.name} is to be registered:", *self.table(plan)])
        if not versions_in(todo):
            settings = counted(len(todo), "setting")
            return "\n".join([f"Register no schema of {self.name}, and set {settings}:", *self.table(plan)])
        schemas = counted(len(versions_in(todo)), "schema")
        head = f"Register {schemas} of {self.name}, {'with their ids' if self.keep else 'with new ids'}:"
        meanwhile = (
            "Meanwhile their subjects are in mode IMPORT, in which producers cannot register schemas. If this run is "
            "killed, run it again: that restores their modes, too."
            if self.keep
            else "Records that have the ids of the file cannot be decoded by them."
        )
        return "\n".join([head, *self.table(plan), meanwhile])

    def questions(self, plan: Sequence[VersionItem]) -> list[Question]:
        """Nothing has to be typed."""
        count = counted(len(planned(plan)), "change")
        return [Question(self.text(plan), f"Make {count} in the registry?")]

    def warnings(self, plan: Sequence[VersionItem]) -> Iterable[str]:  # noqa: ARG002
        """Subjects that are in the mode IMPORT already."""
        return self._mode.warnings()

    def journal(self, admin: RegistryAdmin, todo: Sequence[VersionItem]) -> Draft:
        """Undoing it deletes what was registered, and sets back what was set, and modes that a run that was killed has
        left.
        """
        schemas = [item.facts.schema for item in versions_in(todo)]
        entries: list[SchemaEntry | RegistrySettingEntry] = [
            CreatedSchemaEntry.of(one if self.keep else replace(one, id=-1, version=0)) for one in schemas
        ]
        entries += self._settings.entries(todo)
        if self.keep:
            entries += self._mode.entries(admin, dict.fromkeys(one.subject for one in schemas))
        return self._mode.keep(Draft(self.command, entries))

    def apply(
        self, admin: RegistryAdmin, todo: Sequence[VersionItem]
    ) -> Mapping[VersionKey, KcliError | None]:
        """In the order of the file; a schema to which one refers that failed fails, too."""
        failed: dict[str, KcliError] = {}
        if self.keep:
            for subject in dict.fromkeys(item.key.subject for item in versions_in(todo)):
                try:
                    self._mode.begin(admin, subject)
                except KcliError as error:
                    if is_silent(error):
                        raise
                    failed[subject] = error
        able = [item for item in todo if item.key.subject not in failed and item.key.version != MODE]
        modes = [item for item in todo if item.key.subject not in failed and item.key.version == MODE]
        answers = dict(register_with(admin, able, self._settings, lambda item: self._register(admin, item)))
        if modes:  # after the mode IMPORT
            self._left += self._mode.end(admin)
            answers |= each(modes, lambda item: self._settings.send(admin, item.key))
        return {item.key: failed.get(item.key.subject) or answers[item.key] for item in todo}

    def _register(self, admin: RegistryAdmin, item: VersionItem) -> None:
        schema = item.facts.schema if self.keep else self._mapped(item.facts.schema)
        if schema is None:
            raise RegistryStateError(
                f"{item.key} was not registered",
                why="it refers to a schema that was not registered",
                do="see what happened to that one",
            )
        admin.register(item.key.subject, schema, keep=self.keep)
        if not self.keep and (known := _registered(admin, schema)) is not None:
            self._new[item.key] = known

    def clean_up(self, admin: RegistryAdmin, *, dry_run: bool) -> Iterable[KcliError]:
        """The modes of the subjects as they were."""
        return () if dry_run else [*self._left, *self._mode.end(admin)]

    def read_back(self, admin: RegistryAdmin, items: Sequence[VersionItem]) -> ReadBack:
        """Whether each version has its schema and its id."""
        found: dict[VersionKey, Schema] = {}

        def wrong() -> dict[VersionKey, KcliError]:
            bad: dict[VersionKey, KcliError] = {}
            for item in items:
                key = item.key
                if key.version <= 0:
                    if error := self._settings.wrong(admin, key):
                        bad[key] = error
                    continue
                now = self._there(admin, item)
                if now is None or (
                    self.keep and (now.id, now.version) != (item.facts.schema.id, key.version)
                ):
                    bad[key] = _not_there(key)
                elif _lacks_contract(now, item.facts.schema):
                    bad[key] = _no_contract(key)
                else:
                    found[key] = now
            return bad

        bad = wait_until_empty(wrong)

        def facts(item: VersionItem) -> VersionFacts:
            now = found.get(item.key)
            return item.facts if now is None else item.facts._replace(new_version=now.version, new_id=now.id)

        return {item.key: Found(facts(item), bad.get(item.key)) for item in items}

    def _there(self, admin: RegistryAdmin, item: VersionItem) -> Schema | None:
        if not self.keep:
            mapped = self._mapped(item.facts.schema)
            return None if mapped is None else admin.look_up(item.key.subject, mapped)
        live = admin.version_numbers(item.key.subject)
        return admin.version(*item.key) if item.key.version in live else None

    def summary(self, items: Sequence[VersionItem]) -> Iterable[str]:
        """How many."""
        if schemas := versions_in(items):
            yield f"registered {counted(len(schemas), 'schema')}, read back"
        yield from settings_summary(items)


class SchemaReturn(SchemaImport):
    """``kcli undo`` of ``registry delete --permanent``: the versions with their ids. Those that had been deleted softly
    are so again: each is deleted at once, so that the next one is not compared with it.
    """

    command = "undo"

    def __init__(self, journal: Journal) -> None:
        entries = [entry for entry in journal.entries if isinstance(entry, SchemaEntry)]
        settings = [entry for entry in journal.entries if isinstance(entry, RegistrySettingEntry)]
        exported = Exported(in_order(entry.schema_of() for entry in entries), {})
        super().__init__(exported, f"journal {journal.id}", keep=True)
        self._settings = KeptSettings(map(Wanted.before, settings))
        self._softly = {VersionKey(entry.subject, entry.version) for entry in entries if entry.deleted}
        self.made = journal

    def decide(self, admin: RegistryAdmin) -> list[VersionItem]:
        """The versions, and what the registry has forgotten of their subject. ConfigError on another registry."""
        self.made.check_cluster(admin.address)
        items = super().decide(admin)
        return together_with(versions_in(items), settings_in(items))

    def _kept(self, admin: RegistryAdmin, schema: Schema, there: Mapping[int, Registered]) -> VersionItem:
        """Of several versions with the same schema, of which all but one were deleted softly, that one comes back, or the
        newest.
        """
        item = super()._kept(admin, schema, there)
        if item.key in self._softly and item.facts.state != NONE and item.outcome is not Outcome.REFUSED:
            note = "it is there, deleted softly" if item.facts.state == DELETED else "it is there, and live"
            return item._replace(outcome=Outcome.UNCHANGED, note=note)
        alike = [
            VersionKey(one.subject, one.version)
            for one in self.exported.schemas
            if (one.subject, one.id) == (schema.subject, schema.id)
        ]
        chosen = max([key for key in alike if key not in self._softly] or alike).version
        if chosen == schema.version or item.outcome is not Outcome.PLANNED:
            return item
        facts = item.facts._replace(new_version=chosen)
        return item._replace(
            facts=facts, outcome=Outcome.UNCHANGED, note=f"it has the same schema as version {chosen}"
        )

    def _register(self, admin: RegistryAdmin, item: VersionItem) -> None:
        super()._register(admin, item)
        if item.key in self._softly:
            admin.delete_version(*item.key)

    def _there(self, admin: RegistryAdmin, item: VersionItem) -> Schema | None:
        if item.key not in self._softly:
            return super()._there(admin, item)
        every = admin.versions(item.key.subject, deleted=True)
        return next(
            (one.schema for one in every if one.deleted and one.schema.version == item.key.version), None
        )

    def summary(self, items: Sequence[VersionItem]) -> Iterable[str]:
        """How many, and how many of them are deleted softly."""
        yield from super().summary(items)
        if softly := sum(item.key in self._softly for item in items):
            yield f"{counted(softly, 'version')} of them deleted softly, as before"


def _registered(admin: RegistryAdmin, schema: Schema) -> Schema | None:
    found: list[Schema] = []

    def missing() -> list[None]:
        known = admin.look_up(schema.subject, schema)
        found[:] = [] if known is None else [known]
        return [] if found else [None]

    wait_until_empty(missing)
    return found[0] if found else None


def _absent(schema: Schema) -> VersionItem:
    return Item(VersionKey(schema.subject, schema.version), VersionFacts(schema, NONE))


def _refused(item: VersionItem, error: KcliError | None) -> VersionItem:
    if error is None or item.outcome is not Outcome.PLANNED:
        return item
    return item._replace(outcome=Outcome.REFUSED, error=error)


def _no_import(admin: RegistryAdmin) -> RegistryStateError:
    return RegistryStateError(
        f"the registry {admin.address} does not accept given ids",
        why="it has no mode IMPORT: it would give the schemas other ids",
        do="--new-ids registers them with new ids, by which records that have the old ones cannot be decoded",
    )


def _other_version(key: VersionKey, now: Schema) -> RegistryStateError:
    return RegistryStateError(
        f"{key} is another schema in the registry",
        why=f"it has id {now.id} there",
        do=f"`kcli registry describe {key.subject}:{key.version}` shows it; --context imports into another context",
    )


def _other_schema(key: VersionKey, number: int) -> RegistryStateError:
    return RegistryStateError(
        f"{key} cannot have id {number} in the registry",
        why="another schema has this id there",
        do="--context imports into another context, which has ids of its own; --new-ids gives new ids",
    )


def _lacks_contract(now: Schema, schema: Schema) -> bool:
    return bool(schema.contract) and now.contract != schema.contract


def _no_contract(key: VersionKey) -> RegistryStateError:
    return RegistryStateError(
        f"{key} is in the registry without its metadata and rules",
        why="the registry does not keep them, as Karapace, or has others",
        do="take metadata and rule_set out of the file to have the schema without them",
    )


def _not_there(key: VersionKey) -> NotAppliedError:
    return NotAppliedError(
        f"{key} was registered, and is not so when it is read back",
        why="another client changed it since, or this node of the registry has not read it yet",
        do=f"`kcli registry describe {key.subject}` shows its versions",
    )
