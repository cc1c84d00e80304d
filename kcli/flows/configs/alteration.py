"""What ``configs alter`` and ``topics alter`` share: changes of configurations, of which each key is an item.

All changes of a topic, broker or group are made, or none; the others are made nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from shlex import quote
from typing import Any, TypeVar

from kcli.account.change import Change, Found, Item, Question, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import LOG_LEVELS, ConfigChange, ConfigEntry, ConfigKind, ConfigResource
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConnectError, KcliError, NotValidatedError, TimedOutError
from kcli.flows.configs.key_changes import (
    HIDDEN,
    WORDS,
    PlannedChange,
    ReadOnlyKeyError,
    make,
    plan,
    read_back,
    rejected,
)
from kcli.flows.configs.resources import described, explained, shown_name
from kcli.flows.configs.units import with_unit
from kcli.flows.permitted import not_checked
from kcli.flows.read_back import NotAppliedError
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

T = TypeVar("T")

COLUMNS = (
    Column("key", meaning="The key, as Kafka names it."),
    Column("change", spare=2, meaning="What is done: set, unset, append, remove; partitions increase."),
    Column("old", "prose", meaning="The value before; null where there is none, and of secrets."),
    Column("old_source", spare=1, meaning="Where it comes from: topic, broker, default, …"),
    Column("new", "prose", meaning="The value after; null where there is none, and of secrets."),
    Column("new_source", spare=1, meaning="Where it comes from."),
)


_NOUNS = {
    ConfigKind.TOPIC: "topic",
    ConfigKind.BROKER: "broker",
    ConfigKind.GROUP: "group",
    ConfigKind.BROKER_LOGGER: "broker",
    ConfigKind.CLIENT_METRICS: "subscription",
}


class AlteredKey(NamedTuple):
    """A key of a resource; ``word`` says what is done to it."""

    resource: ConfigResource
    name: str
    word: str

    def __str__(self) -> str:
        return f"{self.name} of {self.resource}"


AlterItem = Item[AlteredKey, Any]
Of = Mapping[ConfigResource, list[AlterItem]]


class ConfigAlteration(Change[AlteredKey, Any]):
    """The same changes of several resources of one kind. ``named``: ``--confirm`` was given, which names the only one."""

    item_meaning = "A change."
    plan_keys = report_keys = (Column("sensitive", values="boolean?"),)
    named_by = "name"
    from_line = True
    """Whether the values are from the command line, which others can see."""

    def __init__(
        self, resources: Sequence[ConfigResource], changes: Sequence[ConfigChange], *, named: bool
    ) -> None:
        self.resources, self.changes, self.named = resources, changes, named
        self._dangers: dict[ConfigResource, str] = {}
        self._missing: set[ConfigResource] = set()
        self._unchecked = ""
        self._answers: dict[ConfigResource, KcliError | None] = {}

    def decide(self, admin: Admin) -> list[AlterItem]:
        """What each change does. Refused are those of resources that cannot be described, and what brokers reject."""
        self._unchecked = ""
        found, dangers = admin.together(
            lambda: described(admin, self.resources) if self.changes else {},
            lambda: self.dangers(admin, self.resources),
        )
        self._missing = {resource for resource, entries in found.items() if isinstance(entries, KcliError)}
        self._dangers = {one: why for one, why in dangers.items() if one not in self._missing}
        others = {
            resource: self.others(admin, resource) for resource in found if resource not in self._missing
        }
        items = [
            item
            for resource, entries in found.items()
            for item in self.items(resource, entries, others.get(resource, ()))
        ]
        for item in items:
            if item.outcome is Outcome.PLANNED and getattr(item.facts, "unknown", False):
                self._dangers.setdefault(item.key.resource, _unknown_key(item))
        return self._checked(admin, items)

    def dangers(self, admin: Admin, resources: Sequence[ConfigResource]) -> dict[ConfigResource, str]:
        """Why ``--yes`` is not sufficient for some of the resources."""
        raise NotImplementedError

    def others(self, admin: Admin, resource: ConfigResource) -> Iterable[ConfigEntry]:  # noqa: ARG002
        """Keys that a resource may have besides those that are set on it; by default none."""
        return ()

    def items(
        self,
        resource: ConfigResource,
        entries: list[ConfigEntry] | KcliError,
        others: Iterable[ConfigEntry] = (),
    ) -> list[AlterItem]:
        """The changes of a resource; where its entries are an error, all are refused."""
        if isinstance(entries, KcliError):
            rows = [
                PlannedChange(resource, change, None, "", None, "", error=entries)
                for change in self.changes_of(resource, None)
            ]
        else:
            rows = plan(resource, self.changes_of(resource, entries), entries, others=others)
        return [_item(row) for row in rows]

    def changes_of(
        self,
        resource: ConfigResource,  # noqa: ARG002
        entries: Sequence[ConfigEntry] | None,  # noqa: ARG002
    ) -> Sequence[ConfigChange]:
        """The changes of a resource; ``entries`` is None where it cannot be described. By default the same of all."""
        return self.changes

    def _checked(self, admin: Admin, items: Sequence[AlterItem]) -> list[AlterItem]:
        """What the brokers refuse is refused. They are not asked where something else stands against it."""
        accepted = {
            resource: [item.facts for item in alike]
            for resource, alike in _by_resource(items).items()
            if all(item.error is None for item in alike)
        }
        found = self.asked(partial(rejected, admin, accepted))
        errors = {resource: explained(admin, resource, error) for resource, error in found.items() if error}
        return [self.judged(item, errors.get(item.key.resource)) for item in items]

    def judged(self, item: AlterItem, error: KcliError | None) -> AlterItem:
        """The item, refused with what stands against it; that no broker has checked it does not."""
        if isinstance(error, NotValidatedError):
            self._unchecked = not_checked(error)
        elif error is not None and item.outcome is Outcome.PLANNED:
            return item._replace(outcome=Outcome.REFUSED, error=error, note="")
        return item

    def asked(self, check: Callable[[], T]) -> T:
        """The result of a check before the first change; its errors say that there was none."""
        try:
            return check()
        except (ConnectError, TimedOutError) as error:
            error.why = "; ".join(filter(None, (error.why, "this was a check, and nothing was changed")))
            raise

    def together(self, plan: Sequence[AlterItem]) -> list[AlterItem]:
        """A resource with a refused change is not changed."""
        first: dict[ConfigResource, AlterItem] = {}
        for item in plan:
            if item.error is not None:
                first.setdefault(item.key.resource, item)
        return [
            item._replace(
                outcome=Outcome.REFUSED,
                error=first[item.key.resource].error,
                note=f"not changed: {first[item.key.resource].key.name} is refused",
            )
            if item.outcome is Outcome.PLANNED and item.key.resource in first
            else item
            for item in plan
        ]

    def text(self, plan: Sequence[AlterItem]) -> str:
        """The changes of each resource that exists."""
        todo = {item.key.resource for item in plan if item.outcome is Outcome.PLANNED}
        dangers = [f"{danger}." for resource, danger in self._dangers.items() if resource in todo]
        return "\n".join([*self._lines(plan), *dangers])

    def _lines(self, plan: Sequence[AlterItem]) -> Iterator[str]:
        for resource, items in _by_resource(plan).items():
            if resource not in self._missing:
                count = sum(item.facts.needed for item in items)
                yield f"Alter {visible_line(str(resource))}: {counted(count, 'change')}."
                for item in items:
                    yield from self.lines(item)
        yield from self.remarks(plan)

    def remarks(self, plan: Sequence[AlterItem]) -> Iterable[str]:  # noqa: ARG002
        """What is said once, below the changes; by default nothing."""
        return ()

    def lines(self, item: AlterItem) -> list[str]:
        """The lines of a change."""
        return [change_line(item.facts, item.note)]

    def questions(self, plan: Sequence[AlterItem]) -> list[Question]:
        """Each dangerous one by its name, then the others together."""
        todo = _by_resource(item for item in plan if item.outcome is Outcome.PLANNED)
        dangers = [resource for resource in todo if resource in self._dangers]
        others = [resource for resource in todo if resource not in self._dangers]
        parts = [[resource] for resource in dangers] + ([others] if others else [])
        return [self._question(plan, part, dangers, alone=len(parts) == 1) for part in parts]

    def _question(
        self,
        plan: Sequence[AlterItem],
        part: Sequence[ConfigResource],
        dangers: Sequence[ConfigResource],
        *,
        alone: bool,
    ) -> Question:
        name = shown_name(part[0]) if len(part) == 1 else None
        danger = self._dangers.get(part[0])
        return Question(
            "\n".join(self._lines([item for item in plan if item.key.resource in part])),
            f"Alter {part[0]}?"
            if name is not None
            else f"Alter the configuration of {counted(len(part), _NOUNS[part[0].kind])}?",
            name=name if danger is not None or (self.named and alone) else None,
            subject=name,
            among=[resource.name for resource in dangers],
            danger=danger,
        )

    def warnings(self, plan: Sequence[AlterItem]) -> Iterator[str]:
        """What no broker has checked, and secrets, which are in command lines."""
        if self._unchecked:
            yield self._unchecked
        rows = [item.facts for item in plan if self.from_line and isinstance(item.facts, PlannedChange)]
        for key in sorted({row.change.name for row in rows if row.sensitive and row.change.value}):
            yield f"the value of {key} may be a secret: other users of this machine can see command lines"

    def unchanged(self, plan: Sequence[AlterItem]) -> Iterator[str]:
        """A line for each resource of which nothing is to be changed."""
        for resource, items in _by_resource(plan).items():
            if all(item.outcome is Outcome.UNCHANGED for item in items):
                yield f"nothing is to be changed: {resource} is as requested"

    def apply(self, admin: Admin, todo: Sequence[AlterItem]) -> dict[AlteredKey, KcliError | None]:
        """Changes the keys of each resource together."""
        found = make(admin, _plans(todo))
        self._answers = {
            resource: error and explained(admin, resource, error) for resource, error in found.items()
        }
        return {item.key: self._answers[item.key.resource] for item in todo}

    def read_back(self, admin: Admin, items: Sequence[AlterItem]) -> dict[AlteredKey, Found[Any] | KcliError]:
        """The values of what was changed, and of what may have been."""
        made = [item for item in items if _may_be_done(self._answers.get(item.key.resource))]
        found = read_back(admin, _plans(made), admin.timeout)
        return {item.key: _found(item, found[item.key.resource]) for item in made}

    def row(self, item: AlterItem) -> dict[str, Any]:
        """The values of the columns; those of secrets are unknown."""
        planned: PlannedChange = item.facts
        own = planned.error is not None
        return {
            self.named_by: shown_name(planned.resource),
            "key": item.key.name,
            "change": item.key.word,
            "old": planned.old,
            "old_source": planned.old_source or None,
            "new": None if own else planned.new,
            "new_source": None if own else planned.new_source,
            "sensitive": planned.sensitive,
        }

    def summary(self, items: Sequence[AlterItem]) -> Iterator[str]:
        """How many changes of each resource were made; of secrets only that they are set."""
        for resource, done in _by_resource(items).items():
            rows = [item.facts for item in done if isinstance(item.facts, PlannedChange)]
            secret = [row.change.name for row in rows if row.sensitive]
            but = (
                f", of {', '.join(secret)} only that it is set or not: its value is not shown"
                if secret
                else ""
            )
            yield f"altered {resource}: {counted(len(done), 'change')}, read back{but}"


def _item(row: PlannedChange) -> AlterItem:
    key = AlteredKey(row.resource, row.change.name, WORDS[row.change.op])
    if row.error is None:
        return Item(key, row, Outcome.UNCHANGED if row.note else Outcome.PLANNED, note=row.note)
    read_only = isinstance(row.error, ReadOnlyKeyError)
    return Item(key, row, Outcome.REFUSED, row.error, "refused: read-only" if read_only else "")


def _unknown_key(item: AlterItem) -> str:
    """Brokers store a key that they do not know, and nothing comes of it unless a plug-in reads it."""
    change, resource = item.facts.change, item.key.resource
    if (change.value or "").upper() in LOG_LEVELS:
        line = f"kcli configs alter broker-loggers {resource.name or 'ID'} --set {quote(f'{change.name}={change.value}')}"
        return visible_line(f"No broker knows the key {change.name}; if it is a logger: `{line}`")
    return visible_line(
        f"No broker knows the key {change.name}: it would be stored, and has no effect unless a plug-in reads it"
    )


def _by_resource(items: Iterable[AlterItem]) -> Of:
    found: dict[ConfigResource, list[AlterItem]] = {}
    for item in items:
        found.setdefault(item.key.resource, []).append(item)
    return found


def _plans(items: Iterable[AlterItem]) -> dict[ConfigResource, list[PlannedChange]]:
    return {resource: [item.facts for item in alike] for resource, alike in _by_resource(items).items()}


def _may_be_done(answer: KcliError | None) -> bool:
    return answer is None or is_lost(answer)


def _found(item: AlterItem, error: KcliError | None) -> Found[Any] | KcliError:
    if error is None or (isinstance(error, NotAppliedError) and item.key.name not in error.keys):
        return Found(item.facts)
    return error


def change_line(planned: PlannedChange, note: str) -> str:
    """A change for people; ``note`` says why nothing is done."""
    key = planned.change.name
    old = "not set"
    if planned.old is not None or planned.sensitive:
        old = f"{_shown(planned, planned.old)} ({planned.old_source})"
    if note:
        return visible_line(f"  {key}: {old}, {note}")
    if planned.new is None and not planned.sensitive:
        return visible_line(f"  {key}: {old} → the default")  # one that a unit of another key implies
    return visible_line(f"  {key}: {old} → {_shown(planned, planned.new)} ({planned.new_source})")


def _shown(planned: PlannedChange, value: str | None) -> str:
    if planned.sensitive:
        return HIDDEN
    return with_unit(planned.change.name, value) or "(empty)"
