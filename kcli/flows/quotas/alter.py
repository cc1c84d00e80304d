"""``kcli quotas alter``: sets and removes quotas of entities."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question, is_lost, planned
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.quotas import USER, QuotaEntity
from kcli.core.classes import NamedTuple
from kcli.core.errors import BrokerError, KcliError, NotValidatedError
from kcli.core.exit_codes import ExitCode
from kcli.flows.journal import Draft, Journal, QuotaEntry
from kcli.flows.permitted import denied_on_cluster, not_checked
from kcli.flows.quotas.values import ENTITY, UNITS, entity_row, number_text, rate_in_units, shown_number
from kcli.flows.read_back import NotAppliedError, lost_answers, wait_until_empty
from kcli.output.progress import counted
from kcli.output.tables import Column

_SEE = "`kcli quotas list` shows the quotas"


class QuotaChangedError(KcliError):
    """A quota is not what the change that is to be undone has left."""

    exit_code = ExitCode.REFUSED


class Quota(NamedTuple):
    """The value of a key before the change, and after it; None: not set."""

    old: float | None
    new: float | None


class QuotaKey(NamedTuple):
    """A quota of an entity."""

    entity: QuotaEntity
    key: str

    def __str__(self) -> str:
        return f"{self.key} of {self.entity}"


QuotaItem = Item[QuotaKey, Quota]
Limits = Mapping[str, float | None]


class QuotaAlteration(Change[QuotaKey, Quota]):
    """New values by entity and key, None for one that is removed; those of an entity are changed all at once.
    ``check_key`` raises for a key that nobody knows: brokers may have others than this version, which can be removed.
    """

    kind = "QuotaAlter"
    printed_by = "quotas alter, undo"
    item_meaning = "A quota: one key."
    columns = (
        *ENTITY,
        Column("key", meaning="The key, as Kafka names it."),
        Column("old", "number", values="number?", meaning="The value before; null where there is none."),
        Column("new", "number", values="number?", meaning="The value after; null where there is none."),
        Column("unit", spare=1, meaning="Unit of the values; null where it is unknown."),
    )
    quiet_report = True

    def __init__(self, changes: Mapping[QuotaEntity, Limits], check_key: Callable[[str], None]) -> None:
        self.changes, self.check_key = changes, check_key
        self.nothing = f"nothing is to be changed: the quotas of {_named(changes)} are as requested"
        self._unchecked = ""
        self._failed: set[QuotaEntity] = set()

    def decide(self, admin: Admin) -> list[QuotaItem]:
        """Brokers check the changes."""
        before = self._read(admin)
        for entity, limits in self.changes.items():
            for key, new in limits.items():
                if new is None and key not in before.get(entity, {}):
                    self.check_key(key)
        quotas = {
            QuotaKey(entity, key): Quota(before.get(entity, {}).get(key), new)
            for entity, limits in self.changes.items()
            for key, new in limits.items()
        }
        refused = self._refused(admin, [key for key, quota in quotas.items() if quota.old != quota.new])
        return [self._decided(key, quota, refused.get(key.entity)) for key, quota in quotas.items()]

    @staticmethod
    def _decided(key: QuotaKey, quota: Quota, refused: KcliError | None) -> QuotaItem:
        if quota.old == quota.new:
            return Item(key, quota, Outcome.UNCHANGED)
        return Item(key, quota, Outcome.PLANNED if refused is None else Outcome.REFUSED, refused)

    def _refused(self, admin: Admin, wanted: Collection[QuotaKey]) -> Mapping[QuotaEntity, KcliError]:
        """Why brokers refuse the changes; those that might make them are not asked."""
        found = admin.alter_quotas_of(self._of(wanted), validate_only=True) if wanted else {}
        refused: dict[QuotaEntity, KcliError] = {}
        for entity, error in found.items():
            if isinstance(error, NotValidatedError):
                self._unchecked = not_checked(error)
                denied = denied_on_cluster(admin, "ALTER_CONFIGS", f"changing the quotas of {_named(found)}")
                return dict.fromkeys(found, denied) if denied is not None else {}
            if isinstance(error, BrokerError):
                refused[entity] = error
            elif error is not None:
                raise error
        return refused

    def _of(self, keys: Iterable[QuotaKey]) -> dict[QuotaEntity, dict[str, float | None]]:
        wanted: dict[QuotaEntity, dict[str, float | None]] = {}
        for entity, key in keys:
            wanted.setdefault(entity, {})[key] = self.changes[entity][key]
        return wanted

    def text(self, plan: Sequence[QuotaItem]) -> str:
        """A line for each key, below its entity; what is refused is in the errors."""
        found: dict[QuotaEntity, list[QuotaItem]] = {}
        for item in plan:
            if item.error is None:
                found.setdefault(item.key.entity, []).append(item)
        texts = [
            "\n".join([f"Change the quotas of {entity}:", *map(_line, items)])
            for entity, items in found.items()
        ]
        return "\n".join(texts)

    def questions(self, plan: Sequence[QuotaItem]) -> list[Question]:
        """One for all."""
        return [Question(self.text(plan), f"Change {_counted(planned(plan))}?")]

    def warnings(self, plan: Sequence[QuotaItem]) -> Iterator[str]:
        """What no broker has checked; and brokers look up quotas by the name of the user, without its type."""
        if self._unchecked:
            yield self._unchecked
        for entity in dict.fromkeys(item.key.entity for item in plan):
            user = dict(entity.parts).get(USER) or ""
            kind, sign, name = user.partition(":")
            if sign and kind == "User":
                yield (
                    f"the name is taken literally, and the quota does not apply to the principal {user}: its user is "
                    f"{name}"
                )

    def journal(self, admin: Admin, todo: Sequence[QuotaItem]) -> Draft | None:  # noqa: ARG002
        """The values before the change, if it replaces or removes one."""
        entries = [QuotaEntry(item.key.entity.parts, item.key.key, *item.facts) for item in todo]
        return Draft("quotas alter", entries) if any(entry.old is not None for entry in entries) else None

    def apply(self, admin: Admin, todo: Sequence[QuotaItem]) -> dict[QuotaKey, KcliError | None]:
        """Changes the quotas."""
        unsure: set[QuotaEntity] = set()
        found = admin.alter_quotas_of(self._of(item.key for item in todo), unsure=unsure)
        self._failed = {entity for entity, error in found.items() if isinstance(error, BrokerError)}
        answers = {item.key: found[item.key.entity] for item in todo}
        lost = {item.key for item in todo if item.key.entity in unsure or is_lost(found[item.key.entity])}
        return lost_answers(answers, lost, see=_SEE)

    def read_back(self, admin: Admin, items: Sequence[QuotaItem]) -> dict[QuotaKey, Found[Quota] | KcliError]:
        """The values that are there now; nobody waits for those that were refused."""
        made = [item for item in items if item.key.entity not in self._failed]

        def wrong() -> set[QuotaKey]:
            after = self._read(admin)
            return {
                item.key
                for item in made
                if after.get(item.key.entity, {}).get(item.key.key) != item.facts.new
            }

        done = f"the quotas of {_named({item.key.entity for item in made})} were changed"
        bad = wait_until_empty(admin, wrong, done, see=_SEE)
        return {
            item.key: Found(item.facts, self._not_applied(item.key) if item.key in bad else None)
            for item in made
        }

    def _not_applied(self, key: QuotaKey) -> NotAppliedError:
        return NotAppliedError(f"{key} was changed, and does not have the new value", [key.key], do=_SEE)

    def row(self, item: QuotaItem) -> dict[str, Any]:
        """The values of the columns."""
        return entity_row(item.key.entity) | {
            "key": item.key.key,
            "old": shown_number(item.facts.old),
            "new": shown_number(item.facts.new),
            "unit": UNITS.get(item.key.key),
        }

    def summary(self, items: Sequence[QuotaItem]) -> Iterator[str]:
        """How many were changed."""
        if items:
            yield f"changed {_counted(items)}, read back"

    def _read(self, admin: Admin) -> Mapping[QuotaEntity, Mapping[str, float]]:
        """The quotas of the entity itself, or of all."""
        if len(self.changes) > 1:
            return admin.describe_quotas()
        (entity,) = self.changes
        return admin.describe_quotas(dict(entity.parts), strict=True)


class QuotaRestore(QuotaAlteration):
    """``kcli undo`` of ``quotas alter``: the values before it. One that was changed since is refused."""

    def __init__(self, journal: Journal) -> None:
        self.made, self._set = journal, dict[QuotaKey, float | None]()
        changes: dict[QuotaEntity, dict[str, float | None]] = {}
        for entry in journal.entries:
            if isinstance(entry, QuotaEntry):
                entity = QuotaEntity(entry.entity)
                changes.setdefault(entity, {})[entry.key] = entry.old
                self._set[QuotaKey(entity, entry.key)] = entry.new
        super().__init__(changes, lambda _key: None)

    def decide(self, admin: Admin) -> list[QuotaItem]:
        """As when they are changed; ConfigError on another cluster."""
        self.made.check_cluster(admin.cluster_id())
        return [
            item._replace(outcome=Outcome.REFUSED, error=self._changed_since(item))
            if item.outcome is Outcome.PLANNED and item.facts.old != self._set[item.key]
            else item
            for item in super().decide(admin)
        ]

    def _changed_since(self, item: QuotaItem) -> KcliError:
        now, then = _shown(item.facts.old, item.key.key), _shown(self._set[item.key], item.key.key)
        return QuotaChangedError(
            f"{item.key} has been changed since",
            why=f"it is {now}, and the change that is to be undone left {then}; nothing was done to it",
            do=_SEE,
        )


def _named(entities: Collection[QuotaEntity]) -> str:
    """The only one, or how many there are."""
    if len(entities) == 1:
        (entity,) = entities
        return str(entity)
    return counted(len(entities), "entity", "entities")


def _counted(items: Sequence[QuotaItem]) -> str:
    return f"{counted(len(items), 'quota')} of {_named({item.key.entity for item in items})}"


def _line(item: QuotaItem) -> str:
    old, new = (_shown(value, item.key.key) for value in item.facts)
    change = f"{old} → {new}" if item.outcome is Outcome.PLANNED else f"{old} stays"
    return f"  {item.key.key}: {change}"


def _shown(value: float | None, key: str) -> str:
    if value is None:
        return "not set"
    shown = f"{number_text(value)} {UNITS.get(key) or ''}".rstrip()
    text = rate_in_units(key, value)
    return f"{shown} ({text})" if text else shown
