"""``kcli quotas alter``: sets and removes quotas of an entity, all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kcli.account.change import Change, Found, Item, Question, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.quotas import USER, QuotaEntity
from kcli.core.errors import BrokerError, KcliError, NotValidatedError
from kcli.core.exit_codes import ExitCode
from kcli.flows.journal import Draft, Journal, QuotaEntry
from kcli.flows.permitted import denied_on_cluster, not_checked
from kcli.flows.quotas.values import ENTITY, UNITS, entity_row, number_text, rate_in_units, shown_number
from kcli.flows.read_back import NotAppliedError, UnknownChangeError, wait_until_empty
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


QuotaItem = Item[str, Quota]


class QuotaAlteration(Change[str, Quota]):
    """New values by key, None for one that is removed. ``check_key`` raises for a key that nobody knows: brokers may
    have others than this version, which can be removed.
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

    def __init__(
        self, entity: QuotaEntity, changes: Mapping[str, float | None], check_key: Callable[[str], None]
    ) -> None:
        self.entity, self.changes, self.check_key = entity, changes, check_key
        self.nothing = f"nothing is to be changed: the quotas of {entity} are as requested"
        self._unchecked = ""

    def decide(self, admin: Admin) -> list[QuotaItem]:
        """Brokers check the changes."""
        before = self._read(admin)
        for key, new in self.changes.items():
            if new is None and key not in before:
                self.check_key(key)
        quotas = {key: Quota(before.get(key), new) for key, new in self.changes.items()}
        refused = self._refused(
            admin, {key: quota.new for key, quota in quotas.items() if quota.old != quota.new}
        )
        planned = Outcome.PLANNED if refused is None else Outcome.REFUSED
        return [
            Item(key, quota, Outcome.UNCHANGED)
            if quota.old == quota.new
            else Item(key, quota, planned, refused)
            for key, quota in quotas.items()
        ]

    def _refused(self, admin: Admin, wanted: Mapping[str, float | None]) -> KcliError | None:
        """Why brokers refuse the changes; those that might make them are not asked."""
        if not wanted:
            return None
        try:
            admin.alter_quotas(self.entity, wanted, validate_only=True)
        except NotValidatedError as error:
            self._unchecked = not_checked(error)
            return denied_on_cluster(admin, "ALTER_CONFIGS", f"changing the quotas of {self.entity}")
        except BrokerError as error:
            return error
        return None

    def text(self, plan: Sequence[QuotaItem]) -> str:
        """A line for each key."""
        if any(item.error is not None for item in plan):
            return ""
        lines = [f"Change the quotas of {self.entity}:"]
        for item in plan:
            old, new = (_shown(value, item.key) for value in item.facts)
            planned = item.outcome is Outcome.PLANNED
            lines.append(f"  {item.key}: {f'{old} → {new}' if planned else f'{old} stays'}")
        return "\n".join(lines)

    def questions(self, plan: Sequence[QuotaItem]) -> list[Question]:
        """One for all."""
        count = counted(sum(item.outcome is Outcome.PLANNED for item in plan), "quota")
        return [Question(self.text(plan), f"Change {count} of {self.entity}?")]

    def warnings(self, plan: Sequence[QuotaItem]) -> Iterator[str]:  # noqa: ARG002
        """What no broker has checked; and brokers look up quotas by the name of the user, without its type."""
        if self._unchecked:
            yield self._unchecked
        user = dict(self.entity.parts).get(USER) or ""
        kind, sign, name = user.partition(":")
        if sign and kind == "User":
            yield (
                f"the name is taken literally, and the quota does not apply to the principal {user}: its user is {name}"
            )

    def journal(self, admin: Admin, todo: Sequence[QuotaItem]) -> Draft | None:  # noqa: ARG002
        """The values before the change, if it replaces or removes one."""
        entries = [QuotaEntry(self.entity.parts, item.key, *item.facts) for item in todo]
        return Draft("quotas alter", entries) if any(entry.old is not None for entry in entries) else None

    def apply(self, admin: Admin, todo: Sequence[QuotaItem]) -> dict[str, KcliError | None]:
        """Changes the quotas."""
        try:
            admin.alter_quotas(self.entity, {item.key: item.facts.new for item in todo})
        except KcliError as error:
            if not is_lost(error):
                raise
            return {
                item.key: UnknownChangeError(f"{item.key} of {self.entity}", error, see=_SEE) for item in todo
            }
        return dict.fromkeys(item.key for item in todo)

    def read_back(self, admin: Admin, items: Sequence[QuotaItem]) -> dict[str, Found[Quota] | KcliError]:
        """The values that are there now."""

        def wrong() -> list[str]:
            after = self._read(admin)
            return [item.key for item in items if after.get(item.key) != item.facts.new]

        done = f"the quotas of {self.entity} were changed"
        bad = wait_until_empty(admin, wrong, done, see=_SEE)
        return {
            item.key: Found(item.facts, self._not_applied(item.key) if item.key in bad else None)
            for item in items
        }

    def _not_applied(self, key: str) -> NotAppliedError:
        what = f"{key} of {self.entity} was changed, and does not have the new value"
        return NotAppliedError(what, [key], do=_SEE)

    def row(self, item: QuotaItem) -> dict[str, Any]:
        """The values of the columns."""
        return entity_row(self.entity) | {
            "key": item.key,
            "old": shown_number(item.facts.old),
            "new": shown_number(item.facts.new),
            "unit": UNITS.get(item.key),
        }

    def summary(self, items: Sequence[QuotaItem]) -> Iterator[str]:
        """How many were changed."""
        if items:
            yield f"changed {counted(len(items), 'quota')} of {self.entity}, read back"

    def _read(self, admin: Admin) -> dict[str, float]:
        """The quotas of the entity itself."""
        return admin.describe_quotas(dict(self.entity.parts), strict=True).get(self.entity, {})


class QuotaRestore(QuotaAlteration):
    """``kcli undo`` of ``quotas alter``: the values before it. One that was changed since is refused."""

    def __init__(self, journal: Journal) -> None:
        entries = [entry for entry in journal.entries if isinstance(entry, QuotaEntry)]
        entity = QuotaEntity(entries[0].entity)
        super().__init__(entity, {entry.key: entry.old for entry in entries}, lambda _key: None)
        self.made, self._set = journal, {entry.key: entry.new for entry in entries}

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
        now, then = _shown(item.facts.old, item.key), _shown(self._set[item.key], item.key)
        return QuotaChangedError(
            f"{item.key} of {self.entity} has been changed since",
            why=f"it is {now}, and the change that is to be undone left {then}; nothing was done to it",
            do=_SEE,
        )


def _shown(value: float | None, key: str) -> str:
    if value is None:
        return "not set"
    shown = f"{number_text(value)} {UNITS.get(key) or ''}".rstrip()
    text = rate_in_units(key, value)
    return f"{shown} ({text})" if text else shown
