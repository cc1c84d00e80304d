"""Peers that are no brokers, and brokers that begin to send nonsense, through the command line (R14, N9, N10).

Each run ends by itself, names the cause, makes few connections, and has the right exit code: 3 for a peer that is not
Kafka, 5 for wrong data of a broker that had behaved.
"""

import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kcli.core.protocol.api import Request
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, offsets, put
from tests.fake.cluster import FakeCluster
from tests.fake.exchange import Exchange
from tests.fake.peers import PEERS, Peer
from tests.fake.script import FOREVER, Fault
from tests.hostile.live import sample_of
from tests.hostile.mutator import uvarint
from tests.run import kcli

pytestmark = pytest.mark.case("R14")
RECORDS = 20
NAMED_WITHIN = 2.0
"""Seconds in which a cause is named that the peer's bytes show."""


@dataclass
class Timed:
    code: int
    out: str
    err: str
    seconds: float


@dataclass
class Here:
    cluster: FakeCluster
    folder: Path
    runs: int = 0

    def kcli(self, line: str, bootstrap: str = "") -> Timed:
        began, where = time.monotonic(), bootstrap or self.cluster.bootstrap
        ran = kcli(*line.split(), bootstrap=where, stdin=b"a\nb\n")
        done = Timed(ran.code, ran.out, ran.err, time.monotonic() - began)
        assert "Traceback" not in done.err
        assert "internal error" not in done.err
        return done


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    folder = tmp_path_factory.mktemp("peers")
    (folder / "lines.txt").write_text("a\nb\n")
    settings = {"consumer_heartbeat_interval": 0.05}
    with FakeCluster(1, topics={"t": 1, "written": 1}, groups=settings) as cluster:
        put(cluster, "t", 0, RECORDS)
        found = Here(cluster, folder)
        found.kcli("topics list")  # what follows is timed
        yield found


@pytest.fixture
def here(shared: Here) -> Iterator[Here]:
    yield shared
    shared.cluster.heal()


# --- at the first contact ------------------------------------------------------------------------------

MALFORMED = "its response to ApiVersions is malformed"
SHOWN = {
    "http": "looks like HTTP",
    "tls": "looks like TLS: this port needs security.protocol=SSL",
    "ssh": "looks like SSH",
    "smtp": "looks like SMTP",
    "redis": "looks like Redis",
    "garbage": MALFORMED,
    "frame of 2^31-1": "sent a frame of 2147483647 bytes",
    "negative frame": "sent a frame of -5 bytes",
    "empty frame": "sent a frame of 0 bytes",
    "wrong correlation id": "a response with correlation id 7, expected 0",
    "bytes behind the answer": "8 extra bytes",
    "null array": "null for api_keys",
    "endless frame": "sent a frame of 104857600 bytes",
}
"""Peers whose bytes show what they are."""
ENDS = {
    "close at once": "before it responded",
    "reset at once": "reset by peer",
    "close after request": "before it responded",
    "cut in the middle": "before it responded",
}
SILENT = {"silence": "no reply to ApiVersions", "always unsupported": "no reply to ApiVersions"}
OLD = {"nothing offered": "does not offer Metadata", "drip": "does not offer Metadata"}
COMMANDS = ("topics list", "consume t")


def test_every_bad_peer_is_in_a_table() -> None:
    assert PEERS.keys() == SHOWN.keys() | ENDS.keys() | SILENT.keys() | OLD.keys()


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize("name", PEERS)
def test_the_cause_is_named(here: Here, name: str, line: str) -> None:
    with Peer(PEERS[name]) as peer:
        done = here.kcli(f"{line} --timeout 1s", peer.address)
        assert len(peer.connects) <= 5
    told = {**SHOWN, **ENDS, **SILENT, **OLD}[name]
    assert peer.address in done.err
    assert told in done.err
    assert done.seconds < NAMED_WITHIN
    assert done.code == (7 if name in OLD else 3)
    assert not done.out
    if name in SHOWN:
        assert len(peer.connects) == 1
        assert "  do: check the port and security.protocol" in done.err


@pytest.mark.case("N11")
def test_a_peer_that_hangs_up_is_asked_a_few_times_and_not_in_a_storm(here: Here) -> None:
    """Also with all the time in the world: kcli gives up after some three seconds."""
    with Peer(PEERS["close after request"]) as peer:
        done = here.kcli("topics list --timeout 60s", peer.address)
        assert 2 <= len(peer.connects) <= 12
    assert done.code == 3
    assert done.seconds < 10


# --- after it ------------------------------------------------------------------------------------------

Change = Callable[[bytes], bytes]
NONSENSE: dict[str, tuple[Change, str]] = {
    "garbage": (lambda frame: bytes(range(200, 256)) * 4, "sent a frame of -926299445 bytes"),
    "http": (
        lambda frame: b"HTTP/1.1 400 Bad Request\r\n\r\n",
        "it looks like HTTP, after responses that were right",
    ),
    "huge frame": (lambda frame: b"\x7f\xff\xff\xff" + frame[4:], "sent a frame of 2147483647 bytes"),
    "empty frame": (lambda frame: bytes(4) + frame[4:], "sent a frame of 0 bytes"),
    "wrong correlation id": (
        lambda frame: frame[:4] + (int.from_bytes(frame[4:8], "big") + 7).to_bytes(4, "big") + frame[8:],
        "a response with correlation id",
    ),
    "no body": (lambda frame: (4).to_bytes(4, "big") + frame[4:8], "malformed response"),
    "other body": (lambda frame: frame[:8] + b"\xff" * (len(frame) - 8), "malformed response"),
    "longer body": (
        lambda frame: (len(frame) + 4).to_bytes(4, "big") + frame[4:] + b"\xee" * 8,
        "extra bytes",
    ),
}
"""What a broker sends instead of a response, and how that is called."""

READS = ("list_offsets", "fetch")
OF_MEMBERS = ("find_coordinator", "join_group", "sync_group", "offset_fetch", "fetch", "offset_commit")
RUNS = [
    *(("consume t -e", api) for api in READS),
    *(("consume t -e -g {group}", api) for api in OF_MEMBERS),
    ("produce written", "init_producer_id"),
    ("produce written", "produce"),
    ("topics list", "metadata"),
    ("groups list", "list_groups"),
    ("groups describe {group}", "describe_groups"),
    ("groups lag {group}", "offset_fetch"),
    ("topics describe t", "describe_configs"),
    ("cluster describe", "describe_cluster"),
]


def api_of(name: str) -> type[Request]:
    module = importlib.import_module(f"kcli.core.protocol.messages.{name}")
    found: type[Request] = getattr(module, f"{''.join(word.title() for word in name.split('_'))}Request")
    return found


@pytest.mark.case("N9", "N10")
@pytest.mark.parametrize("kind", NONSENSE)
@pytest.mark.parametrize(("line", "api"), RUNS, ids=str)
def test_a_broker_that_begins_to_send_nonsense_is_named(here: Here, line: str, api: str, kind: str) -> None:
    """Every response of one API is wrong. Nothing is committed that was not written, and nothing counts as stored."""
    change, told = NONSENSE[kind]
    here.runs += 1
    group, before = f"g{here.runs}", here.cluster.log("written", 0).end_offset
    commit(here.cluster, group, {TopicPartition("t", 0): OffsetAndMetadata(5)})
    connections = len(here.cluster.connections)
    here.cluster.garble(api_of(api), change, times=FOREVER, after=1 if api == "metadata" else 0)
    done = here.kcli(line.format(group=group) + " --timeout 1s")
    here.cluster.heal()
    rest = api == "describe_configs"  # what was read is shown
    assert done.code == (6 if rest else 5), done.err
    assert told in done.err
    assert done.seconds < 4
    assert len(here.cluster.connections) - connections <= 12
    if api == "offset_commit":
        assert len(done.out.splitlines()) == RECORDS - 5
    elif "consume" in line:
        assert not done.out
        assert offsets(here.cluster, group) == [5]
    if api == "init_producer_id":
        assert here.cluster.log("written", 0).end_offset == before
    if "produce" in line:
        assert "0 records confirmed" in done.err


HEARTBEATS = {
    "heartbeat": "-X heartbeat.interval.ms=50",
    "consumer_group_heartbeat": "-X group.protocol=consumer",
}


@pytest.mark.case("N9", "N10")
@pytest.mark.parametrize("kind", NONSENSE)
@pytest.mark.parametrize("api", HEARTBEATS)
def test_nonsense_instead_of_a_heartbeat_ends_a_member(here: Here, api: str, kind: str) -> None:
    """In the thread of the heartbeats: without ``-e``, nothing else would end the run."""
    change, told = NONSENSE[kind]
    here.runs += 1
    here.cluster.garble(api_of(api), change, times=FOREVER, after=1)
    done = here.kcli(f"consume t -g g{here.runs} {HEARTBEATS[api]} --timeout 1s --idle-timeout 20s")
    assert done.code == 5, done.err
    assert told in done.err
    assert done.seconds < 10


class OtherLength(Fault):
    """Writes ``size`` over the last length of a response before its tags, or over the number of these."""

    def __init__(self, size: bytes) -> None:
        self._size = size

    async def on_frame(self, exchange: Exchange) -> None:
        sample = sample_of(exchange)
        data, marks = bytearray(sample.data), [mark.at for mark in sample.marks if mark.kind == "u"]
        at = end = marks[-2] if len(marks) > 1 else marks[-1]
        while data[end] >= 0x80:
            end += 1
        data[at : end + 1] = self._size
        exchange.frame = len(data).to_bytes(4, "big") + data


LENGTHS = {"longer than the frame": b"\x7f", "2^31": uvarint(1 << 31), "without end": b"\xff" * 10 + b"\0"}
NULLS = ("join_group", "sync_group")


@pytest.mark.case("X2", "X3")
@pytest.mark.parametrize(
    ("api", "size"),
    [
        *((api, b"\0") for api in NULLS),
        *((api, size) for api in (*NULLS, *HEARTBEATS) for size in LENGTHS.values()),
    ],
    ids=str,
)
def test_wrong_lengths_in_the_responses_of_a_coordinator_are_named(here: Here, api: str, size: bytes) -> None:
    here.runs += 1
    here.cluster._rule(OtherLength(size), api_of(api), {"times": FOREVER})
    more = HEARTBEATS.get(api, "")
    done = here.kcli(f"consume t -g g{here.runs} {more} --timeout 1s --idle-timeout 20s")
    assert done.code == 5, done.err
    assert "malformed response" in done.err
    assert done.seconds < 10
    if size == b"\0":
        assert "it must not be null here" in done.err
