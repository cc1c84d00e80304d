"""``kcli registry undelete``: brings softly deleted versions back, and so does ``kcli undo`` of their deletion.

Registries have no request for it: the schema is registered again. It keeps its id, and its version gets a new number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kcli.account.change import Item, Question, planned
from kcli.account.outcomes import Outcome
from kcli.core.errors import KcliError
from kcli.flows.journal import CreatedSchemaEntry, Draft, Journal, RegistrySettingEntry, SchemaEntry
from kcli.flows.registry.errors import (
    IncompatibleError,
    NotAppliedError,
    RegistryStateError,
    missing_reference,
    mode_refusal,
    no_subject,
    no_version,
)
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
from kcli.flows.registry.names import Named, VersionKey
from kcli.flows.registry.version_change import (
    DELETED,
    LIVE,
    NEW_VERSION,
    ReadBack,
    VersionChange,
    VersionFacts,
    VersionItem,
    read_until,
)
from kcli.output.progress import counted
from kcli.serde.registry.admin import Registered, RegistryAdmin, same_schema
from kcli.serde.registry.client import Schema


class SchemaUndeletion(VersionChange):
    """``named``: a deleted version, or all deleted ones of the subject."""

    kind = "SchemaUndelete"
    printed_by = "registry undelete, undo"
    columns = (*VersionChange.columns, NEW_VERSION)
    nothing = "nothing is to be undeleted"

    def __init__(self, named: Named, settings: Iterable[Wanted] = ()) -> None:
        self.named = named
        self._settings = KeptSettings(settings)
        self._loosened: set[str] = set()

    def decide(self, admin: RegistryAdmin) -> list[VersionItem]:
        """The deleted versions; of several with the same schema the newest."""
        every = admin.versions(self.named.subject, deleted=True)
        if not every:
            raise no_subject(admin, self.named.subject)
        return self.decided(admin, self._chosen(every), every)

    def _chosen(self, every: Sequence[Registered]) -> list[Registered]:
        wanted = self.named.version
        deleted = [one for one in every if one.deleted]
        if wanted is None:
            return deleted or list(every)
        if wanted < 0:
            return deleted[-1:] or [every[-1]]
        found = [one for one in every if one.schema.version == wanted]
        if not found:
            raise no_version(self.named, [one.schema.version for one in every])
        return found

    def decided(
        self, admin: RegistryAdmin, chosen: Sequence[Registered], every: Sequence[Registered]
    ) -> list[VersionItem]:
        """The items of the chosen versions of one subject, whose versions are ``every``."""
        subject = chosen[0].schema.subject
        refused = mode_refusal(admin.mode(subject), subject)
        following = max((one.schema.version for one in every), default=0) + 1
        items: list[VersionItem] = []
        for at, one in enumerate(chosen):
            newer = [later for later in chosen[at + 1 :] if same_schema(one.schema, later.schema)]
            item = self._decided(admin, one, newer, refused)
            if item.outcome is Outcome.PLANNED:
                item = item._replace(facts=item.facts._replace(new_version=following))
                following += 1
            items.append(item)
        return items

    def _decided(
        self,
        admin: RegistryAdmin,
        one: Registered,
        newer: Sequence[Registered],
        refused: KcliError | None,
    ) -> VersionItem:
        schema = one.schema
        item: VersionItem = Item(
            VersionKey(schema.subject, schema.version), VersionFacts(schema, DELETED if one.deleted else LIVE)
        )
        if not one.deleted:
            return item._replace(outcome=Outcome.UNCHANGED, note="it is not deleted")
        if newer:
            note = f"it has the same schema as version {newer[-1].schema.version}"
            return item._replace(outcome=Outcome.UNCHANGED, note=note)
        missing = missing_reference(admin, schema)
        if missing is not None:
            return item._replace(outcome=Outcome.REFUSED, error=refused or missing)
        live = admin.look_up(schema.subject, schema)
        if live is not None:
            facts = item.facts._replace(new_version=live.version)
            note = f"its schema is version {live.version}"
            return item._replace(facts=facts, outcome=Outcome.UNCHANGED, note=note)
        answer = admin.check(schema.subject, schema)
        error = refused
        if error is None and not answer.is_compatible and schema.subject not in self._loosened:
            level = admin.compatibility(schema.subject).value
            error = IncompatibleError(schema.subject, level, answer.messages)
        return item if error is None else item._replace(outcome=Outcome.REFUSED, error=error)

    def text(self, plan: Sequence[VersionItem]) -> str:
        """The versions."""
        if not planned(plan):
            return "\n".join(
                [f"Nothing of subject {self.named.subject} is to be undeleted:", *self.table(plan)]
            )
        head = f"Undelete {counted(len(planned(plan)), 'version')} of subject {self.named.subject}:"
        return "\n".join([head, *self.table(plan), _RENUMBERED])

    def questions(self, plan: Sequence[VersionItem]) -> list[Question]:
        """Nothing has to be typed."""
        count = counted(len(planned(plan)), "version")
        return [Question(self.text(plan), f"Undelete {count}?", subject=self.named.subject)]

    def journal(self, admin: RegistryAdmin, todo: Sequence[VersionItem]) -> Draft:  # noqa: ARG002
        """Undoing it deletes them again."""
        return Draft("registry undelete", [CreatedSchemaEntry.of(item.facts.schema) for item in todo])

    def apply(
        self, admin: RegistryAdmin, todo: Sequence[VersionItem]
    ) -> Mapping[VersionKey, KcliError | None]:
        """Registers the schemas, in the order of the versions."""

        def register(item: VersionItem) -> None:
            admin.register(item.key.subject, item.facts.schema)

        return register_with(admin, todo, self._settings, register)

    def read_back(self, admin: RegistryAdmin, items: Sequence[VersionItem]) -> ReadBack:
        """As which versions they are there, with their ids."""
        found: dict[VersionKey, Schema] = {}

        def wrong() -> dict[VersionKey, KcliError]:
            bad: dict[VersionKey, KcliError] = {}
            for item in items:
                if item.key.version <= 0:
                    if error := self._settings.wrong(admin, item.key):
                        bad[item.key] = error
                    continue
                now = admin.look_up(item.key.subject, item.facts.schema)
                if now is None:
                    bad[item.key] = _not_back(item.key)
                    continue
                found[item.key] = now
                if now.id != item.facts.schema.id:
                    bad[item.key] = _other_id(item.key, item.facts.schema.id, now.id)
            return bad

        def facts(item: VersionItem) -> VersionFacts:
            now = found.get(item.key)
            return item.facts if now is None else item.facts._replace(new_version=now.version)

        return read_until(items, wrong, facts)

    def summary(self, items: Sequence[VersionItem]) -> Iterable[str]:
        """As which versions they are there."""
        for item in versions_in(items):
            yield f"{item.key} is there again as version {item.facts.new_version}, read back"
        yield from settings_summary(items)


class SchemaRestore(SchemaUndeletion):
    """``kcli undo`` of ``registry delete``: what was deleted softly is registered again."""

    def __init__(self, journal: Journal) -> None:
        self.entries = [entry for entry in journal.entries if isinstance(entry, SchemaEntry)]
        settings = [entry for entry in journal.entries if isinstance(entry, RegistrySettingEntry)]
        super().__init__(Named(self.entries[0].subject, None), map(Wanted.before, settings))
        self.made = journal

    def decide(self, admin: RegistryAdmin) -> list[VersionItem]:
        """ConfigError on another registry."""
        self.made.check_cluster(admin.address)
        settings = self._settings.decide(admin)
        self._loosened = loosened(settings)
        items: list[VersionItem] = []
        for subject in dict.fromkeys(entry.subject for entry in self.entries):
            every = admin.versions(subject, deleted=True)
            state = {one.schema.version: one.deleted for one in every}
            mine = sorted(
                (entry for entry in self.entries if entry.subject == subject), key=lambda one: one.version
            )
            chosen = [Registered(entry.schema_of(), state.get(entry.version, True)) for entry in mine]
            items += self.decided(admin, chosen, every)
        return together_with([self._forgotten(admin, item) for item in items], settings)

    def _forgotten(self, admin: RegistryAdmin, item: VersionItem) -> VersionItem:
        """Refused where the registry has forgotten the id, and would give another one."""
        schema = item.facts.schema
        if not self.entries[0].permanent or item.outcome is not Outcome.PLANNED:
            return item
        known = admin.by_id(schema.id, schema.subject)
        if known is not None and same_schema(known, schema):
            return item
        error = RegistryStateError(
            f"{item.key} cannot be brought back with its id {schema.id}",
            why="the registry does not know the id any more, and has no mode IMPORT to give it",
            do="the journal has the schema: register it, and it gets another id",
        )
        return item._replace(outcome=Outcome.REFUSED, error=error)

    def text(self, plan: Sequence[VersionItem]) -> str:
        """The versions, and what the registry has forgotten of the subject with its last one."""
        todo = planned(plan)
        what = counted(len(versions_in(todo)), "version")
        if settings := settings_in(todo):
            what += f" and {counted(len(settings), 'setting')}"
        head = f"Bring {what} back, deleted by kcli {self.made.command}:" if todo else "Nothing comes back:"
        return "\n".join([head, *self.table(plan), *([_RENUMBERED] if versions_in(todo) else [])])

    def questions(self, plan: Sequence[VersionItem]) -> list[Question]:
        """Nothing has to be typed."""
        count = counted(len(planned(plan)), "change")
        return [Question(self.text(plan), f"Make {count} in the registry?", subject=self.named.subject)]

    def journal(self, admin: RegistryAdmin, todo: Sequence[VersionItem]) -> Draft:  # noqa: ARG002
        """Undoing it deletes them again."""
        schemas = [CreatedSchemaEntry.of(item.facts.schema) for item in versions_in(todo)]
        return Draft("undo", [*schemas, *self._settings.entries(todo)])


_RENUMBERED = "Schemas keep their ids; versions get new numbers, which registries do not use twice."


def _not_back(key: VersionKey) -> NotAppliedError:
    return NotAppliedError(
        f"the schema of {key} was registered again, and the subject does not have it",
        why="another client deleted it since, or this node of the registry has not read it yet",
        do=f"`kcli registry describe {key.subject}` shows its versions",
    )


def _other_id(key: VersionKey, old: int, new: int) -> RegistryStateError:
    return RegistryStateError(
        f"the schema of {key} has another id",
        why=f"it had id {old}, and the registry gave it id {new}: records with the old one cannot be decoded by it",
        do=f"`kcli registry describe {key.subject}` shows its versions",
    )
