"""Requests about many keys: split by route, sent in parallel, merged, with errors per key.

A key whose broker has moved is sent again after a new lookup, alone; the other keys keep their results, and no broker
waits for another. Runs in the loop's thread and blocks only in its poll.

A key that a response leaves out is never taken for "there is none": it is requested again, and reported as an
error at the deadline (``tests/unit/core/cluster/test_fanout.py``, ``tests/fault/test_admin.py``, G8).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from math import inf
from typing import Any, Generic, TypeVar

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import (
    Backoff,
    classify_error,
    given_up,
    late_error,
    no_response,
    outcome_is_ambiguous,
)
from kcli.core.cluster.routes import Route, ToLeader
from kcli.core.cluster.silence import SHORT_PATIENCE
from kcli.core.connection.plan import Broker, Plan
from kcli.core.error_codes import NONE
from kcli.core.errors import (
    BrokerError,
    KcliError,
    NoLeaderError,
    NotFoundError,
    ProtocolError,
    TimedOutError,
)
from kcli.core.future import Future
from kcli.core.permissions import Permission
from kcli.core.protocol.api import Request
from kcli.core.types import TopicPartition

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")

UNKNOWN_TOPIC_PATIENCE = 1.0
"""Seconds for which a topic or broker that does not exist may be about to: its creation takes a moment to propagate."""

Items = list[tuple[K, V]]


class LeftOutError(ProtocolError):
    """A response lacks a key that was in its request. The key is retried until the deadline."""


class NextRequestError(KcliError):
    """The outcome of a key about which another request is to be made, at once; no caller sees it."""


class Part(NamedTuple, Generic[K]):
    """A request and the keys that its response should cover; or the error that rules out a request for them."""

    request: Request | KcliError
    keys: Collection[K]


Ask = Callable[[Broker, Items[K, V]], Iterable[Part[K]]]
"""Makes the requests to one broker, given the versions it offers. A KcliError it raises applies to every key."""
Read = Callable[[Any, Part[K]], Iterable[tuple[K, int | KcliError, A]]]
"""Reads the response to a part: for each key an error code or a finished error, and a value."""
Needs = Callable[[K], Iterable[Permission]]
"""The permissions that a request about a key needs."""


_MOST_ITEMS, _MOST_RECORDS = 1_000, 5_000


def portions(items: Items[K, V], records: Callable[[V], int] = lambda _value: 1) -> Iterator[Items[K, V]]:
    """The items in as many requests as they need: a controller refuses one that makes more than 10,000 records
    (MAX_RECORDS_PER_USER_OP). ``records``: how many a value makes.
    """
    some: Items[K, V] = []
    count = 0
    for item in items:
        more = records(item[1])
        if some and (len(some) == _MOST_ITEMS or count + more > _MOST_RECORDS):
            yield some
            some, count = [], 0
        some.append(item)
        count += more
    if some:
        yield some


def _nothing(_key: object) -> Iterable[Permission]:
    return ()


def verdict(code: int, what: str, message: str | None, needs: Iterable[Permission] = ()) -> int | KcliError:
    """The outcome of a row that carries a message: the code, or an error with the broker's message."""
    return code if code == NONE else BrokerError(code, what, message=message or "", needs=needs)


@dataclass(slots=True, eq=False, repr=False)
class _Call(Generic[K]):
    """The share of a round that goes to one broker."""

    node_id: int
    keys: list[K]
    parts: list[Part[K]]
    plan: Plan
    future: Future[Any]
    until: float  # when it is given up


def fan_out(
    cluster: Cluster,
    items: Mapping[K, V],
    route: Route[K],
    ask: Ask[K, V],
    read: Read[K, A],
    deadline: float,
    what: str,
    *,
    final: Collection[int] = (),
    unknown: Collection[int] = (),
    unsure: set[K] | None = None,
    leader_patience: float | None = None,
    hurried: Collection[K] = (),
    needs: Needs[K] = _nothing,
) -> dict[K, A | KcliError]:
    """The result or the error of every key in ``items``, in their order. Never raises for a single key.

    ``what`` precedes the key in errors. ``final``: codes that are not retried here, whatever the table of codes says;
    ``unknown``: codes that mean "does not exist", which may change within a moment. ``unsure`` collects the keys with
    an attempt whose outcome is unknown: the broker may have done what was requested. ``leader_patience``: seconds for
    which a partition may be without a leader; None: until the deadline. ``hurried``: keys whose errors are retried for
    SHORT_PATIENCE only. ``needs``: the permissions for a key.
    """
    run = FanOut(cluster, items, route, ask, read, deadline, what)
    run.final, run.unknown = final, unknown
    run.unsure = set() if unsure is None else unsure
    run.leader_patience, run.hurried = leader_patience, hurried
    run.needs = needs
    return run.run()


def by_leader(
    cluster: Cluster,
    items: Mapping[TopicPartition, V],
    ask: Callable[[Items[TopicPartition, V]], Request],
    read: Callable[[Any], Iterable[tuple[TopicPartition, int | KcliError, A]]],
    deadline: float,
    what: str,
    needs: Needs[TopicPartition] = _nothing,
) -> dict[TopicPartition, A | KcliError]:
    """``fan_out`` to the leaders of partitions, with one request per broker that is the same in all versions."""

    def one(_broker: Broker, group: Items[TopicPartition, V]) -> list[Part[TopicPartition]]:
        return [Part(ask(group), [tp for tp, _ in group])]

    return fan_out(
        cluster,
        items,
        ToLeader(cluster),
        one,
        lambda response, _part: read(response),
        deadline,
        what,
        needs=needs,
    )


class FanOut(Generic[K, V, A]):
    """``fan_out`` in two steps: what is begun first is on its way while something else is waited for.

    ``results`` are final; a key in ``errors`` is still open, and its last attempt failed.
    """

    def __init__(
        self,
        cluster: Cluster,
        items: Mapping[K, V],
        route: Route[K],
        ask: Ask[K, V],
        read: Read[K, A],
        deadline: float,
        what: str,
    ) -> None:
        self._cluster, self._items, self._route = cluster, items, route
        self._ask, self._read = ask, read
        self._deadline, self._what = cluster.step_deadline(deadline), what
        self.final: Collection[int] = ()
        self.unknown: Collection[int] = ()
        self.unsure: set[K] = set()
        self.leader_patience: float | None = None
        self.needs: Needs[K] = _nothing
        self.hurried: Collection[K] = ()
        self._results: dict[K, A | KcliError] = {}
        self._errors: dict[K, KcliError] = {}
        self._waiting = dict.fromkeys(items)
        """The keys that are not in flight. A round costs what it moves, not what is open: a cluster may have as many
        partitions as there are keys, and each of its brokers is a round."""
        self._in_flight: dict[_Call[K], None] = {}
        self._arrived: list[_Call[K]] = []
        self._earliest = inf  # no call in flight is given up before
        self._backoff = Backoff.of_requests(cluster.options)
        self._started = cluster.loop.now()
        self._routed: float | None = None  # when the first keys had been routed

    def begin(self) -> None:
        """Sends the first requests, as soon as their brokers are known."""
        self._send(self._idle())

    def extend(self, deadline: float) -> None:
        """What was begun is waited for until ``deadline``, where that is later."""
        self._deadline = max(self._deadline, deadline)
        for call in self._in_flight:
            call.until = self._until_of(call.node_id)

    def run(self) -> dict[K, A | KcliError]:
        """Runs rounds until every key has its result."""
        while self._open():
            self._send(self._idle())
            self._wait()
            self._collect()
            self._give_up()
            refused = self._idle()
            if refused and all(key in self._errors for key in refused):  # else others are asked about at once
                left = min(map(self._until, refused)) - self._cluster.loop.now()
                self._cluster.sleep(min(self._backoff.next(), max(0.0, left)))
                self._route.renew({key: self._errors[key] for key in refused}, self._deadline)
        return {key: self._results[key] for key in self._items}

    # --- the steps of a round ----------------------------------------------------------------------

    def _send(self, keys: list[K]) -> None:
        if not keys:
            return
        by_node: dict[int, list[K]] = {}
        for key, node in self._route.find_nodes(keys, self._deadline).items():
            if node in by_node:
                by_node[node] += (key,)  # thousands of keys: no calls
            elif (
                isinstance(node, TimedOutError)
                and not isinstance(node, NoLeaderError)
                and key in self._errors
            ):
                continue  # as in _note_silence
            elif isinstance(node, KcliError):
                self._note_error(key, node, passing=isinstance(node, (NotFoundError, TimedOutError)))
            else:
                by_node[node] = [key]
        # Patience counts from here: the first lookup may itself have taken long, and no broker has been asked
        # about these keys before.
        if self._routed is None:
            self._routed = self._cluster.loop.now()
        for node_id, group in by_node.items():
            call = self._send_to(node_id, group)
            self._in_flight[call] = None
            self._earliest = min(self._earliest, call.until)
            call.future.on_done(partial(self._has_ended, call))
            for key in group:
                del self._waiting[key]

    def _send_to(self, node_id: int, keys: list[K]) -> _Call[K]:
        parts: list[Part[K]] = []

        def write(broker: Broker) -> list[Request]:
            parts[:] = self._ask(broker, [(key, self._items[key]) for key in keys])
            return [part.request for part in parts if not isinstance(part.request, KcliError)]

        plan = Plan(write)
        return _Call(node_id, keys, parts, plan, self._cluster.send(plan, node_id), self._until_of(node_id))

    def _until_of(self, node_id: int) -> float:
        """How long a broker is waited for that is asked now."""
        silence = self._cluster.silence
        if silence is None:
            return self._deadline
        return silence.patience(node_id, self._cluster.loop.now(), self._deadline)

    def _has_ended(self, call: _Call[K], _future: Future[Any]) -> None:
        if call in self._in_flight:
            self._arrived.append(call)

    def _wait(self) -> None:
        """Returns when one of the brokers has responded, or is not waited for any longer."""
        while self._in_flight and not self._arrived:
            now = self._cluster.loop.now()
            if self._earliest <= now:
                self._earliest = min(call.until for call in self._in_flight)
            if (left := self._earliest - now) <= 0:
                return
            self._cluster.poll(left)

    def _collect(self) -> None:
        """Reads the responses that have arrived; at the deadline also those of incomplete calls."""
        # At the deadline a call whose plan is answered in part counts in part: what is known is a result, the
        # rest is unsure.
        now = self._cluster.loop.now()
        ended, self._arrived = self._arrived, []
        if now >= self._earliest:
            ended += [call for call in self._in_flight if now >= call.until and not call.future.done]
        for call in ended:
            del self._in_flight[call]
            self._read_call(call)
            self._waiting.update(dict.fromkeys(key for key in call.keys if key not in self._results))

    def _read_call(self, call: _Call[K]) -> None:
        if call.future.error is not None:
            self._note_errors(call.keys, call.future.error)
            return
        if not call.future.done and not call.plan.responses:
            self._note_silence(call.keys, call)
            return
        responses = iter(call.plan.responses)
        for part in call.parts:
            if isinstance(part.request, KcliError):
                self._note_errors(part.keys, part.request)
            else:
                self._read_response(part, next(responses), call)

    def _read_response(self, part: Part[K], response: Future[Any], call: _Call[K]) -> None:
        if not response.done:
            self._note_silence(part.keys, call)
            return
        if response.error is not None:
            self._note_errors(part.keys, response.error)
            return
        left_out = dict.fromkeys(part.keys)
        for key, outcome, value in self._read(response.value, part):
            if key not in left_out:
                continue  # listed twice, or not requested
            del left_out[key]
            if outcome == NONE:
                self._results[key] = value
            elif isinstance(outcome, NextRequestError):
                self._errors.pop(key, None)
            elif isinstance(outcome, KcliError):
                self._note_error(key, outcome)
            else:
                self._note_error(key, BrokerError(outcome, f"{self._what} {key}", needs=self.needs(key)))
        for key in left_out:
            self._note_error(key, LeftOutError("the response does not contain it"))

    def _give_up(self) -> None:
        """Completes the keys whose time is up."""
        now = self._cluster.loop.now()
        for key in self._idle():
            error = self._errors.get(key)
            if error is None or now < self._until(key):
                continue
            patience = self._patience(error)
            what = f"{self._what} {key}"
            self._results[key] = error if patience is not None else given_up(what, error, now - self._started)

    # --- inside ------------------------------------------------------------------------------------

    def _until(self, key: K) -> float:
        """When the last error of a key becomes its result."""
        patience = SHORT_PATIENCE if key in self.hurried else self._patience(self._errors[key])
        if patience is None or self._routed is None:
            return self._deadline
        return min(self._routed + patience, self._deadline)

    def _patience(self, error: KcliError) -> float | None:
        """Seconds after which the error becomes the result; None: the key is retried until the deadline."""
        if isinstance(error, NotFoundError) or _code(error) in self.unknown:
            return UNKNOWN_TOPIC_PATIENCE
        return self.leader_patience if isinstance(error, NoLeaderError) else None

    def _open(self) -> bool:
        return len(self._results) < len(self._items)

    def _idle(self) -> list[K]:
        """Keys that are open and not in flight."""
        for key in [key for key in self._waiting if key in self._results]:
            del self._waiting[key]
        return list(self._waiting)

    def _note_silence(self, keys: Iterable[K], call: _Call[K]) -> None:
        error, now = no_response(self._cluster.waits_for(call.node_id)), self._cluster.loop.now()
        if self._cluster.silence is not None:
            self._cluster.silence.add(call.node_id, call.future)
        for key in keys:  # an earlier error is more specific than the deadline
            self._errors.setdefault(key, error)
            self.unsure.add(key)
            if now < self._deadline:
                self._results[key] = late_error(f"{self._what} {key}", self._errors[key])

    def _note_errors(self, keys: Iterable[K], error: BaseException) -> None:
        for key in keys:
            self._note_error(key, error)

    def _note_error(self, key: K, error: BaseException, *, passing: bool = False) -> None:
        """Records an error: final if it is not retriable."""
        if not isinstance(error, KcliError):
            raise error
        if outcome_is_ambiguous(error) or isinstance(error, LeftOutError):
            self.unsure.add(key)
        if _code(error) in self.final:
            self._results[key] = error
        elif passing or classify_error(error).retriable or isinstance(error, LeftOutError):
            self._errors[key] = error
        else:
            self._results[key] = error


def _code(error: BaseException) -> int | None:
    return error.code if isinstance(error, BrokerError) else None
