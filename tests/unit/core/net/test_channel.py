"""One socket's life with a made-up socket: the next address, partial writes, ends, and what TLS holds back."""

import _socket
import errno
import socket as socket_module
import ssl
import struct
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.connection.state import State
from kcli.core.errors import AuthError, ConnectError, KcliError, OutcomeUnknownError, TooManyFilesError
from kcli.core.future import Future
from kcli.core.net.channel import Channel
from kcli.core.net.loop import Loop
from kcli.core.net.polling import READ, WRITE
from kcli.core.net.resolve import Address
from kcli.core.protocol.messages.metadata import MetadataRequest
from tests.unit.core.connection.wire import Peer, metadata, offers
from tests.unit.core.net.fakes import Clock, FakeSelector, loop_on

ADDRESSES = [Address(2, (f"10.0.0.{n}", 9092)) for n in (1, 2, 3)]


class FakeSocket:
    """A socket to one address; ``plan`` says how its connect ends."""

    made: list["FakeSocket"] = []  # noqa: RUF012 - emptied by the fixture
    plan: dict[str, int] = {}  # noqa: RUF012
    numbers = 20_000

    def __init__(self, *_: Any) -> None:
        if self.plan.get("socket"):
            raise OSError(self.plan["socket"], "Too many open files")
        FakeSocket.numbers += 1
        self.fd = FakeSocket.numbers
        self.host = ""
        self.incoming: list[bytes | Exception] = []
        self.written = bytearray()
        self.room = 1 << 30
        self.closed = False
        self.hidden = b""
        self.gone = False
        self.options: dict[int, list[int]] = {}
        self.made.append(self)

    def fileno(self) -> int:
        return -1 if self.closed else self.fd

    def setblocking(self, _flag: object) -> None:
        """Never blocks."""

    def setsockopt(self, _level: int, option: int, value: int) -> None:
        self.options.setdefault(option, []).append(value)

    def connect_ex(self, target: tuple[Any, ...]) -> int:
        self.host = target[0]
        return self.plan.get(f"at once {self.host}", errno.EINPROGRESS)

    def getsockopt(self, *_: Any) -> int:
        return self.plan.get(self.host, 0)

    def recv_into(self, room: memoryview) -> int:
        if not self.incoming:
            raise BlockingIOError
        data = self.incoming.pop(0)
        if isinstance(data, Exception):
            raise data
        count = min(len(room), len(data))
        room[:count] = data[:count]
        if count < len(data):
            self.incoming.insert(0, data[count:])
        return count

    def sendmsg(self, buffers: list[memoryview]) -> int:
        if self.gone:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        data = b"".join(buffers)[: self.room]
        if not data:
            raise BlockingIOError
        self.written += data
        self.room -= len(data)
        return len(data)

    def close(self) -> None:
        self.closed = True


class Rig:
    def __init__(self, loop: Loop, selector: FakeSelector) -> None:
        self.loop, self.selector, self.peer = loop, selector, Peer()
        self.peer.connection._complete = loop.complete
        self.channel = Channel(self.peer.connection, setup_timeout=10.0)
        self.channel.clock = selector.clock
        self.channel.start_setup(selector.clock())
        loop.add(self.channel)

    def turn(self, events: int = 0, seconds: float = 0.0) -> None:
        self.loop.poll(0)
        if events:
            self.selector.ready = [(self.channel.fileno(), events)]
        self.loop.poll(seconds)

    def connect(self) -> "Rig":
        self.channel.open(ADDRESSES[:1])
        self.turn(WRITE)
        return self.receive(offers())

    def receive(self, *data: bytes | Exception) -> "Rig":
        made()[-1].incoming += data
        self.turn(READ)
        return self

    def ask(self) -> Future[Any]:
        future: Future[Any] = Future()
        now = self.selector.clock()
        self.peer.connection.request(MetadataRequest(topics=[]), future, now, now + 30)
        return future


def made() -> list[FakeSocket]:
    return FakeSocket.made


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    FakeSocket.made, FakeSocket.plan = [], {}
    monkeypatch.setattr(_socket, "socket", FakeSocket)
    selector = FakeSelector(Clock())
    found = Rig(loop_on(selector, monkeypatch), selector)
    yield found
    found.loop.close()


def test_connected_and_ready(rig: Rig) -> None:
    rig.connect()
    assert rig.channel.connection.state is State.READY
    assert bytes(made()[0].written[4:8]) == b"\0\x12\0\3"


@pytest.mark.parametrize("how", ["at once 10.0.0.1", "10.0.0.1"])
def test_a_refused_address_is_followed_by_the_next(rig: Rig, how: str) -> None:
    FakeSocket.plan = {how: errno.ECONNREFUSED}
    rig.channel.open(ADDRESSES)
    rig.turn(READ | WRITE)
    assert made()[0].closed
    assert made()[-1].host == "10.0.0.2"
    rig.turn(WRITE)
    assert rig.channel.connection.state is State.HANDSHAKE


def test_the_next_address_is_not_taken_as_connected_by_the_events_of_the_last(rig: Rig) -> None:
    FakeSocket.plan = {"10.0.0.1": errno.ECONNREFUSED, "10.0.0.2": errno.ECONNREFUSED}
    rig.channel.open(ADDRESSES)
    rig.turn(READ | WRITE)
    assert rig.channel.connection.state is State.CONNECTING
    rig.turn(READ | WRITE)
    assert made()[-1].host == "10.0.0.3"
    rig.turn(WRITE)
    assert rig.channel.connection.state is State.HANDSHAKE


def test_when_all_are_refused_the_reasons_are_reported_once_each(rig: Rig) -> None:
    FakeSocket.plan = {
        "10.0.0.1": errno.ECONNREFUSED,
        "10.0.0.2": errno.ECONNREFUSED,
        "10.0.0.3": errno.EHOSTUNREACH,
    }
    future = rig.ask()
    rig.channel.open(ADDRESSES)
    for _ in range(3):
        rig.turn(READ | WRITE)
    assert not rig.channel.is_open
    assert type(future.error) is ConnectError
    assert str(future.error).count("refused") == 1
    assert "No route to host" in str(future.error)
    assert all(s.closed for s in made())


def nothing(rig: Rig) -> None:
    """Until the time for one address is over."""
    rig.turn(seconds=5)


UNSERVED = {
    "closed": lambda rig: rig.receive(b""),
    "reset": lambda rig: rig.receive(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")),
    "of the web": lambda rig: rig.receive(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "silent": nothing,
}


@pytest.mark.parametrize("how", UNSERVED)
def test_an_address_at_which_no_broker_responds_is_followed_by_the_next(rig: Rig, how: str) -> None:
    """What waits goes to the next one."""
    asked = rig.ask()
    rig.channel.open(ADDRESSES)
    for number in range(2):
        rig.turn(WRITE)
        assert made()[-1].host == ADDRESSES[number].target[0]
        UNSERVED[how](rig)
    rig.turn(WRITE)
    assert [one.host for one in made()] == [one.target[0] for one in ADDRESSES]
    assert [one.closed for one in made()] == [True, True, False]
    rig.receive(offers(2))
    rig.receive(metadata(3, "here"))
    assert asked.value.cluster_id == "here"


@pytest.mark.parametrize("how", UNSERVED)
def test_of_an_address_that_was_connected_to_more_is_known_than_of_one_that_refuses(
    rig: Rig, how: str
) -> None:
    FakeSocket.plan = {"10.0.0.2": errno.ECONNREFUSED, "10.0.0.3": errno.ECONNREFUSED}
    rig.channel.open(ADDRESSES)
    rig.turn(WRITE)
    UNSERVED[how](rig)
    for _ in range(2):
        rig.turn(READ | WRITE)
    assert not rig.channel.is_open
    told = {"of the web": "looks like HTTP", "silent": "no reply to ApiVersions", "reset": "Connection reset"}
    assert told.get(how, "closed the connection before it responded") in str(rig.channel.failure)


def test_a_broker_that_has_responded_is_not_left_for_the_next_address(rig: Rig) -> None:
    rig.channel.open(ADDRESSES)
    rig.turn(WRITE)
    rig.receive(offers())
    rig.receive(b"")
    assert not rig.channel.is_open
    assert len(made()) == 1


@pytest.mark.case("N18")
def test_too_many_open_files_is_an_error_that_says_what_to_do(rig: Rig) -> None:
    FakeSocket.plan = {"socket": errno.EMFILE}
    rig.channel.open(ADDRESSES)
    assert not rig.channel.is_open
    assert isinstance(rig.channel.failure, TooManyFilesError)
    assert "ulimit -n" in rig.channel.failure.do


def test_no_address_at_all_is_an_error(rig: Rig) -> None:
    rig.channel.open([])
    assert isinstance(rig.channel.failure, ConnectError)


def test_a_network_that_swallows_everything_ends_at_the_setup_timeout(rig: Rig) -> None:
    rig.channel.open(ADDRESSES[:1])
    rig.turn(seconds=11)
    assert "cannot connect" in str(rig.channel.failure)
    assert rig.selector.clock() == pytest.approx(1010)


def test_a_peer_that_accepts_and_says_nothing_is_named_as_that(rig: Rig) -> None:
    rig.channel.open(ADDRESSES[:1])
    rig.turn(WRITE)
    rig.turn(seconds=11)
    assert "no reply to ApiVersions" in str(rig.channel.failure)


def test_after_the_handshake_the_setup_timeout_is_over(rig: Rig) -> None:
    rig.connect()
    rig.turn(seconds=60)
    assert rig.channel.is_open


def test_partial_writes_continue_when_there_is_room(rig: Rig) -> None:
    rig.connect()
    sock = made()[0]
    before, sock.room = len(sock.written), 5
    rig.ask()
    rig.turn()
    assert len(sock.written) == before + 5
    assert rig.selector.events[sock.fd] == READ | WRITE
    sock.room = 1 << 30
    rig.turn(WRITE)
    rig.turn()
    assert not rig.channel.wants_write
    assert rig.selector.events[sock.fd] == READ


def test_an_answer_completes_its_future(rig: Rig) -> None:
    rig.connect()
    future = rig.ask()
    rig.turn()
    rig.receive(metadata(1, "c"))
    assert future.value.cluster_id == "c"


def test_a_response_that_came_before_the_end_counts_where_a_write_fails(rig: Rig) -> None:
    """A broker that refuses something responds, and closes before it has read what follows."""
    rig.connect()
    answered = rig.ask()
    rig.turn()
    made()[-1].incoming, made()[-1].gone = [metadata(1, "here"), b""], True
    unsent = rig.ask()
    rig.turn()
    assert answered.value.cluster_id == "here"
    assert isinstance(unsent.error, ConnectError)


@pytest.mark.parametrize("end", [b"", ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")])
def test_what_was_sent_is_unknown_when_the_connection_ends(rig: Rig, end: Any) -> None:
    rig.connect()
    future = rig.ask()
    rig.turn()
    rig.receive(end)
    assert isinstance(future.error, OutcomeUnknownError)
    assert not rig.channel.is_open
    assert not rig.channel.closed_idle
    assert made()[0].closed


@pytest.mark.parametrize("end", [b"", ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")])
def test_what_waited_for_the_handshake_was_not_sent_when_the_connection_ends(rig: Rig, end: Any) -> None:
    future = rig.ask()
    rig.channel.open(ADDRESSES[:1])
    rig.turn(WRITE)
    rig.receive(end)
    assert isinstance(future.error, ConnectError)
    assert not isinstance(future.error, OutcomeUnknownError)
    assert "closed the connection before it responded" in future.error.what
    assert "security.protocol" in future.error.do


def test_a_connection_that_is_being_made_is_not_idle(rig: Rig) -> None:
    """Also when the request it was made for has been given up: the next one needs it."""
    rig.channel.open(ADDRESSES[:1])
    assert rig.channel.last_used == rig.selector.clock()


def test_an_unreachable_address_is_explained_by_its_origin(rig: Rig) -> None:
    FakeSocket.plan = {"10.0.0.1": errno.ECONNREFUSED}
    rig.channel.explain = lambda error: ConnectError("said by metadata", why=str(error))
    future = rig.ask()
    rig.channel.open(ADDRESSES[:1])
    rig.turn(READ | WRITE)
    assert str(rig.channel.failure) == str(future.error)
    assert str(future.error).startswith("said by metadata: cannot connect to")


@pytest.mark.parametrize("after", [b"", b"HTTP/1.1 200"])
def test_a_peer_that_was_reached_needs_no_explanation_of_its_address(rig: Rig, after: bytes) -> None:
    rig.channel.explain = lambda error: ConnectError("said by metadata", why=str(error))
    rig.channel.open(ADDRESSES[:1])
    rig.turn(WRITE)
    rig.receive(after)
    assert not rig.channel.is_open
    assert "said by metadata" not in str(rig.channel.failure)


def test_an_end_without_requests_is_no_failure(rig: Rig) -> None:
    rig.connect()
    rig.receive(b"")
    assert rig.channel.closed_idle


def test_a_peer_that_is_not_kafka_is_reported_at_once(rig: Rig) -> None:
    rig.channel.open(ADDRESSES[:1])
    rig.turn(WRITE)
    rig.receive(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert "looks like HTTP" in str(rig.channel.failure)


def test_a_flood_does_not_keep_the_loop_for_itself(rig: Rig) -> None:
    rig.connect()
    reads = [0]
    sock = made()[0]
    whole = sock.recv_into

    def counted(room: memoryview) -> int:
        reads[0] += 1
        return whole(room)

    sock.recv_into = counted  # type: ignore[method-assign]
    future = rig.ask()
    rig.turn()
    big = metadata(1, "c" * 30_000)
    sock.incoming = [big[n : n + 50] for n in range(0, len(big), 50)]
    rig.turn(READ)
    assert reads[0] <= 20
    while not future.done:
        rig.turn(READ)
    assert len(future.value.cluster_id) == 30_000


@pytest.mark.skipif(sys.platform != "linux", reason="SO_RCVLOWAT is set on Linux only")
def test_of_a_large_answer_the_selector_reports_when_much_of_it_is_there(rig: Rig) -> None:
    rig.connect().ask()
    rig.turn()
    size, sock = 900_000, made()[0]
    told = sock.options.setdefault(socket_module.SO_RCVLOWAT, [])
    rig.receive(struct.pack(">i", size) + bytes(99_996))
    assert told == [size + 4 - 100_000], "fewer bytes are of no use"
    rig.receive(bytes(600_000))
    assert told[1:] == [size + 4 - 700_000], "the rest, never more: it would not be told of"
    rig.receive(bytes(100_000))
    assert told[2:] == [1], "little is missing"


def test_at_the_end_of_a_large_answer_the_socket_is_not_read_once_more(rig: Rig) -> None:
    """What follows is rarely there yet, and will be reported: it would be a read in vain for every fetch."""
    future = rig.connect().ask()
    rig.turn()
    sock, reads = made()[0], list[int]()
    read = sock.recv_into

    def counted(room: memoryview) -> int:
        reads.append(len(room))
        return read(room)

    sock.recv_into = counted  # type: ignore[method-assign]
    large = metadata(1, "c" * 200_000)
    rig.receive(large[:-1])
    assert reads == [65_536, len(large) - 65_536]
    rig.receive(large[-1:])
    assert reads[2:] == [1]
    assert len(future.value.cluster_id) == 200_000


def test_small_answers_leave_the_socket_as_it_is(rig: Rig) -> None:
    rig.connect().ask()
    rig.turn()
    rig.receive(metadata(1, "c" * 30_000))
    assert socket_module.SO_RCVLOWAT not in made()[0].options


def test_closing_twice_keeps_the_first_reason(rig: Rig) -> None:
    rig.connect()
    rig.channel.close(KcliError("first"))
    rig.channel.close(KcliError("second"))
    assert str(rig.channel.failure) == "first"
    rig.turn()
    assert made()[0].fd not in rig.selector.events


# --- TLS ----------------------------------------------------------------------------------------------------------


class FakeTls(FakeSocket):
    """The socket under TLS: a record is decrypted whole, the rest of it waits inside."""

    def __init__(self, below: FakeSocket) -> None:
        self.__dict__.update(below.__dict__)
        self.handshakes: list[Exception] = []

    def do_handshake(self) -> None:
        if self.handshakes:
            raise self.handshakes.pop(0)

    def send(self, data: memoryview) -> int:
        return self.sendmsg([data])

    def pending(self) -> int:
        return len(self.hidden)

    def recv_into(self, room: memoryview) -> int:
        if not self.hidden:
            if not self.incoming:
                raise ssl.SSLWantReadError
            data = self.incoming.pop(0)
            if isinstance(data, Exception):
                raise data
            self.hidden = data
        count = min(len(room), len(self.hidden))
        room[:count] = self.hidden[:count]
        self.hidden = self.hidden[count:]
        return count


class FakeContext:
    def __init__(self, *handshakes: Exception, fails: Exception | None = None) -> None:
        self.handshakes, self.fails = list(handshakes), fails
        self.wrapped: list[FakeTls] = []

    def wrap_socket(self, sock: Any, **_: Any) -> Any:
        if self.fails is not None:
            raise self.fails
        self.wrapped.append(FakeTls(sock))
        self.wrapped[-1].handshakes = self.handshakes
        return self.wrapped[-1]


@pytest.fixture
def tls(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Rig:
    monkeypatch.setattr(ssl, "SSLSocket", FakeTls)
    return rig


def over_tls(rig: Rig, context: FakeContext) -> FakeContext:
    rig.channel._tls, rig.channel._tls_done = context, False  # type: ignore[assignment]
    rig.channel.open(ADDRESSES[:1])
    return context


def test_the_tls_handshake_waits_for_what_it_wants(tls: Rig) -> None:
    context = over_tls(
        tls, FakeContext(ssl.SSLWantReadError(), ssl.SSLWantWriteError(), ssl.SSLWantReadError())
    )
    tls.turn(WRITE)
    tls.turn(READ)
    assert tls.selector.events[tls.channel.fileno()] & READ
    tls.turn(WRITE)
    tls.turn(READ)
    assert tls.channel.connection.state is State.HANDSHAKE
    assert context.wrapped[0].written


def test_a_peer_that_says_nothing_to_tls_is_named_as_that(tls: Rig) -> None:
    over_tls(tls, FakeContext(ssl.SSLWantReadError()))
    tls.turn(WRITE)
    tls.turn(seconds=11)
    assert "no TLS handshake with" in str(tls.channel.failure)


def test_a_certificate_that_is_not_accepted_is_an_auth_error(tls: Rig) -> None:
    refused = ssl.SSLCertVerificationError(1, "certificate verify failed")
    refused.verify_message = "unable to get local issuer certificate"
    over_tls(tls, FakeContext(refused))
    tls.turn(WRITE)
    assert isinstance(tls.channel.failure, AuthError)


def test_a_client_certificate_refused_after_the_handshake_is_an_auth_error(tls: Rig) -> None:
    """TLS 1.3: the alert comes with the first read."""
    context = over_tls(tls, FakeContext())
    tls.turn(WRITE)
    context.wrapped[0].incoming = [ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED]")]
    tls.turn(READ)
    assert isinstance(tls.channel.failure, AuthError)


def test_an_alert_is_read_where_a_write_fails(tls: Rig) -> None:
    context = over_tls(tls, FakeContext())
    tls.turn(WRITE)
    context.wrapped[0].incoming = [ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED]")]
    context.wrapped[0].gone = True
    tls.channel.connection.outgoing.append(memoryview(b"more"))
    tls.channel.flush(tls.selector.clock())
    assert isinstance(tls.channel.failure, AuthError)


@pytest.mark.parametrize("error", [ConnectionResetError(104, "reset"), ValueError("server_hostname")])
def test_a_peer_that_is_gone_before_tls_is_an_error_of_the_connection(tls: Rig, error: Exception) -> None:
    over_tls(tls, FakeContext(fails=error))
    tls.turn(WRITE)
    assert type(tls.channel.failure) is ConnectError


def test_what_the_tls_layer_has_decrypted_is_read_without_another_event(tls: Rig) -> None:
    """17 answers in one record: the selector tells of the socket, not of what TLS keeps."""
    context = over_tls(tls, FakeContext())
    tls.turn(WRITE)
    context.wrapped[0].incoming = [offers()]
    tls.turn(READ)
    futures = [tls.ask() for _ in range(40)]
    tls.turn()
    records = [metadata(n, "c" * 10_000) for n in range(1, 41)]
    context.wrapped[0].incoming = [b"".join(records)]
    tls.turn(READ)
    assert all(f.done for f in futures)


def test_a_read_that_must_write_first_continues_when_the_socket_is_writable(tls: Rig) -> None:
    """KeyUpdate of TLS 1.3 while the socket's buffer is full; nothing of kcli's own is queued."""
    context = over_tls(tls, FakeContext())
    tls.turn(WRITE)
    tls.turn()
    assert not tls.channel.wants_write
    context.wrapped[0].incoming = [ssl.SSLWantWriteError(), ssl.SSLError(1, "[SSL: ALERT_UNKNOWN_CA]")]
    tls.turn(READ)
    assert tls.channel.is_open
    assert tls.channel.wants_write
    tls.turn(WRITE)
    assert "UNKNOWN_CA" in str(tls.channel.failure)
