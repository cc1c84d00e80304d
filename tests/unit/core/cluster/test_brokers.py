"""Connections by (node, purpose): made on demand, one at a time, again after a pause."""

from typing import Any

import pytest

from kcli.core.cluster import brokers as module
from kcli.core.cluster.brokers import CONTROL, FETCH, PRODUCE, TRANSACTION, Brokers, is_final
from kcli.core.connection.state import State
from kcli.core.errors import (
    AuthError,
    ConnectError,
    KcliError,
    NotKafkaError,
    OutcomeUnknownError,
    TooManyFilesError,
    UnsupportedError,
)
from kcli.core.future import Future
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.net.loop import Loop
from kcli.core.net.resolve import Address
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import Node
from tests.unit.core.connection.wire import metadata, offers
from tests.unit.core.net.fakes import Clock, FakeSelector, loop_on

NODE = Node(1, "127.0.0.1", 9092)
OTHER = Node(2, "127.0.0.1", 9093)


class ScriptedChannel:
    """A Channel without a socket: a test connects it, feeds it and ends it."""

    made: list["ScriptedChannel"] = []  # noqa: RUF012 - emptied by the fixture

    def __init__(self, connection: Any, **_: Any) -> None:
        self.connection = connection
        self.node = connection.node
        self.failure: KcliError | None = None
        self.clock: Any = float
        self.explain: Any = lambda error: error
        self.closed_at, self.closed_idle, self.last_used, self.attempt = 0.0, False, 0.0, 0
        self.forget: Any = lambda _channel: None
        self.addresses: list[Address] | None = None
        self.wants_write = False
        self.made.append(self)

    @property
    def is_open(self) -> bool:
        return self.connection.state is not State.CLOSED

    def fileno(self) -> int:
        return -1

    def start_setup(self, now: float) -> None:
        self.last_used = now

    def open(self, addresses: list[Address]) -> None:
        self.addresses = addresses

    def next_deadline(self) -> float:
        return self.connection.next_deadline()  # type: ignore[no-any-return]

    def check_deadlines(self, now: float) -> None:
        self.connection.check_deadlines(now)

    def close(self, error: KcliError | None = None) -> None:
        if self.is_open:
            self.failure = error or ConnectError("closed")
            self.closed_at = self.clock()
            self.closed_idle = self.connection.state is State.READY and self.connection.pending == 0
            self.connection.close(error)

    def make_ready(self) -> None:
        self.connection.connected(0.0, 1e9)
        self.feed(offers())

    def feed(self, data: bytes) -> None:
        self.connection.frames.writable()[: len(data)] = data
        self.connection.received(len(data), 0.0)


class Rig:
    def __init__(self, loop: Loop, clock: Clock, **values: Any) -> None:
        self.loop, self.clock = loop, clock
        options = ClientOptions(bootstrap_servers="x", **values)
        self.lookups: list[str] = []
        self.found: Any = [Address(2, ("10.0.0.1", 9092))]
        self.brokers = Brokers(loop, options, NO_HOOKS, resolve=self.resolve)

    def resolve(self, host: str, port: int) -> list[Address]:
        self.lookups.append(host)
        if isinstance(self.found, KcliError):
            raise self.found
        return list(self.found)

    def ask(self, node: Node = NODE, purpose: str = CONTROL) -> Future[Any]:
        future: Future[Any] = Future()
        now = self.clock()
        self.brokers.send(node, purpose, MetadataRequest(topics=[]), future, now, now + 30)
        return future

    def turn(self, seconds: float = 0.0) -> None:
        end = self.clock() + seconds
        self.loop.poll(0)
        while self.clock() < end:
            self.loop.poll(end - self.clock())

    def fail(self, error: KcliError | None = None) -> None:
        ScriptedChannel.made[-1].close(error or ConnectError("cannot connect: refused"))
        self.turn()


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    ScriptedChannel.made = []
    monkeypatch.setattr(module, "Channel", ScriptedChannel)
    clock = Clock()
    return Rig(loop_on(FakeSelector(clock), monkeypatch), clock)


def made() -> list[ScriptedChannel]:
    return ScriptedChannel.made


@pytest.mark.case("S0-64", "N11")
def test_many_requests_share_one_connection(rig: Rig) -> None:
    futures = [rig.ask() for _ in range(200)]
    assert len(made()) == 1
    made()[0].make_ready()
    for number in range(1, 201):
        made()[0].feed(metadata(number))
    rig.turn()
    assert all(f.done and f.error is None for f in futures)


@pytest.mark.case("S0-64", "S4-5")
def test_each_node_and_each_purpose_has_its_own(rig: Rig) -> None:
    for node in (NODE, OTHER):
        for purpose in (CONTROL, FETCH):
            rig.ask(node, purpose)
    assert len(made()) == 4


def test_an_address_needs_no_thread_and_no_lookup_of_names(rig: Rig) -> None:
    rig.ask()
    assert made()[0].addresses == rig.found


@pytest.mark.case("S6", "X15")
def test_a_broker_at_a_refused_address_is_available_and_fails_at_once(rig: Rig) -> None:
    """Its address is never in backoff: callers that wait until it is over get the refusal without delay."""
    node = Node(7, "a b", 9092)
    for _ in range(2):
        assert rig.brokers.available(node, FETCH, rig.clock())
        future = rig.ask(node, FETCH)
        rig.turn()
        assert future.error is not None
        assert "broker 7 advertises 'a b'" in future.error.what
    assert (made(), rig.lookups) == ([], [])


def test_a_failure_ends_in_the_future(rig: Rig) -> None:
    future = rig.ask()
    rig.fail()
    assert "refused" in str(future.error)
    assert not isinstance(future.error, OutcomeUnknownError)


@pytest.mark.case("N2", "N11")
def test_during_backoff_nothing_is_tried(rig: Rig) -> None:
    rig.ask()
    rig.fail()
    assert not rig.brokers.available(NODE, CONTROL, rig.clock())
    future = rig.ask()
    rig.turn()
    assert len(made()) == 1
    assert type(future.error) is ConnectError


def test_the_backoff_ends_at_the_time_it_says(rig: Rig) -> None:
    rig.ask()
    rig.fail()
    at = rig.brokers.retry_at(NODE, CONTROL) or rig.clock()
    rig.brokers.offer(NODE, CONTROL)
    at = rig.brokers.retry_at(NODE, CONTROL)
    assert rig.clock() < at <= rig.clock() + 0.06
    assert rig.brokers.available(NODE, CONTROL, at)


@pytest.mark.case("N2", "N11")
def test_a_dead_broker_is_tried_at_most_twelve_times_in_ten_seconds(rig: Rig) -> None:
    end = rig.clock() + 10
    while rig.clock() < end:
        if rig.brokers.available(NODE, CONTROL, rig.clock()):
            rig.ask()
            rig.fail()
        rig.turn(0.01)
    assert 4 <= len(made()) <= 12


def test_a_connection_that_was_ready_starts_the_backoff_over(rig: Rig) -> None:
    for _ in range(6):
        rig.ask()
        rig.fail()
        rig.brokers.offer(NODE, CONTROL)
        rig.turn(2)
    rig.ask()
    made()[-1].make_ready()
    rig.ask()
    rig.fail(OutcomeUnknownError("reset"))
    assert rig.brokers.retry_at(NODE, CONTROL) - rig.clock() < 0.07


@pytest.mark.case("N14")
def test_a_connection_closed_while_idle_is_made_again_silently(rig: Rig) -> None:
    rig.ask()
    made()[0].make_ready()
    made()[0].feed(metadata(1))
    rig.turn(100)
    made()[0].close(OutcomeUnknownError("the broker closed the connection"))
    rig.turn(100)
    assert rig.brokers.available(NODE, CONTROL, rig.clock())
    assert rig.brokers.failure(NODE, CONTROL) is None
    future = rig.ask()
    assert len(made()) == 2
    made()[1].make_ready()
    made()[1].feed(metadata(1, "again"))
    rig.turn()
    assert future.value.cluster_id == "again"


def test_the_backoff_counts_from_the_end_and_not_from_the_next_check(rig: Rig) -> None:
    rig.ask()
    made()[0].close(ConnectError("refused"))
    rig.turn(100)
    assert rig.brokers.available(NODE, CONTROL, rig.clock())


def test_what_the_broker_offers_is_known_once_it_is_ready(rig: Rig) -> None:
    rig.ask()
    assert rig.brokers.offer(NODE, CONTROL) is None
    assert rig.brokers.pending(NODE, CONTROL) == 1
    made()[0].make_ready()
    assert rig.brokers.offer(NODE, CONTROL).apis[3] == (0, 12)
    assert rig.brokers.offer(OTHER, CONTROL) is None
    assert rig.brokers.pending(OTHER, CONTROL) == 0


def test_too_many_open_files_are_said_at_once_with_what_to_do(rig: Rig) -> None:
    """Whoever waits for a broker tries again, for as long as it takes."""
    said: list[str] = []
    rig.brokers._hooks = Hooks(log=lambda *event: said.append(" ".join(event)))
    rig.ask()
    rig.fail(TooManyFilesError("cannot connect to x", why="too many open files", do="raise the limit"))
    rig.brokers.offer(NODE, CONTROL)
    assert said[-1:] == ["warning conf a connection cannot be opened: too many open files; raise the limit"]


def test_the_reason_of_a_failure_is_kept_until_the_broker_answers(rig: Rig) -> None:
    """Who gives up while another try is going on has something to say."""
    rig.ask()
    rig.fail(ConnectError("cannot connect: refused"))
    assert "refused" in str(rig.brokers.failure(NODE, CONTROL))
    rig.turn(5)
    rig.ask()
    assert "refused" in str(rig.brokers.failure(NODE, CONTROL))
    made()[-1].make_ready()
    assert rig.brokers.failure(NODE, CONTROL) is None


def test_a_connection_that_broke_is_the_failure_of_its_purpose_alone(rig: Rig) -> None:
    for purpose in (CONTROL, FETCH):
        rig.ask(NODE, purpose)
        made()[-1].make_ready()
    rig.fail(OutcomeUnknownError("reset"))
    assert "reset" in str(rig.brokers.failure(NODE, FETCH))
    assert rig.brokers.failure(NODE, CONTROL) is None


# --- one address, several purposes --------------------------------------------------------------------------------


def test_a_dead_broker_is_dead_for_all_purposes(rig: Rig) -> None:
    rig.ask(NODE, CONTROL)
    rig.fail(ConnectError("cannot connect: refused"))
    assert not rig.brokers.available(NODE, FETCH, rig.clock())
    assert rig.brokers.retry_at(NODE, FETCH) == rig.brokers.retry_at(NODE, CONTROL) > rig.clock()
    assert "refused" in str(rig.brokers.failure(NODE, FETCH))
    future = rig.ask(NODE, FETCH)
    rig.turn()
    assert "refused" in str(future.error)
    assert len(made()) == 1


def test_after_a_failure_one_purpose_tries_and_the_rest_hold_back(rig: Rig) -> None:
    rig.ask(NODE, CONTROL)
    rig.fail()
    rig.turn(0.1)
    rig.ask(NODE, FETCH)
    assert not rig.brokers.available(NODE, CONTROL, rig.clock())
    made()[-1].make_ready()
    assert rig.brokers.available(NODE, CONTROL, rig.clock())


@pytest.mark.case("N11")
def test_all_purposes_together_try_a_dead_broker_at_most_twelve_times_in_ten_seconds(rig: Rig) -> None:
    """With as many purposes as there are."""
    end = rig.clock() + 10
    while rig.clock() < end:
        for purpose in (CONTROL, FETCH, PRODUCE, TRANSACTION):
            if rig.brokers.available(NODE, purpose, rig.clock()):
                rig.ask(NODE, purpose)
                rig.fail()
        rig.turn(0.01)
    assert 4 <= len(made()) <= 12


def test_connections_that_break_together_count_as_one_failure(rig: Rig) -> None:
    for purpose in (CONTROL, FETCH, PRODUCE, TRANSACTION):
        rig.ask(NODE, purpose)
        made()[-1].make_ready()
    for channel in made():
        channel.close(OutcomeUnknownError("reset"))
    assert rig.brokers.retry_at(NODE, CONTROL) - rig.clock() < 0.07


def test_a_broker_that_moves_to_another_address_is_not_held_back_by_the_old_one(rig: Rig) -> None:
    rig.ask(NODE)
    rig.fail()
    moved = Node(NODE.id, "127.0.0.1", 9999)
    assert rig.brokers.available(moved, CONTROL, rig.clock())
    assert rig.brokers.failure(moved, CONTROL) is None


# --- addresses that metadata names (N13) --------------------------------------------------------------------------


@pytest.mark.case("N13")
def test_an_advertised_address_that_was_never_reached_is_reported_as_such(rig: Rig) -> None:
    """The listener may be meant for others."""
    future = rig.ask()
    made()[-1].close(made()[-1].explain(ConnectError("cannot connect", why="Connection refused")))
    rig.turn()
    assert str(future.error) == (
        "broker 1 advertises 127.0.0.1:9092, unreachable from here: cannot connect: Connection refused"
    )
    assert "advertised.listeners" in getattr(future.error, "do", "")


@pytest.mark.parametrize("node", [NODE, Node(-10, NODE.host, NODE.port)])
def test_an_address_that_has_answered_or_was_given_by_the_user_is_not_blamed_on_metadata(
    rig: Rig, node: Node
) -> None:
    if node is NODE:
        rig.ask()
        made()[-1].make_ready()
        rig.fail(OutcomeUnknownError("reset"))
        rig.turn(5)
    rig.ask(node)
    refused = ConnectError("cannot connect")
    assert made()[-1].explain(refused) is refused


@pytest.mark.case("N14")
@pytest.mark.parametrize(("idle", "closed"), [(539, False), (541, True)])
def test_idle_connections_are_closed(rig: Rig, idle: float, *, closed: bool) -> None:
    rig.ask()
    made()[0].make_ready()
    made()[0].feed(metadata(1))
    rig.brokers.close_idle(rig.clock() + idle)
    assert made()[0].is_open is not closed


def test_a_connection_with_a_request_in_flight_is_not_idle(rig: Rig) -> None:
    rig.ask()
    made()[0].make_ready()
    rig.brokers.close_idle(rig.clock() + 10_000)
    assert made()[0].is_open


def test_names_are_looked_up_on_a_thread(rig: Rig) -> None:
    rig.ask(Node(3, "broker.example", 9092))
    while made()[0].addresses is None:
        rig.loop.poll(0)
    assert rig.lookups == ["broker.example"]


@pytest.mark.case("N1")
def test_a_name_that_does_not_resolve_fails_its_requests(rig: Rig) -> None:
    rig.found = ConnectError("cannot resolve broker.example")
    future = rig.ask(Node(3, "broker.example", 9092))
    while not future.done:
        rig.loop.poll(0)
    assert "cannot resolve" in str(future.error)


@pytest.mark.parametrize(
    ("error", "final"),
    [
        (AuthError("certificate"), True),
        (NotKafkaError("broker:9092 does not speak Kafka on this port"), True),
        (UnsupportedError("broker:9092 does not offer Metadata"), True),
        (ConnectError("cannot connect"), False),
        (OutcomeUnknownError("reset"), False),
        (None, False),
    ],
)
def test_permanent_connection_errors(error: KcliError | None, *, final: bool) -> None:
    assert is_final(error) is final
