"""``kcli brokers unregister``: has the controllers forget brokers that are gone for good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, NotFoundError, UnsupportedError
from kcli.core.exit_codes import ExitCode
from kcli.flows.cluster_state import FENCED, MISSING, ONLINE, UNKNOWN, broker_states
from kcli.flows.permitted import denied_on_cluster, may_see_all
from kcli.flows.read_back import wait_until_empty
from kcli.output.progress import counted
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.admin.brokers import ClusterDescription

SEE = "`kcli brokers list` shows the brokers"

_NOT_LISTED = "brokers before Kafka 4.0 do not list it: confirmed by the controller only"


class BrokerInUseError(KcliError):
    """A broker is online, or has replicas, or is there again."""

    exit_code = ExitCode.REFUSED


class Registration(NamedTuple):
    """A broker. ``state`` is unknown where brokers do not list those that are fenced."""

    state: str
    replicas: int


BrokerItem = Item[int, Registration]


class BrokerUnregistration(Change[int, Registration]):
    """Brokers by their numbers."""

    kind = "BrokerUnregister"
    printed_by = "brokers unregister"
    item_meaning = "A broker."
    columns = (
        Column("broker", "id", values="integer", meaning="Number of the broker."),
        Column(
            "state",
            values=(ONLINE, FENCED, MISSING, UNKNOWN, "unregistered"),
            meaning="Its state; missing: only replica lists name it; unknown: brokers do not list those that are fenced "
            "(before Kafka 4.0).",
        ),
        Column("replicas", "number", values="count", meaning="Replicas that it has."),
    )

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = tuple(dict.fromkeys(numbers))
        self._lists_fenced = True
        self._sees_all = True

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(topics=True, permissions=True)
        admin.foresee(fenced=True)

    def decide(self, admin: Admin) -> list[BrokerItem]:
        """Those that are online or have replicas are refused, and those that nobody knows.

        UnsupportedError with ZooKeeper.
        """
        if (lacking := admin.lacks("unregister_broker")) is not None:
            lacking.do = "stop the broker: with ZooKeeper it is forgotten then"
            raise lacking
        found, denied, self._sees_all = admin.together(
            lambda: self._registrations(admin),
            lambda: denied_on_cluster(admin, "ALTER", "unregistering brokers"),
            lambda: may_see_all(lambda: admin.describe_cluster(include_operations=True)),
        )
        return [self._item(number, found.get(number), denied) for number in self.numbers]

    def _registrations(self, admin: Admin) -> dict[int, Registration]:
        (described, self._lists_fenced), topics = admin.together(
            lambda: self._described(admin), admin.list_topics
        )
        states = broker_states(described, topics)
        return {one.number: Registration(one.state, one.replicas) for one in states}

    def _described(self, admin: Admin) -> tuple[ClusterDescription, bool]:
        """Also whether it has the brokers that are fenced."""
        try:
            return admin.describe_cluster(include_fenced=True), True
        except UnsupportedError:
            return admin.describe_cluster(), False

    def _item(self, number: int, found: Registration | None, denied: KcliError | None) -> BrokerItem:
        if found is None and not self._lists_fenced:
            found = Registration(UNKNOWN, 0)
        if found is None:
            error: KcliError | None = NotFoundError(
                f"there is no broker {number}",
                why="it is not registered, and no partition has a replica on it",
                do=SEE,
            )
            return Item(number, Registration("unregistered", 0), Outcome.REFUSED, error)
        error = _in_use(number, found) or denied
        return Item(number, found) if error is None else Item(number, found, Outcome.REFUSED, error)

    def text(self, plan: Sequence[BrokerItem]) -> str:
        """A line for each broker."""
        todo = [item for item in plan if item.outcome is Outcome.PLANNED]
        if not todo:
            return ""
        lines = [f"Unregister {counted(len(todo), 'broker')}:"]
        lines += [f"  broker {item.key}: {item.facts.state}, no replicas" for item in todo]
        lines.append("The controllers forget them. A broker that is started again registers by itself.")
        return "\n".join(lines)

    def questions(self, plan: Sequence[BrokerItem]) -> list[Question]:
        """One for all."""
        numbers = [str(item.key) for item in plan if item.outcome is Outcome.PLANNED]
        sentence = f"Unregister broker {', '.join(numbers)}?"
        return [Question(self.text(plan), sentence, subject=numbers[0], among=numbers)]

    def warnings(self, plan: Sequence[BrokerItem]) -> Iterator[str]:
        """What the plan cannot see."""
        if any(item.outcome is Outcome.PLANNED for item in plan) and not self._sees_all:
            yield "without DESCRIBE on the cluster it cannot be seen whether topics that are hidden have replicas on it"

    def apply(self, admin: Admin, todo: Sequence[BrokerItem]) -> dict[int, KcliError | None]:
        """One after the other."""
        answers: dict[int, KcliError | None] = {}
        for item in todo:
            try:
                admin.unregister_broker(item.key)
                answers[item.key] = None
            except KcliError as error:
                answers[item.key] = error
        return answers

    def read_back(
        self, admin: Admin, items: Sequence[BrokerItem]
    ) -> dict[int, Found[Registration] | KcliError]:
        """Whether they are gone."""
        found: dict[int, Registration] = {}

        def left() -> list[int]:
            found.clear()
            found.update(self._registrations(admin))
            return [item.key for item in items if item.key in found]

        wait_until_empty(admin, left, f"{counted(len(items), 'broker')} unregistered", see=SEE)
        return {item.key: self._found(item, found.get(item.key)) for item in items}

    def _found(self, item: BrokerItem, now: Registration | None) -> Found[Registration]:
        if now is None:
            return Found(Registration("unregistered", 0), note="" if self._lists_fenced else _NOT_LISTED)
        error = BrokerInUseError(
            f"broker {item.key} was unregistered, and is there: {now.state}",
            why="it has registered again, or the brokers have not received the change yet",
            do=SEE,
        )
        return Found(now, error)

    def row(self, item: BrokerItem) -> dict[str, Any]:
        """The values of the columns."""
        return {"broker": item.key, "state": item.facts.state, "replicas": item.facts.replicas}

    def summary(self, items: Sequence[BrokerItem]) -> Iterator[str]:
        """Which were unregistered."""
        for item in items:
            yield f"unregistered broker {item.key}" + (", read back" if not item.note else f"; {item.note}")


def _in_use(number: int, found: Registration) -> KcliError | None:
    if found.state == ONLINE:
        return BrokerInUseError(
            f"broker {number} is online",
            why="it would register again at once",
            do="stop it first: `kcli cluster describe` shows what it leads",
        )
    if found.replicas:
        return BrokerInUseError(
            f"broker {number} has {counted(found.replicas, 'replica')}",
            why="partitions would keep replicas on a broker that does not exist",
            do=f"move them first: `kcli brokers drain {number}`",
        )
    return None
