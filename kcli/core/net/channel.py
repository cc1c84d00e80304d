"""One socket and its Connection: connects, reads, writes, closes.

Non-blocking; runs in the loop's thread. The Connection decides what is sent, the loop when.

A socket is removed from the selector before it is closed: the kernel gives its descriptor to the next socket, and
a selector that still has the old entry would never register the new one (``tests/unit/core/net/test_loop.py``).

A large response wakes the loop once per megabyte (SO_RCVLOWAT, ``_wait_for_many``): brokers send a fetch in pieces
of 256 KB, each of which would cost a turn. The mark never exceeds what is missing, or the rest would not be
reported (``tests/unit/core/net/test_channel.py``).
"""

from __future__ import annotations

import _socket as socket  # all of `socket` that is used here, without its enumerations
import errno
import itertools
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from kcli.core.classes import Enum, NamedTuple
from kcli.core.connection.connection import Connection
from kcli.core.connection.handshake import TooFarAheadError
from kcli.core.connection.state import State
from kcli.core.error_codes import RAISE_FILE_LIMIT
from kcli.core.errors import (
    ConnectError,
    KcliError,
    NotKafkaError,
    OutcomeUnknownError,
    ProtocolError,
    TooManyFilesError,
    UnansweredError,
)
from kcli.core.net.resolve import Address, certified_name

if TYPE_CHECKING:
    import ssl

    from kcli.core.net.detours import Detour
    from kcli.core.net.proxy import Tunnel


class Stage(Enum):
    """What a channel has completed."""

    RESOLVED = "resolved"
    CONNECTED = "connected"
    SECURED = "secured"


class TlsSession(NamedTuple):
    """What both sides agreed on. ``not_after``: when the broker's certificate expires, in seconds since the epoch."""

    version: str
    cipher: str
    not_after: int | None
    subject: str


def session_of(
    version: str | None, cipher: str | None, certificates: Sequence[Mapping[str, Any]]
) -> TlsSession:
    """The session from what ``ssl`` reports; ``certificates`` are those that the broker has sent, its own first."""
    own = certificates[0] if certificates else {}
    names = [value for part in own.get("subject", ()) for key, value in part if key == "commonName"]
    alternatives = [value for _kind, value in own.get("subjectAltName", ())]
    subject = ", ".join(dict.fromkeys([*alternatives, *names]))
    return TlsSession(version or "TLS", cipher or "", _seconds(own.get("notAfter")), subject)


def _seconds(text: object) -> int | None:
    """``Jun 21 12:00:00 2027 GMT``, as OpenSSL writes times."""
    from calendar import timegm  # loads locale: only for certificates

    try:
        return timegm(time.strptime(str(text), "%b %d %H:%M:%S %Y GMT"))
    except ValueError:
        return None


Compute = Callable[[Callable[[], Any], Callable[[Any, BaseException | None], None]], None]
"""Runs the first function in the worker thread, and the second one, with its result or error, in the loop."""

NEVER = float("inf")
_MAX_BUFFERS = 64
_READS_PER_TURN = 16
_WORTH_WAITING, _MOST_AT_ONCE = 1 << 17, 1 << 20  # bytes
_ANSWER = 1 << 12  # bytes that are read of a proxy at a time
_OR_WAIT = "or wait longer with --timeout"
_CAN_WAIT = sys.platform == "linux"  # not tested on other systems


class Channel:
    """Lives from ``open`` to ``close``; ``failure`` is why it ended, None while it is open.

    ``forget`` is called just before a socket is closed, while its descriptor is still valid. ``explain`` may replace
    the error of an address that cannot be reached by one that says where the address came from. ``on_stage`` is called
    when a stage of the setup is complete.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        setup_timeout: float,
        tls: ssl.SSLContext | None = None,
        send_buffer: int = -1,
        receive_buffer: int = -1,
    ) -> None:
        self.connection = connection
        self._frames = connection.frames
        self.node = connection.node
        self.is_open = True
        """Whether it can still carry requests."""
        self.failure: KcliError | None = None
        self.last_used = 0.0
        self.closed_at = 0.0
        self.closed_idle = False
        self.clock: Callable[[], float] = float  # the loop's, once it is known
        self.compute: Compute = _no_worker  # likewise, for connections that authenticate
        self.attempt = 0
        self.forget: Callable[[Channel], None] = _nobody
        self.explain: Callable[[KcliError], KcliError] = _as_it_is
        self.on_stage: Callable[[Stage], None] = _unobserved
        self.detour: Detour | None = None
        """The way to a broker that is not connected to at its own address."""
        self._tunnel: Tunnel | None = None
        self._why: Callable[[], KcliError | None] = _unknown
        self._tls = tls
        self._tls_done = tls is None
        self._wants_write_for_tls = True
        self._read_wants_write = False  # TLS must send something of its own (KeyUpdate) before it reads on
        self._setup_timeout = setup_timeout
        self._setup_began = 0.0
        self._setup_deadline = NEVER
        self._attempt_deadline = NEVER  # a black-holed address must leave time for the next one
        self._each = 0.0
        self._buffers = (send_buffer, receive_buffer)
        self._addresses: list[Address] = []
        self._address: Address | None = None  # the one that it is connected to
        self._socket: socket.socket | None = None
        self._least = 1  # bytes at which the selector reports it readable
        self._refusals: list[str] = []
        self._unserved: KcliError | None = None  # why an address that was connected to is none of a broker

    def fileno(self) -> int:
        """The socket's descriptor, −1 if there is none at the moment."""
        return self._socket.fileno() if self._socket is not None else -1

    @property
    def is_ready(self) -> bool:
        """Whether the handshake is over: from then on only responses arrive."""
        return self.connection.state is State.READY

    @property
    def wants_write(self) -> bool:
        """Whether the selector should watch for writability."""
        connection = self.connection
        if connection.state is State.CONNECTING:
            if self._tunnel is not None and not self._tunnel.is_open:
                return bool(self._tunnel.outgoing)  # its first bytes also show that the proxy is connected
            return not self._tls_in_progress or self._wants_write_for_tls
        return bool(connection.outgoing) or self._read_wants_write

    @property
    def addresses(self) -> list[str]:
        """The addresses that have not been tried yet: at the stage RESOLVED, all that the host has."""
        return [str(address.target[0]) for address in self._addresses]

    @property
    def peer(self) -> str:
        """The address that it is connected to, and how the broker is reached from there; empty without a connection."""
        try:
            address = str(self._socket.getpeername()[0]) if self._socket is not None else ""
        except OSError:
            return ""
        return f"{address},{self.detour.via}" if address and self.detour is not None else address

    @property
    def tls_session(self) -> TlsSession | None:
        """What TLS has agreed on; None without TLS, and before its handshake is over."""
        if self._tls is None or not self._tls_done or self._socket is None:
            return None
        from kcli.core.net.tls.failures import presented  # loaded with the context

        sock = cast("ssl.SSLSocket", self._socket)
        cipher = sock.cipher()
        return session_of(sock.version(), cipher[0] if cipher else None, presented(sock))

    @property
    def _decrypted_waits(self) -> bool:
        return self._tls is not None and bool(getattr(self._socket, "pending", int)())

    @property
    def _tls_in_progress(self) -> bool:
        return not self._tls_done and self._socket is not None and hasattr(self._socket, "do_handshake")

    def start_setup(self, now: float) -> None:
        """Starts the timeout of connection setup, which covers name lookup, connect, TLS and the handshake."""
        self._setup_began = now
        self._setup_deadline = now + self._setup_timeout
        self.last_used = now  # a channel that is still connecting is not idle

    def open(self, addresses: list[Address]) -> None:
        """Begins to connect to the first of ``addresses``; the others are tried if it fails."""
        self._addresses = list(addresses)
        self.on_stage(Stage.RESOLVED)
        self._connect_next()
        if self._addresses:
            now = self.clock()
            # The time that is left is shared: a first address that drops packets (IPv6 without a route) must
            # leave time for the next.
            self._each = max(0.0, self._setup_deadline - now) / (len(self._addresses) + 1)
            self._attempt_deadline = now + self._each

    def adopt(self, connected: socket.socket, why: Callable[[], KcliError | None]) -> None:
        """Takes a socket that is connected already, and does not block, as of a socket pair. ``why`` says why the other
        end has closed it, as far as that is known.
        """
        self.on_stage(Stage.RESOLVED)
        self._why = why
        self.attempt += 1
        self._socket = connected

    def next_deadline(self) -> float:
        """The earliest time at which something here is overdue."""
        due = self.connection.next_deadline()
        if self._setup_deadline == NEVER == self._attempt_deadline:
            return due
        return min(self._setup_deadline, self._attempt_deadline, due)

    def check_deadlines(self, now: float) -> None:
        """Closes the channel when connecting or a response takes too long."""
        if not self.is_open:
            return
        if now >= self._setup_deadline:
            self.close(self._setup_error(now))
            return
        if now >= self._attempt_deadline:
            trying = self.connection.is_unheard and bool(self._addresses)
            self._attempt_deadline = now + self._each if trying and len(self._addresses) > 1 else NEVER
            if trying:
                self._refusals.append("no answer")
                if self.connection.state is State.HANDSHAKE:
                    self._failed(self._setup_error(now))
                else:
                    self._connect_next()  # closes the channel after the last address: nothing is overdue then
        try:
            self.connection.check_deadlines(now, lambda: self._setup_error(now))
        except KcliError as error:
            self.close(error)

    def close(self, error: KcliError | None = None) -> None:
        """Closes the socket; requests in flight fail with their outcome unknown."""
        if self.is_open:
            if type(error) is ConnectError and self.connection.state is State.CONNECTING:
                error = self.explain(error)
            self.failure = error or ConnectError(f"the connection to {self.node} was closed")
            self.closed_at = self.clock()
            self.closed_idle = self.connection.state is State.READY and self.connection.pending == 0
            self._drop_socket()
            self._setup_deadline = NEVER
            self.is_open = False
            self.connection.close(error)

    def drop(self) -> None:
        """Closes the socket without completing any future."""
        if self._socket is not None:
            self._socket.close()

    # --- events of the selector --------------------------------------------------------------------

    def on_writable(self, now: float) -> None:
        """The socket is writable, or connecting made progress."""
        if self.connection.state is State.CONNECTING:
            self._continue_setup(now)
        else:
            if self._read_wants_write:
                self._read_wants_write = False
                self.on_readable(now)
            self.flush(now)

    def on_readable(self, now: float) -> None:
        """There are bytes, an end of stream or an error to read."""
        if self.connection.state is State.CONNECTING:
            self._continue_setup(now)
            return
        for _ in range(_READS_PER_TURN):
            if not self.is_open or not self._read_once(now):
                break
        else:
            while self.is_open and self._decrypted_waits and self._read_once(now):
                pass  # the selector does not report bytes that the TLS layer has buffered
        if (self._frames.missing or self._least > 1) and self._tls is None and self._socket is not None:
            self._wait_for_many(self._socket)

    def flush(self, now: float) -> None:
        """Writes as much of the queued bytes as the socket accepts."""
        outgoing = self.connection.outgoing
        if self.connection.state is State.CONNECTING or self._socket is None:
            return
        self.last_used = now
        try:
            while outgoing:
                if self._tls is None:
                    offered = list(itertools.islice(outgoing, _MAX_BUFFERS))
                    count = self._socket.sendmsg(offered)
                    self.connection.wrote(count)
                    if outgoing and count < sum(map(len, offered)):
                        return  # the socket's buffer is full
                else:  # one record of TLS at a time
                    self.connection.wrote(self._socket.send(outgoing[0]))
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            if not _is_tls_wait(error):
                self._cannot_write(error, now)

    # --- inside ----------------------------------------------------------------------------------

    def _wait_for_many(self, sock: socket.socket) -> None:
        """During a large response the selector reports a megabyte at a time, not every segment (SO_RCVLOWAT)."""
        missing = self._frames.missing
        least = min(missing, _MOST_AT_ONCE) if missing >= _WORTH_WAITING else 1
        if least != self._least and _CAN_WAIT:
            self._least = least
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, least)

    def _connect_next(self) -> None:
        while self._addresses:
            self._address = address = self._addresses.pop(0)
            self._drop_socket()
            self._least = 1
            self.attempt += 1
            self._tunnel = None
            try:
                self._socket = socket.socket(address.family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
                self._socket.setblocking(False)
                self._tune(self._socket)
                code = self._socket.connect_ex(address.target)
            except OSError as error:
                code = error.errno or errno.EIO
            if code in (0, errno.EINPROGRESS):
                return
            self._refusals.append(os.strerror(code))
            if code in (errno.EMFILE, errno.ENFILE):
                what = f"cannot connect to {self._reached}"
                self.close(TooManyFilesError(what, why=os.strerror(code).lower(), do=RAISE_FILE_LIMIT))
                return
        self.close(self._unserved or self._refused())

    def _connect_again(self) -> None:
        """To the same address: the conversation begins anew."""
        assert self._address is not None
        self._addresses.insert(0, self._address)
        self._begin_anew()

    def _failed(self, error: KcliError) -> None:
        """Ends it, or goes on to the host's next address where no broker has responded at this one: of several machines
        behind a name one may be away, and another server may have the port at the other address of ``localhost``.
        """
        if self._addresses and isinstance(error, ConnectError) and self.connection.is_unheard:
            self._unserved = error
            self._begin_anew()
        else:
            self.close(error)

    def _begin_anew(self) -> None:
        if self.connection.state is State.HANDSHAKE:
            self.connection.begin_again()
        self._frames = self.connection.frames
        self._tls_done, self._wants_write_for_tls, self._read_wants_write = self._tls is None, True, False
        self._connect_next()

    def _tune(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        send, receive = self._buffers
        if send >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send)
        if receive >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)

    def _continue_setup(self, now: float) -> None:
        assert self._socket is not None
        if not self._tls_in_progress:
            code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                self._refusals.append(os.strerror(code))
                self._connect_next()
                return
            if self.detour is not None and not self._through(self.detour):
                return
            self.on_stage(Stage.CONNECTED)
            if self._tls is not None and not self._wrap():
                return
        if not self._tls_done and not self._tls_handshake():
            return
        try:
            self.connection.connected(now, self._setup_deadline)
        except KcliError as error:  # as credentials that were refused already, and would be sent ahead
            self.close(error)
            return
        self.flush(now)

    def _through(self, detour: Detour) -> bool:
        """Whether the broker is connected to, by a proxy if there is one; continues the exchange with it."""
        assert self._socket is not None
        assert self._address is not None
        try:
            tunnel = self._tunnel = self._tunnel or detour.tunnel(self._address)
        except KcliError as error:
            self.close(error)
            return False
        if tunnel is None:
            return True
        try:
            while not tunnel.is_open:
                if tunnel.outgoing:
                    tunnel.sent(self._socket.send(tunnel.outgoing))
                elif data := self._socket.recv(_ANSWER):
                    tunnel.received(data)
                else:
                    raise tunnel.ended()
            return True
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            self._failed(tunnel.ended())
        except KcliError as error:
            self._failed(error)
        return False

    def _wrap(self) -> bool:
        """Wraps the socket in TLS; False if the peer was gone already."""
        assert self._tls is not None
        assert self._socket is not None
        plain = self._socket
        self.forget(self)  # wrapping detaches the descriptor from the plain socket
        try:
            self._socket = self._tls.wrap_socket(
                cast("Any", plain),
                server_hostname=certified_name(self.node.host),
                do_handshake_on_connect=False,
            )
        except (OSError, ValueError) as error:
            self._socket = None
            plain.close()
            self.close(ConnectError(f"the connection to {self.node} broke before TLS", why=str(error)))
            return False
        return True

    def _tls_handshake(self) -> bool:
        try:
            cast("ssl.SSLSocket", self._socket).do_handshake()
        except OSError as error:
            if _is_tls_wait(error):
                self._wants_write_for_tls = type(error).__name__ == "SSLWantWriteError"
            else:
                self._failed(self._tls_error(error))
            return False
        self._tls_done = True
        self.on_stage(Stage.SECURED)
        return True

    def _cannot_write(self, error: OSError, now: float) -> None:
        """The peer has closed the connection. It may have said why: it refuses credentials, or a certificate, and what
        went ahead of that is never read.
        """
        attempt = self.attempt
        while self.is_open and self.attempt == attempt and self._read_once(now):
            pass
        if self.is_open and self.attempt == attempt:
            self._failed(self._broken(error))

    def _read_once(self, now: float) -> bool:
        assert self._socket is not None
        room, missing = self._frames.writable(), self._frames.missing
        try:
            count = self._socket.recv_into(room)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            if not _is_tls_wait(error):
                self._failed(self._broken(error))
                return False
            self._read_wants_write = type(error).__name__ == "SSLWantWriteError"
            return False
        if count == 0:
            self._failed(self._ended())
            return False
        self.last_used = now
        try:
            self.connection.received(count, now)
        except TooFarAheadError:
            self._connect_again()
            return False
        except KcliError as error:
            self._failed(self._not_kafka(error) if isinstance(error, ProtocolError) else error)
            return False
        if self._setup_deadline != NEVER or self.connection.work is not None:
            self._after_step()
        # A large response has been received to its end: what follows it is rarely there yet, and will be reported.
        return (not missing and count == room.nbytes) or self._tls is not None

    def _after_step(self) -> None:
        """The connection may be ready now, or have work for the worker thread."""
        if self._setup_deadline != NEVER and self.connection.is_established:
            self._setup_deadline = self._attempt_deadline = NEVER
        work = self.connection.take_work()
        if work is not None:
            self.compute(work, self._computed)

    def _computed(self, value: Any, error: BaseException | None) -> None:
        """The result of the work; runs in the loop."""
        # Closed while the worker computed: its result is of no use to the next connection.
        if not self.is_open:
            return
        try:
            self.connection.computed(value, error, self.clock())
        except TooFarAheadError:
            self._connect_again()
        except KcliError as failure:
            self.close(failure)
        else:
            self._after_step()

    def _not_kafka(self, error: ProtocolError) -> KcliError:
        """Invalid bytes in the handshake mean another kind of server; later they are a defect of the peer."""
        if self.connection.is_established or self.connection.is_authenticating:
            return error
        what = error.what.removeprefix(f"{self.node}: ").removeprefix("malformed response: ")
        detail = f"{what}: {error.why}" if error.why else what
        return NotKafkaError(
            f"{self.node} does not speak Kafka on this port",
            why=f"its response to ApiVersions is malformed ({detail})",
            do="check the port and security.protocol",
        )

    def _drop_socket(self) -> None:
        if self._socket is not None:
            self.forget(self)
            self._socket.close()
            self._socket = None

    def _setup_error(self, now: float) -> ConnectError:
        """The error that says what the setup was waiting for."""
        waited = f"{min(self._setup_timeout, now - self._setup_began):.3g} s"
        if self.connection.is_authenticating:
            return self._not_authenticated(waited)
        if self.connection.state is State.HANDSHAKE:
            return ConnectError(
                f"no reply to ApiVersions from {self.node} in {waited}",
                why="the port accepts connections but does not respond",
                do=f"check that this is a Kafka broker and that it is not stopped or overloaded, {_OR_WAIT}",
            )
        if self._tls_in_progress:
            return ConnectError(
                f"no TLS handshake with {self.node} in {waited}",
                why="the port accepts connections but does not respond",
                do=f"check port and security.protocol, and that the broker is not stopped or overloaded, {_OR_WAIT}",
            )
        if self._tunnel is not None and self._tunnel.has_begun:
            return self._tunnel.overdue(waited)
        return ConnectError(
            f"cannot connect to {self._reached} in {waited}",
            why="no response from the network",
            do="check the host, the port and any firewall between",
        )

    def _not_authenticated(self, waited: str) -> ConnectError:
        api = self.connection.awaits
        if api:
            return ConnectError(
                f"no reply to {api} from {self.node} in {waited}",
                why="the broker does not finish the authentication",
                do="check that it is not overloaded, and what it authenticates with",
            )
        return ConnectError(
            f"cannot authenticate with {self.node} in {waited}",
            why="the credentials were not available in time",
            do="check the provider of tokens",
        )

    def _refused(self) -> ConnectError:
        why = ", ".join(dict.fromkeys(self._refusals)) or "it has no address"
        if self.detour is not None:
            return ConnectError(f"cannot connect to {self._reached}", why=why, do=self.detour.advice)
        return ConnectError(
            f"cannot connect to {self.node}",
            why=why,
            do="check the host and port, and that the broker is running",
        )

    @property
    def _reached(self) -> str:
        """The broker, and how it is reached, for messages."""
        return f"{self.node}{self.detour.via}" if self.detour is not None else str(self.node)

    def _broken(self, error: OSError) -> KcliError:
        if not self.connection.is_established:
            # With TLS 1.3 a broker refuses the client's certificate after the handshake, which a read tells.
            of_tls = self._tls is not None and type(error).__name__.startswith("SSL")
            return self._tls_error(error) if of_tls else self._left(why=error.strerror or str(error))
        if not self.connection.has_responded and self.connection.awaits:
            return self._ended()  # a reset where more was sent than the broker has read before it closed
        why = error.strerror or str(error)
        return OutcomeUnknownError(f"the connection to {self.node} broke", why=why)

    def _tls_error(self, error: OSError) -> KcliError:
        # Loaded with the context; plaintext clients do without.
        from kcli.core.net.tls.failures import presented, tls_error

        return tls_error(
            error,
            str(self.node),
            self.node.host,
            presented(self._socket),
            has_certificate=getattr(self._tls, "has_certificate", False),
        )

    def _ended(self) -> KcliError:
        if (known := self._why()) is not None:
            return known
        if self.connection.is_authenticating:
            return ConnectError(
                f"{self.node} closed the connection during {self.connection.awaits or 'authentication'}",
                why="it stops, or does not accept these credentials",
                do="check sasl.mechanism and the credentials, and that the broker is running",
            )
        if self.connection.state is State.HANDSHAKE:
            return self._left()
        if not self.connection.has_responded and self.connection.awaits:
            return UnansweredError(f"{self.node} closed the connection at {self.connection.awaits}")
        return OutcomeUnknownError(f"{self.node} closed the connection")

    def _left(self, why: str = "it is not Kafka, or this port wants TLS or authentication") -> ConnectError:
        return ConnectError(
            f"{self.node} closed the connection before it responded",
            why=why,
            do="check the port and security.protocol, and that the broker is running",
        )


def _no_worker(_work: object, _done: object) -> None:
    """The default of ``compute``: only connections that authenticate need a worker."""
    raise RuntimeError("this channel has no worker")


def _nobody(_channel: Channel) -> None:
    """The default of ``forget``: before the loop watches a channel, there is nothing to unregister."""


def _unobserved(_stage: Stage) -> None:
    """The default of ``on_stage``."""


def _unknown() -> None:
    """The default of ``why``: the network says no more than that a connection has ended."""


def _as_it_is(error: KcliError) -> KcliError:
    """The default of ``explain``."""
    return error


def _is_tls_wait(error: OSError) -> bool:
    """Whether a TLS socket would block."""
    return type(error).__name__ in ("SSLWantReadError", "SSLWantWriteError")
