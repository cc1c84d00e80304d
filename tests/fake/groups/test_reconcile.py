"""KIP-848 groups on their way to their targets: no partition ever has two owners, and all arrive."""

import random

import pytest

from tests.fake.codes import Code
from tests.fake.groups import asks
from tests.fake.groups.asks import G, code, commit, consumer_heartbeat, consumer_join, given
from tests.fake.groups.consumer_group import ConsumerMember, Progress
from tests.fake.groups.driver import Driver
from tests.fake.groups.reconcile import Step, next_step


class Client:
    """A member that does what it is told: it gives up at once, and reports so with its next heartbeat."""

    def __init__(self, driver: Driver, name: str) -> None:
        self.driver, self.name, self.epoch, self.owned = driver, name, 0, {}

    def beat(self) -> None:
        if self.epoch == 0:
            answer = self.driver.ask(consumer_join(self.name, "a", "b"))
        else:
            answer = self.driver.ask(consumer_heartbeat(self.name, self.epoch, owned=self.owned))
        if answer.error_code in (Code.UNKNOWN_MEMBER_ID, Code.FENCED_MEMBER_EPOCH, Code.GROUP_ID_NOT_FOUND):
            self.epoch, self.owned = 0, {}
            return
        assert answer.error_code == Code.NONE
        self.epoch = answer.member_epoch
        told = given(answer)
        self.owned = self.owned if told is None else told

    @property
    def places(self) -> set[tuple[str, int]]:
        return {(topic, p) for topic, partitions in self.owned.items() for p in partitions}


def settle(clients: list[Client], turns: int = 8) -> None:
    for _ in range(turns):
        for client in clients:
            client.beat()


def assert_shared(clients: list[Client]) -> None:
    """All seven partitions have one owner, and nobody has two more than another."""
    owned = [place for client in clients for place in client.places]
    assert len(owned) == len(set(owned)) == 7
    sizes = [len(client.places) for client in clients]
    assert max(sizes) - min(sizes) <= 1


def test_three_members_share_step_by_step(driver: Driver):
    first, second, third = clients = [Client(driver, name) for name in ("m1", "m2", "m3")]
    first.beat()
    assert len(first.places) == 7
    second.beat()
    assert second.places == set()  # nothing is free before the first one gave up
    first.beat()
    second.beat()
    assert second.places == set()  # told to, but not yet reported
    first.beat()
    second.beat()
    assert (len(first.places), len(second.places)) == (4, 3)
    third.beat()
    assert driver.groups.state(G) == "Reconciling"
    settle(clients)
    assert driver.groups.state(G) == "Stable"
    assert {client.epoch for client in clients} == {driver.groups.generation(G)} == {4}
    assert_shared(clients)


def test_a_member_that_leaves_is_replaced(driver: Driver):
    clients = [Client(driver, name) for name in ("m1", "m2", "m3")]
    settle(clients)
    driver.ask(asks.leave("m2"))
    settle([clients[0], clients[2]])
    assert_shared([clients[0], clients[2]])
    assert driver.ask(consumer_heartbeat("m2", clients[1].epoch)).error_code == Code.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("seed", range(20))
def test_churn_never_gives_a_partition_to_two_and_ends_balanced(seed):
    """Members join, beat, vanish, leave and are evicted in any order."""
    chance = random.Random(seed)
    driver = Driver(assignment_interval=chance.choice([0, 1]), consumer_session_timeout=3)
    clients = [Client(driver, f"m{n}") for n in range(4)]
    for _ in range(150):
        client = chance.choice(clients)
        match chance.choices(["beat", "leave", "evict", "wait"], [20, 1, 1, 4])[0]:
            case "beat":
                client.beat()
            case "leave" if client.epoch:
                driver.ask(consumer_heartbeat(client.name, -1))
                client.epoch, client.owned = 0, {}
            case "evict" if client.name in driver.groups.members(G):
                driver.groups.evict(G, client.name)
            case "wait":
                driver.advance(0.3)
        views = driver.groups.members(G).values()
        held = [tp for view in views for tp in view.partitions]
        assert len(held) == len(set(held))
        known = [c for c in clients if c.name in driver.groups.members(G)]
        real = [place for c in known for place in c.places]
        assert len(real) == len(set(real))
    for _ in range(3):
        driver.advance(1.1)
        settle(clients, 3)
    assert driver.groups.state(G) == "Stable"
    assert_shared(clients)
    driver.close()


A = b"a" * 16


def places(*partitions: int) -> frozenset:
    return frozenset((A, p) for p in partitions)


def held(*partitions: int, since: int = 3) -> dict:
    return dict.fromkeys(places(*partitions), since)


@pytest.mark.parametrize(
    ("member", "target", "owned", "taken", "step"),
    [
        pytest.param(
            {"assigned": held(0)}, places(0, 1), None, (),
            Step(Progress.STABLE, 5, held(0) | held(1, since=5), {}), id="gets what is free",
        ),
        pytest.param(
            {"assigned": held(0)}, places(0, 1), None, (1,),
            Step(Progress.UNRELEASED, 5, held(0), {}), id="waits for what another has",
        ),
        pytest.param(
            {"assigned": held(0, 1)}, places(0), None, (),
            Step(Progress.UNREVOKED, 3, held(0), held(1)), id="must give up, stays in its epoch",
        ),
        pytest.param(
            {"assigned": held(0, 1)}, places(0), places(0), (),
            Step(Progress.STABLE, 5, held(0), {}), id="does not even have what it must give up",
        ),
        pytest.param(
            {"progress": Progress.UNREVOKED, "assigned": held(0), "revoking": held(1)}, places(0), None, (),
            Step(Progress.UNREVOKED, 3, held(0), held(1)), id="does not tell",
        ),
        pytest.param(
            {"progress": Progress.UNREVOKED, "assigned": held(0), "revoking": held(1)}, places(0), places(0, 1), (),
            Step(Progress.UNREVOKED, 3, held(0), held(1)), id="has not given up yet",
        ),
        pytest.param(
            {"progress": Progress.UNREVOKED, "assigned": held(0, 1), "revoking": held(2)}, places(0), places(0, 1), (),
            Step(Progress.UNREVOKED, 3, held(0), held(1)), id="must give up still more",
        ),
        pytest.param(
            {"progress": Progress.UNREVOKED, "assigned": held(0), "revoking": held(1)}, places(0, 1), places(0), (),
            Step(Progress.STABLE, 5, held(0) | held(1, since=5), {}), id="gets back what it gave up",
        ),
    ],
)  # fmt: skip
def test_one_step(member, target, owned, taken, step):
    """A member in epoch 3, its target is of epoch 5."""
    here = ConsumerMember("m", epoch=3, **member)
    assert next_step(here, target, 5, owned, lambda place: place[1] not in taken) == step


def test_holding_guard(driver: Driver):
    """kafka-facts 3, procedure H: own everything, commit, hold while the others come back, leave."""
    driver.groups.settings.assignment_interval = 1
    clients = [Client(driver, name) for name in ("m1", "m2")]
    for _ in range(4):
        settle(clients, 2)
        driver.advance(1.1)
    driver.ask(consumer_join("guard", "a", "b"))
    for client in clients:
        driver.ask(consumer_heartbeat(client.name, -1))
    settle(clients, 1)  # they learn it, and come back before new targets are due
    settle(clients, 1)
    for name in list(driver.groups.members(G)):
        if name != "guard":
            driver.ask(consumer_heartbeat(name, -1))
    driver.advance(1.1)
    guard = driver.ask(consumer_heartbeat("guard", driver.groups.members(G)["guard"].epoch, owned={}))
    everything = given(guard)
    assert everything == {"a": [0, 1, 2, 3], "b": [0, 1, 2]}
    epoch = guard.member_epoch
    assert code(driver.ask(commit({"a": {0: 42}}, "guard", epoch), 9)) == Code.NONE
    for _ in range(4):
        driver.advance(1.1)
        settle(clients, 1)
        told = driver.ask(consumer_heartbeat("guard", epoch, owned=everything))
        assert (told.error_code, told.member_epoch) == (Code.NONE, epoch)
    assert [client.places for client in clients] == [set(), set()]
    assert code(driver.ask(commit({"a": {0: 42}}, "guard", epoch), 9)) == Code.NONE
    driver.ask(consumer_heartbeat("guard", -1))
    driver.advance(1.1)
    settle(clients)
    assert_shared(clients)
    assert asks.fetched(driver.ask(asks.fetch())) == {("a", 0): (42, 0)}
