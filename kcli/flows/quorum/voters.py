"""``kcli quorum add-controller`` and ``remove-controller``: another set of voters (KIP-853), one controller at a time.

The majority is checked first: a change is refused after which too few voters would be caught up to commit anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from kcli.account.change import Change, Found, Item, Question
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.feature_levels import KRAFT_VERSION
from kcli.core.admin.quorum import Endpoint, QuorumDescription
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.flows.brokers.listeners import controller_endpoints
from kcli.flows.cluster_state import finalized_levels
from kcli.flows.journal import ControllerEntry, Draft, Journal
from kcli.flows.permitted import denied_on_cluster
from kcli.flows.quorum.majority import Majority, majority_of
from kcli.flows.quorum.rows import DIRECTORY_ID, ENDPOINTS, NODE
from kcli.flows.quorum.standings import BEHIND, LEADER, OBSERVER, VOTER, standings
from kcli.flows.read_back import wait_until_empty
from kcli.output.progress import counted
from kcli.output.tables import Column

SEE = "`kcli quorum describe` shows the voters and the observers"
_MOVES = "another client has changed the quorum since, or an election is under way"


class QuorumRefusedError(KcliError):
    """The quorum is in a state that forbids the change."""

    exit_code = ExitCode.REFUSED


class Controller(NamedTuple):
    """A controller: ``role`` is what it is, or in a plan and a report what it becomes."""

    directory_id: str
    endpoints: tuple[Endpoint, ...]
    old_role: str | None
    role: str | None


ControllerItem = Item[int, Controller]


class VoterChange(Change[int, Controller]):
    """Of one controller, by its node id. ``journal``: of which this is the undoing."""

    item_meaning = "A controller."
    columns = (
        NODE,
        Column(
            "old_role", values=(VOTER, OBSERVER, None), meaning="Its role before; null where it had none."
        ),
        Column("role", values=(VOTER, OBSERVER, None), meaning="Its role after; null where it has none."),
        ENDPOINTS,
        DIRECTORY_ID,
    )
    wanted: ClassVar[str]
    verb: ClassVar[str]
    doing: ClassVar[str]
    done: ClassVar[str]

    def __init__(self, node: int, directory_id: str = "", *, undone: Journal | None = None) -> None:
        self.node, self.directory_id, self.undone = node, directory_id, undone
        self._quorum: QuorumDescription | None = None
        self._after: Majority | None = None

    def begin(self, admin: Admin) -> None:
        """With the first contact: what the plan is made from."""
        admin.foresee(brokers=True, permissions=True)

    def decide(self, admin: Admin) -> list[ControllerItem]:
        """Raises what stands against any change of the voters: a static quorum, or none."""
        if self.undone is not None:
            self.undone.check_cluster(admin.cluster_id())
        doing = f"{self.doing} controller {self.node}"
        quorum, levels, error = admin.together(
            admin.describe_quorum,
            lambda: finalized_levels(admin),
            lambda: denied_on_cluster(admin, "ALTER", doing),
        )
        self._quorum, level = quorum, levels.get(KRAFT_VERSION, 0)
        if level < 1:
            raise QuorumRefusedError(
                f"{doing}: the voters of this quorum cannot be changed",
                why="it is static: the voters are those of controller.quorum.voters, and kraft.version is 0",
                do="`kcli features upgrade --feature kraft.version=1` makes it dynamic, with Kafka 4.1 or later",
            )
        item = self.item(admin, quorum)
        if item.outcome is not Outcome.PLANNED:
            return [item]
        after = self._after = self.majority_after(majority_of(quorum))
        if error is None and after.spare < 0:
            error = self._no_majority(after)
        return [item if error is None else item._replace(outcome=Outcome.REFUSED, error=error)]

    def item(self, admin: Admin, quorum: QuorumDescription) -> ControllerItem:
        """What is to be done with the controller, but for the majority."""
        raise NotImplementedError

    def majority_after(self, now: Majority) -> Majority:
        """That of the voters after the change."""
        raise NotImplementedError

    def found(self, quorum: QuorumDescription) -> dict[str, str]:
        """The directory ids of the controller by its roles."""
        return {
            VOTER if one.is_voter else OBSERVER: one.directory_id
            for one in quorum.replicas
            if one.node == self.node
        }

    def refused(self, controller: Controller, why: str, do: str) -> ControllerItem:
        """An item that stays as it is."""
        error = QuorumRefusedError(f"{self.doing} controller {self.node} is refused", why=why, do=do)
        return Item(self.node, controller, Outcome.REFUSED, error)

    def _no_majority(self, after: Majority) -> KcliError:
        late = sorted(after.voters - after.caught_up)
        return QuorumRefusedError(
            f"{self.doing} controller {self.node} would leave the quorum without a majority",
            why=f"of {counted(len(after.voters), 'voter')} {after.needed} have to be caught up, and "
            f"{', '.join(map(str, late))} {'is' if len(late) == 1 else 'are'} not",
            do="start or replace these first; `kcli quorum describe --watch` shows when they are caught up",
        )

    def text(self, plan: Sequence[ControllerItem]) -> str:
        """The voters before and after, and how many may fail then."""
        if self._quorum is None or self._after is None:
            return ""
        (item,) = plan
        where = ", ".join(map(str, item.facts.endpoints))
        before, after = sorted(self._quorum.voters), sorted(self._after.voters)
        lines = [
            f"{self.verb} controller {self.node}{f' at {where}' if where else ''}:",
            f"  voters {_ids(before)} → {_ids(after)}",
            f"  a majority is {self._after.needed} then; caught up: {_ids(sorted(self._after.caught_up))}"
            f"{', so that none may fail' if self._after.spare < 1 else f', of which {self._after.spare} may fail'}",
        ]
        return "\n".join(lines)

    def questions(self, plan: Sequence[ControllerItem]) -> list[Question]:
        """One."""
        sentence = f"{self.verb} controller {self.node}?"
        return [Question(self.text(plan), sentence, subject=str(self.node))]

    def again(self, item: ControllerItem, now: ControllerItem | None) -> ControllerItem:
        """Whoever leads now: what counts is its role, and the majority."""
        assert now is not None, "the scope is one controller"
        return now if now.outcome is not Outcome.PLANNED else super().again(item, now)

    def journal(self, admin: Admin, todo: Sequence[ControllerItem]) -> Draft:  # noqa: ARG002
        """What it takes to change it back."""
        entries = [
            ControllerEntry(
                item.key,
                item.facts.directory_id,
                self.wanted == VOTER,
                tuple((one.listener, one.host, one.port) for one in item.facts.endpoints),
            )
            for item in todo
        ]
        return Draft(self.printed_by, entries)

    def send(self, admin: Admin, node: int, controller: Controller) -> None:
        """The request."""
        raise NotImplementedError

    def apply(self, admin: Admin, todo: Sequence[ControllerItem]) -> dict[int, KcliError | None]:
        """Sends it."""
        answers: dict[int, KcliError | None] = {}
        for item in todo:
            try:
                self.send(admin, item.key, item.facts)
                answers[item.key] = None
            except KcliError as error:
                answers[item.key] = error
        return answers

    def read_back(
        self, admin: Admin, items: Sequence[ControllerItem]
    ) -> dict[int, Found[Controller] | KcliError]:
        """Its role now."""
        roles: dict[str, str] = {}

        def wrong() -> list[int]:
            roles.clear()
            roles.update(self.found(admin.describe_quorum()))
            return [] if (VOTER in roles) == (self.wanted == VOTER) else [self.node]

        left = wait_until_empty(admin, wrong, f"controller {self.node} was {self.done}", see=SEE)
        role = VOTER if VOTER in roles else OBSERVER if OBSERVER in roles else None
        error = None
        if left:
            is_so = "is a voter" if role == VOTER else "is not among the voters"
            error = QuorumRefusedError(
                f"controller {self.node} was {self.done}, and {is_so}", why=_MOVES, do=SEE
            )
        return {item.key: Found(item.facts._replace(role=role), error) for item in items}

    def row(self, item: ControllerItem) -> dict[str, Any]:
        """The values of the columns."""
        found = item.facts
        stays = item.outcome in (Outcome.REFUSED, Outcome.FAILED)
        return {
            "node": item.key,
            "old_role": found.old_role,
            "role": found.old_role if stays else found.role,
            "endpoints": [str(one) for one in found.endpoints],
            "directory_id": found.directory_id or None,
        }

    def summary(self, items: Sequence[ControllerItem]) -> Iterator[str]:
        """What it is now."""
        for item in items:
            is_voter = item.facts.role == VOTER
            yield f"{self.done} controller {item.key}, read back: it is {'a' if is_voter else 'not a'} voter"


class ControllerAddition(VoterChange):
    """Makes an observer that is a controller a voter. ``endpoints``: where it listens, if that is given."""

    kind = "ControllerAdd"
    printed_by = "quorum add-controller"
    wanted = VOTER
    verb = "Add"
    doing = "adding"
    done = "added"

    def __init__(
        self,
        node: int,
        directory_id: str = "",
        endpoints: Sequence[Endpoint] = (),
        *,
        undone: Journal | None = None,
    ) -> None:
        super().__init__(node, directory_id, undone=undone)
        self.endpoints = tuple(endpoints)

    def item(self, admin: Admin, quorum: QuorumDescription) -> ControllerItem:
        """One that does not read the log yet, or is behind, is refused: the quorum would wait for it."""
        found = self.found(quorum)
        if VOTER in found:
            return self._is_voter(found[VOTER], quorum.listeners.get(self.node, ()))
        directory = found.get(OBSERVER, "")
        facts = Controller(self.directory_id or directory, self.endpoints, OBSERVER if found else None, VOTER)
        if not found:
            return self.refused(
                facts,
                f"no controller {self.node} reads the metadata log",
                "start it with process.roles=controller and controller.quorum.bootstrap.servers, on data that was "
                "formatted with `kafka-storage.sh format --no-initial-controllers`",
            )
        if self.directory_id not in ("", directory):
            return self.refused(
                facts,
                f"the directory id of controller {self.node} is {directory}, not {self.directory_id}",
                "give that one, or leave --directory-id out",
            )
        if not directory:
            return self.refused(
                facts,
                f"controller {self.node} has no directory id",
                "format its data with Kafka 3.9 or later",
            )
        if any(one.node == self.node and one.state == BEHIND for one in standings(quorum)):
            return self.refused(
                facts,
                f"controller {self.node} is behind the leader",
                "wait until it is caught up: `kcli quorum describe --watch` shows it",
            )
        return Item(self.node, facts._replace(endpoints=self._endpoints(admin, quorum)))

    def _is_voter(self, directory: str, endpoints: Sequence[Endpoint]) -> ControllerItem:
        facts = Controller(directory, tuple(endpoints), VOTER, VOTER)
        if self.directory_id in ("", directory):
            return Item(self.node, facts, Outcome.UNCHANGED, note="it is a voter")
        return self.refused(
            facts,
            f"it is a voter with the directory id {directory}",
            f"`kcli quorum remove-controller {self.node}` removes that one first",
        )

    def _endpoints(self, admin: Admin, quorum: QuorumDescription) -> tuple[Endpoint, ...]:
        """Those that are given, with the listener of the other voters where it is not; else those of its broker."""
        listener = next((one.listener for some in quorum.listeners.values() for one in some), "CONTROLLER")
        given = tuple(
            one if one.listener else Endpoint(listener, one.host, one.port) for one in self.endpoints
        )
        found = given or controller_endpoints(admin, self.node)
        if not found:
            raise ConfigError(
                f"quorum add-controller: where does controller {self.node} listen?",
                why="it is no broker as well, so brokers do not report its listeners",
                do=f"give its address with --endpoint {listener}://HOST:PORT",
            )
        return found

    def majority_after(self, now: Majority) -> Majority:
        """With it."""
        return now.with_voter(self.node)

    def send(self, admin: Admin, node: int, controller: Controller) -> None:
        """AddRaftVoter."""
        admin.add_controller(node, controller.directory_id, controller.endpoints)


class ControllerRemoval(VoterChange):
    """Makes a voter an observer."""

    kind = "ControllerRemove"
    printed_by = "quorum remove-controller"
    wanted = OBSERVER
    verb = "Remove"
    doing = "removing"
    done = "removed"

    def item(self, admin: Admin, quorum: QuorumDescription) -> ControllerItem:  # noqa: ARG002
        """The last voter stays."""
        found = self.found(quorum)
        endpoints = quorum.listeners.get(self.node, ())
        if VOTER not in found:
            if OBSERVER not in found:
                error = NotFoundError(
                    f"there is no controller {self.node}", why="no voter has this node id", do=SEE
                )
                return Item(self.node, Controller("", (), None, None), Outcome.REFUSED, error)
            facts = Controller(found[OBSERVER], endpoints, OBSERVER, OBSERVER)
            return Item(self.node, facts, Outcome.UNCHANGED, note="it is not a voter")
        facts = Controller(found[VOTER], endpoints, VOTER, OBSERVER)
        if self.directory_id not in ("", facts.directory_id):
            return self.refused(
                facts,
                f"its directory id is {facts.directory_id}, not {self.directory_id}",
                "give that one, or leave --directory-id out",
            )
        if len(quorum.voters) == 1:
            return self.refused(
                facts, "it is the only voter", "add another one first: `kcli quorum add-controller ID`"
            )
        return Item(self.node, facts)

    def majority_after(self, now: Majority) -> Majority:
        """Without it."""
        return now.without(self.node)

    def warnings(self, plan: Sequence[ControllerItem]) -> Iterator[str]:
        """Of the active one, and of the way back."""
        todo = [item for item in plan if item.outcome is Outcome.PLANNED]
        if todo and self._quorum is not None:
            if any(one.node == self.node and one.state == LEADER for one in standings(self._quorum)):
                yield f"controller {self.node} is the active one: it steps down, and another voter is elected"
            yield (
                f"controller {self.node} becomes an observer, unless it is stopped; with "
                "controller.quorum.auto.join.enable=true it would join again by itself"
            )

    def send(self, admin: Admin, node: int, controller: Controller) -> None:
        """RemoveRaftVoter."""
        admin.remove_controller(node, controller.directory_id)


def undoing(journal: Journal) -> VoterChange:
    """The change that takes back the one of a journal."""
    (entry,) = (entry for entry in journal.entries if isinstance(entry, ControllerEntry))
    if entry.added:
        return ControllerRemoval(entry.node, entry.directory_id, undone=journal)
    endpoints = [Endpoint(*one) for one in entry.endpoints]
    return ControllerAddition(entry.node, entry.directory_id, endpoints, undone=journal)


def _ids(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
