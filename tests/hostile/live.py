"""Clients in sessions with a cluster whose responses are changed: ``python -m tests.hostile --clients``. Not a test.

Each session is a client that does something ordinary; some responses, from a random one on, are changed inside their
frame or in its length. Each operation must end as usual or with an error of kcli's, within the time that it was given
plus a second. One that is late is repeated alone, since the machine may be busy. In the end no thread and no file
descriptor may be left. What a changed response makes a client believe is followed no further than to loopback: names
are not looked up, other addresses are replaced.
"""

import _socket
import gc
import itertools
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, TypeVar
from unittest.mock import patch

from kcli.core import Admin, Consumer, Producer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError
from kcli.core.future import Future
from kcli.core.types import OffsetAndMetadata, ProducerRecord, TopicPartition
from tests.fake.cluster import FakeCluster
from tests.fake.exchange import Exchange
from tests.fake.sasl import Sasl
from tests.fake.script import FOREVER, Fault
from tests.fault.authenticating import CANARY, MECHANISMS, login, users
from tests.hostile.mutator import Mark, Sample, mutate, numbers
from tests.hostile.responses import Writer

TIME = 0.4
"""Seconds that a client gives each operation."""
LATE = 1.0
"""Seconds that an operation may take beyond that."""
_REPEATS = 3
THREADS = 6
PATIENCE = 5.0
"""Seconds until threads and sockets of closed clients are gone."""
T = TypeVar("T")
_T0, _T1, _U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
_MS = round(TIME * 1000)
_OPTIONS: dict[str, Any] = {
    "request_timeout_ms": 200,
    "retry_backoff_ms": 5,
    "retry_backoff_max_ms": 20,
    "reconnect_backoff_ms": 5,
    "reconnect_backoff_max_ms": 20,
    "socket_connection_setup_timeout_ms": 200,
}


class Mutate(Fault):
    """Changes half of the frames that it catches; ``last`` is what was changed last, for the report."""

    def __init__(self, rng: Random, count: Callable[[], None]) -> None:
        self._rng = rng
        self._count = count
        self.last = "nothing was changed"

    async def on_frame(self, exchange: Exchange) -> None:
        rng = self._rng
        if rng.random() < 0.5:
            return
        frame = mutate(sample_of(exchange), rng)
        size = len(frame) if rng.random() < 0.97 else numbers(rng, len(frame)) & 0xFFFFFFFF
        exchange.frame = size.to_bytes(4, "big") + frame
        self._count()
        self.last = f"{exchange.seen.kind.api_name} v{exchange.seen.version}: {frame[:400].hex()}"


def sample_of(exchange: Exchange) -> Sample:
    """The frame after its length, with the numbers of its body."""
    frame, seen = exchange.frame[4:], exchange.seen
    writer = Writer(seen.version, seen.version >= seen.kind.flexible)
    if exchange.answer is None:
        return Sample(frame)
    try:
        writer.struct(exchange.answer)
    except (TypeError, AttributeError):  # a response in the version that a refused ApiVersions has
        return Sample(frame)
    start = len(frame) - len(writer.out)
    if frame[start:] != writer.out:
        return Sample(frame)
    return Sample(frame, tuple(Mark(mark.at + start, mark.kind) for mark in writer.marks))


# --- sessions ------------------------------------------------------------------------------------------------------


class Session:
    """One client. ``over`` is by how many seconds its slowest operation exceeded its time; ``slowest`` says which."""

    def __init__(self, cluster: FakeCluster, rng: Random) -> None:
        self.rng = rng
        self.over, self.slowest = 0.0, ""
        self.options = _OPTIONS | {"bootstrap_servers": cluster.bootstrap}
        if cluster.settings.sasl is not None:
            self.options |= login(rng.choice(MECHANISMS))

    def within(self, seconds: float, what: str, call: Callable[[], T]) -> T:
        """The result of ``call``, timed."""
        began = time.monotonic()
        try:
            return call()
        finally:
            over = time.monotonic() - began - seconds
            if over > self.over:
                self.over, self.slowest = over, what

    def admin(self) -> None:
        """Three of its operations; an error ends the session or not."""
        made = Admin(timeout=TIME, **self.options)
        try:
            calls: dict[str, Callable[[], object]] = {
                "connect": made.connect,
                "describe_cluster": made.describe_cluster,
                "describe_log_dirs": made.describe_log_dirs,
                "describe_features": made.describe_features,
                "list_topics": made.list_topics,
                "describe_topics": lambda: made.describe_topics(["t", "u"]),
                "create_partitions": lambda: made.create_partitions({"t": 2}, validate_only=True),
                "delete_records": lambda: made.delete_records({_T0: 1}),
                "list_offsets": lambda: made.list_offsets({_T0: -1, _U0: -2}),
                "describe_topic_configs": lambda: made.describe_topic_configs(["t"]),
                "list_reassignments": made.list_reassignments,
                "describe_acls": lambda: made.describe_acls([]),
                "list_groups": made.list_groups,
                "describe_groups": lambda: made.describe_groups(["g", "h"]),
                "fetch_offsets": lambda: made.fetch_offsets(["g", "h"]),
                "commit_offsets": lambda: made.commit_offsets({"h": {_T0: OffsetAndMetadata(1)}}),
                "list_transactions": made.list_transactions,
                "describe_producers": lambda: made.describe_producers([_T0]),
                "describe_transactions": lambda: made.describe_transactions(["x"]),
            }
            for name in self.rng.sample(sorted(calls), 3):
                try:
                    self.within(TIME, name, calls[name])
                except KcliError:
                    if self.rng.random() < 0.5:
                        raise
        finally:
            self.within(0, "close of an admin", made.close)

    def reader(self) -> None:
        """Chosen partitions."""
        consumer = self._consumer(
            isolation_level=self.rng.choice(("read_committed", "read_uncommitted")),
            client_rack=self.rng.choice(("", "r")),
        )
        try:
            consumer.assign({_T0: Span(0), _U0: Span(None)})
            self._read(consumer)
        finally:
            self.within(0, "close of a consumer", consumer.close)

    def member(self) -> None:
        """Of a group, in either protocol."""
        consumer = self._consumer(group_id="g", group_protocol=self.rng.choice(("classic", "consumer")))
        try:
            consumer.subscribe(["t", "u"])
            self._read(consumer)
            self.within(TIME, "commit", consumer.commit)
        finally:
            self.within(TIME, "close of a member", lambda: consumer.close(TIME))

    def _consumer(self, **own: Any) -> Consumer:
        return Consumer(
            auto_offset_reset="earliest",
            fetch_max_wait_ms=20,
            default_api_timeout_ms=_MS,
            **self.options | own,
        )

    def _read(self, consumer: Consumer) -> None:
        for _ in range(4):
            for fetched in self.within(0.1, "poll", lambda: consumer.poll(0.1)):
                list(fetched.batch.records(*fetched.tp))
        if self.rng.random() < 0.5:
            self.within(TIME, "list_offsets", lambda: consumer.list_offsets({_T0: -1}, TIME))

    def writer(self) -> None:
        """With or without idempotence."""
        producer = self._producer(enable_idempotence=self.rng.random() < 0.7)
        try:
            made = [self._send(producer, b"v%d" % number, partition=number % 2) for number in range(10)]
            self.within(TIME, "flush", lambda: producer.flush(TIME))
            for future in made:
                self.within(TIME * 2, "result", lambda future=future: future.result(TIME * 2))
        finally:
            self.within(TIME, "close of a producer", lambda: producer.close(TIME))

    def transactional(self) -> None:
        """One transaction, with offsets."""
        own = {"transactional_id": f"x{self.rng.randrange(1 << 40)}", "transaction_timeout_ms": 1000}
        producer = self._producer(**own, default_api_timeout_ms=_MS)
        try:
            self.within(TIME, "init_transactions", producer.init_transactions)
            producer.begin_transaction()
            self._send(producer, b"v", partition=0)
            offsets = {_T0: OffsetAndMetadata(1)}
            self.within(TIME, "send_offsets", lambda: producer.send_offsets_to_transaction(offsets, "h"))
            self.within(TIME, "commit_transaction", producer.commit_transaction)
        finally:  # an open transaction is aborted, for at least two seconds
            self.within(2 + TIME, "close of a transactional producer", lambda: producer.close(TIME))

    def _producer(self, **own: Any) -> Producer:
        return Producer(delivery_timeout_ms=_MS, linger_ms=0, max_block_ms=_MS, **self.options | own)

    def _send(self, producer: Producer, value: bytes, partition: int) -> "Future[Any]":
        record = ProducerRecord("t", value, partition=partition)
        return self.within(TIME, "send", lambda: producer.send(record))


SESSIONS: tuple[Callable[[Session], None], ...] = (
    Session.admin,
    Session.reader,
    Session.member,
    Session.writer,
    Session.transactional,
)


# --- the run -------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """The results of all sessions; used by all threads."""

    wanted: int
    seed: int
    mutated: int = 0
    sessions: int = 0
    refused: int = 0
    longest: float = 0.0
    findings: list[str] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def count(self) -> None:
        """One more response was changed."""
        with self.lock:
            self.mutated += 1

    def report(self, text: str) -> None:
        """A finding."""
        with self.lock:
            self.findings.append(text)


@contextmanager
def _clusters() -> Iterator[list[FakeCluster]]:
    """One as it is, and one that authenticates."""
    made = [_cluster(None), _cluster(users())]
    try:
        yield made
    finally:
        for cluster in made:
            cluster.close()


def _cluster(sasl: Sasl | None) -> FakeCluster:
    cluster = FakeCluster(nodes=2, topics={"t": 2, "u": 1}, sasl=sasl)
    Loopback.ports |= {int(cluster.address(node).rpartition(":")[2]) for node in cluster.node_ids}
    options: dict[str, Any] = {} if sasl is None else login("PLAIN")
    with Producer(bootstrap_servers=cluster.bootstrap, **options) as producer:
        for number in range(20):
            producer.send(ProducerRecord("t", b"v%d" % number, partition=0, headers=[("h", b"1")]))
    return cluster


def _work(tally: Tally) -> None:
    try:
        with _clusters() as clusters:
            while tally.mutated < tally.wanted:
                number = next(tally.numbers)
                if _session(clusters, tally, number):
                    tally.late.append(number)
    except Exception:  # noqa: BLE001 - of a thread, which would end unseen
        tally.report(traceback.format_exc())


def _session(clusters: list[FakeCluster], tally: Tally, number: int) -> str:
    """Which operation exceeded its time by too much, if one did."""
    rng = Random(tally.seed << 40 | number)
    act = SESSIONS[number % len(SESSIONS)]
    name = f"{tally.seed}:{number} {act.__name__}"
    cluster = clusters[rng.random() < 0.25]
    session, fault = Session(cluster, rng), Mutate(rng, tally.count)
    rule = cluster._rule(fault, None, {"times": FOREVER, "after": rng.randrange(8)})
    refused = False
    try:
        act(session)
    except KcliError as error:
        refused = True
        if CANARY in f"{error} {error.do}":
            tally.report(f"{name}: a secret in {error} after {fault.last}")
    except TimeoutError as late:  # of a future that is not complete yet
        refused = True
        if not str(late):
            tally.report(f"{name}: a TimeoutError without a text")
    except BaseException as other:  # noqa: BLE001 - that is what is looked for
        last = traceback.extract_tb(other.__traceback__)[-1]
        where = f"{last.filename.rpartition('/kcli/')[2]}:{last.lineno}"
        tally.report(f"{name}: {type(other).__name__}: {other} ({where}) after {fault.last}")
    finally:
        rule.remove()
        cluster.heal()
    with tally.lock:
        tally.sessions += 1
        tally.refused += refused
        tally.longest = max(tally.longest, session.over)
    late = f"{name}: {session.slowest} took {session.over:.1f} s more than it was given, after {fault.last}"
    return late if session.over > LATE else ""


class Loopback:
    """Replaces name lookups: only loopback, and there only the ports of the clusters here or one that is closed."""

    ports: ClassVar[set[int]] = set()
    _plain = staticmethod(_socket.getaddrinfo)
    _closed = 1

    @classmethod
    def look_up(cls, host: Any, port: Any, *_args: Any, **_named: Any) -> Any:
        """Raises the same errors as the real one, without a request to a name server."""
        found = cls._plain(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        family, kind, protocol, name, address = found[0]
        if address[0] != "127.0.0.1" or address[1] not in cls.ports:
            family, address = socket.AF_INET, ("127.0.0.1", cls._closed)
        return [(family, kind, protocol, name, address)]


def _held() -> tuple[set[str], int]:
    """The names of the threads, and how many file descriptors are open."""
    gc.collect()
    descriptors = 0
    with suppress(FileNotFoundError):
        descriptors = len(os.listdir("/proc/self/fd"))
    return {f"{thread.name}-{thread.ident}" for thread in threading.enumerate()}, descriptors


def _left_behind(names: set[str], descriptors: int) -> tuple[set[str], int]:
    """What is held now and was not before."""
    now, count = _held()
    return now - names, max(0, count - descriptors)


def campaign(inputs: int, seed: int, threads: int = THREADS, first: int = 0) -> Tally:
    """Sessions until ``inputs`` responses were changed; ``first`` is the number of the first one."""
    tally = Tally(inputs, seed, numbers=itertools.count(first))

    def hook(args: threading.ExceptHookArgs) -> None:
        text = traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback)
        tally.report(f"in thread {args.thread and args.thread.name}: {''.join(text)}")

    with patch("_socket.getaddrinfo", Loopback.look_up), patch("threading.excepthook", hook):
        _work(Tally(20, seed=0))  # imports, and whatever else is made once
        names, descriptors = _held()
        workers = [threading.Thread(target=_work, args=(tally,)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        with _clusters() as clusters:
            for number in tally.late:
                again = [_session(clusters, tally, number) for _ in range(_REPEATS)]
                if all(again):
                    tally.report(again[-1])
        end = time.monotonic() + PATIENCE
        while any(left := _left_behind(names, descriptors)) and time.monotonic() < end:
            time.sleep(0.1)
        if any(left):
            tally.report(f"left behind: threads {left[0]}, {left[1]} descriptors")
    return tally
