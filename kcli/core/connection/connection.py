"""A connection to one broker, without socket and clock: requests in, bytes out; bytes in, responses out.

Requests are pipelined and answered in order. Until the handshake is done they are queued unencoded, because their
version depends on what the broker offers; reads follow it at once, in versions that the broker is expected to offer
(``ahead.py``). If it does not, the connection is made anew. Used only by the loop's thread.

Before a session ends (KIP-368), new requests wait: once those in flight have their responses, the client authenticates
again, then the waiting ones are sent (``tests/fault/test_reauthentication.py``, N15).

A timed-out request closes its connection: a broker answers in order, so no later response can be expected soon.
What was in flight has failed with ``OutcomeUnknownError``: it may have been carried out
(``tests/fault/test_network.py``, N5 to N7).
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kcli.core.classes import dataclass
from kcli.core.connection.ahead import Expected, may_go_ahead
from kcli.core.connection.framing import BufferPool, Frame, FrameReader
from kcli.core.connection.handshake import (
    BrokerApiVersions,
    Handshake,
    TooFarAheadError,
    handshake,
    reauthentication,
)
from kcli.core.connection.plan import Broker, Plan
from kcli.core.connection.state import ESTABLISHED, TABLE, Event, Session, State
from kcli.core.connection.steps import Ahead, Await, Compute
from kcli.core.error_codes import NONE, NUMBERS, UNSUPPORTED_VERSION
from kcli.core.errors import (
    ConfigError,
    ConnectError,
    KcliError,
    NotInLogDirsError,
    NotValidatedError,
    OutcomeUnknownError,
    ProtocolError,
    RequestTimeoutError,
    UnreadableFileError,
)
from kcli.core.future import Future
from kcli.core.hooks import Hooks
from kcli.core.protocol.api import (
    API_VERSIONS,
    Request,
    Response,
    choose_version,
    decode_response,
    encode_request,
    leading_error_code,
)
from kcli.core.state_cell import StateCell
from kcli.core.types import Node

if TYPE_CHECKING:
    from kcli.core.connection.sasl.login import Login

NEVER = float("inf")


@dataclass(slots=True, eq=False, repr=False)
class Sent:
    """A request that was sent. ``deadline`` is absolute, on the loop's clock."""

    correlation_id: int
    request: Request
    version: int
    future: Future[Any]
    deadline: float
    sent_at: float


@dataclass(slots=True, eq=False, repr=False)
class _Ahead:
    """What was written behind the handshake, before its end. ``sent`` is the same, as requests in flight."""

    request: Request | Plan
    future: Future[Any]
    deadline: float
    sent: list[Sent]


class InFlight:
    """Requests that wait for their response, in the order they were sent: a broker responds in that order.

    ``earliest`` is a lower bound of the deadlines, recomputed only when it passes. A pause that a broker demands
    (KIP-219) moves the deadlines of what waits and of what is in flight (``tests/fault/test_brokers.py``, B13).
    """

    def __init__(self) -> None:
        self._queue: deque[Sent] = deque()
        self.earliest = NEVER

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, sent: Sent) -> None:
        """Appends a request that was just written."""
        self._queue.append(sent)
        if sent.deadline < self.earliest:
            self.earliest = sent.deadline

    def take(self, correlation_id: int, peer: object) -> Sent:
        """The request that this response belongs to; ProtocolError unless it is the oldest one."""
        if not self._queue:
            raise ProtocolError(
                f"{peer} sent a response with correlation id {correlation_id}, expected none",
                why="no request was in flight",
            )
        sent = self._queue[0]
        if sent.correlation_id != correlation_id:
            raise ProtocolError(
                f"{peer} sent a response with correlation id {correlation_id}, expected {sent.correlation_id}",
                why="a broker sends its responses in the order of the requests",
            )
        self._queue.popleft()
        if not self._queue:
            self.earliest = NEVER
        return sent

    def since(self, count: int) -> list[Sent]:
        """All but the first ``count``."""
        return list(self._queue)[count:]

    def expect(self, sent: Sent, deadline: float) -> None:
        """From now on the response to ``sent`` has to come by ``deadline``."""
        sent.deadline = deadline
        self.earliest = min(self.earliest, deadline)

    def awaits(self, api_key: int) -> bool:
        """Whether the next response is one of this API."""
        return bool(self._queue) and self._queue[0].request.api_key == api_key

    def oldest(self) -> Sent | None:
        """The request whose response comes next, or None."""
        return self._queue[0] if self._queue else None

    def overdue(self, now: float) -> Sent | None:
        """A request whose deadline has passed, or None."""
        if now < self.earliest:
            return None
        late = min(self._queue, key=lambda sent: sent.deadline, default=None)
        self.earliest = late.deadline if late else NEVER
        return late if late and late.deadline <= now else None

    def postpone(self, seconds: float) -> None:
        """Extends all deadlines by ``seconds``."""
        for sent in self._queue:
            sent.deadline += seconds
        self.earliest += seconds

    def clear(self) -> list[Sent]:
        """Empties it and returns what was in flight, oldest first."""
        waiting = list(self._queue)
        self._queue.clear()
        self.earliest = NEVER
        return waiting


Completion = tuple[Future[Any], Any, BaseException | None]
"""A future with the value or the error that completes it, after all bytes of the turn are processed."""

_LAST_ID = 0x7FFF_FFFF
_ANSWERS = (OutcomeUnknownError, ProtocolError, UnreadableFileError, NotInLogDirsError)
"""What a connection may end with that is also the outcome of each request in flight."""
_SEE_BROKER = "check that this broker is running and not overloaded"
_OBSTACLES = dict.fromkeys(State, "the connection was not established") | {
    State.READY: "the broker throttles this client",
    State.DRAINING: "earlier requests had no response, and the session had to be renewed",
    State.REAUTHENTICATING: "the session was being renewed",
}


class Connection:
    """``request`` queues, ``outgoing`` holds the bytes to write, ``received`` handles the bytes read.

    ``login``: how to authenticate, None without SASL. ``setup_timeout``: seconds for a later authentication.
    ``buffers``: those of large responses, which several connections of one loop may share. ``expected``: what the broker
    is expected to offer; None: nothing is sent before it has reported that.
    """

    def __init__(
        self,
        node: Node,
        *,
        client_id: str,
        max_frame_bytes: int,
        complete: Callable[[Completion], None],
        hooks: Hooks,
        login: Login | None = None,
        setup_timeout: float = NEVER,
        buffers: BufferPool | None = None,
        expected: Expected | None = None,
    ) -> None:
        self.node = node
        self.state = State.CONNECTING  # set by ``_report_state`` only
        self.outgoing: deque[memoryview] = deque()
        self.offer: BrokerApiVersions | None = None
        self.has_responded = False  # to a request that was not part of the handshake
        self.lost_ahead = False
        """Whether it has ended without a response to what was sent together with the handshake, or after it."""
        self._client_id = client_id
        self._complete = complete
        self._hooks = hooks
        self._cell = StateCell(State.CONNECTING, TABLE, self._report_state)
        self._reader: Callable[[], FrameReader] = partial(FrameReader, str(node), max_frame_bytes, buffers)
        self.frames = self._reader()
        """Has the buffer for the socket's next bytes."""
        self._expected = expected
        self._may_follow = False  # requests behind the handshake
        self._again = False  # it was connected before
        self._refusal: KcliError | None = None  # what the login was refused with before that
        self._ahead: list[_Ahead] = []
        self._in_flight = InFlight()
        self._waiting: deque[tuple[Request | Plan, Future[Any], float]] = deque()
        self._handshake: Handshake | None = None
        self._handshake_deadline = NEVER
        self._setup_timeout = setup_timeout
        self.work: Callable[[], Any] | None = None
        """The function to run in the worker thread, once; its result belongs to ``computed``."""
        self.session = Session(login)
        self._has_versions = False
        self._versions: dict[tuple[type[Request], int, int], int] = {}  # chosen from the offer
        self._next_id = 0
        self._queued_bytes = 0
        self._sent_bytes = 0
        self._awaiting_write: deque[tuple[int, Future[Any], float]] = deque()
        self._quiet_until = 0.0
        self.round_trip = NEVER
        """Seconds, the shortest from a request to its response."""

    @property
    def pending(self) -> int:
        """Requests that are queued or in flight."""
        return len(self._waiting) + len(self._in_flight) + len(self._awaiting_write)

    @property
    def is_established(self) -> bool:
        """Whether the first handshake is over."""
        return self.state in ESTABLISHED

    @property
    def is_authenticating(self) -> bool:
        """Whether the first handshake has come as far as SASL: the peer is a Kafka broker."""
        return self.state is State.HANDSHAKE and self.session.login is not None and self._has_versions

    @property
    def is_unheard(self) -> bool:
        """Whether nothing has shown yet that the peer is a Kafka broker."""
        return self.state in (State.CONNECTING, State.HANDSHAKE) and not self._has_versions

    @property
    def awaits(self) -> str:
        """The API whose response the handshake waits for, empty while it waits for something else."""
        oldest = self._in_flight.oldest()
        return oldest.request.api_name if oldest is not None else ""

    def connected(self, now: float, deadline: float) -> None:
        """The transport is connected: starts the handshake, which must complete by ``deadline``."""
        self._cell.apply(Event.CONNECTED, "the transport is up")
        login = self.session.login
        if login is not None and self._again and login.refusal is self._refusal:
            login.permit()  # what permitted the first attempt, which had no outcome, permits this one
        self._refusal = None if login is None else login.refusal
        steps = handshake(self.node, login, ahead=self._expected is not None)
        self._begin_handshake(steps, now, deadline)

    def begin_again(self) -> None:
        """As before it was connected: what went ahead waits. After TooFarAheadError, or where nobody has responded."""
        self._cell.apply(Event.AGAIN, "the broker is connected to once more")
        self._again = True
        self.frames = self._reader()
        self.outgoing.clear()
        self._queued_bytes = self._sent_bytes = 0
        self._in_flight.clear()
        self._handshake, self._may_follow, self._has_versions = None, False, False
        self._take_back()

    def request(self, request: Request | Plan, future: Future[Any], now: float, deadline: float) -> None:
        """Queues ``request``; its response or its error completes ``future``.

        A Plan makes its requests when it can be written; the future gets one future for each of them.
        """
        if self.state is State.READY and now >= self.session.renew_at:
            self._cell.apply(Event.SESSION_ENDS, "the session is about to end")
        if self.state is State.READY and now >= self._quiet_until:
            self._write(request, future, now, deadline)
        elif self.state is State.READY:
            # The broker asked for a pause (KIP-219), which does not count against the timeout.
            self._waiting.append((request, future, deadline + self._quiet_until - now))
        elif self.state is State.CLOSED:
            self._complete((future, None, ConnectError(f"the connection to {self.node} is closed")))
        elif self._waiting or not self._may_follow or not self._write_ahead(request, future, now, deadline):
            self._waiting.append((request, future, deadline))

    def is_paused(self, now: float) -> bool:
        """Whether the broker has asked for a pause (KIP-219) that is not over."""
        return now < self._quiet_until

    def session_is_over(self, now: float, last_used: float) -> bool:
        """Whether the connection was idle for a whole session: the broker, or a proxy, may have given it up."""
        return now - last_used >= self.session.lifetime and self.pending == 0

    def take_work(self) -> Callable[[], Any] | None:
        """Removes and returns ``work``."""
        work, self.work = self.work, None
        return work

    def computed(self, value: Any, error: BaseException | None, now: float) -> None:
        """The work is done. Any error raised here must close the connection."""
        self._advance_handshake(now, value, error)

    def next_deadline(self) -> float:
        """A time before which nothing here can be overdue."""
        if self.state is State.READY and not (self._waiting or self._awaiting_write):
            return self._in_flight.earliest
        if self.state is State.DRAINING and not self._in_flight:
            return 0.0
        waiting = min((deadline for _, _, deadline in self._waiting), default=NEVER)
        if self._ahead:
            waiting = min(waiting, *(one.deadline for one in self._ahead))
        unwritten = self._awaiting_write[0][2] if self._awaiting_write else NEVER
        resume = self._quiet_until if self._waiting and self.state is State.READY else NEVER
        renewal = self._handshake_deadline if self.state is State.REAUTHENTICATING else NEVER
        return min(waiting, unwritten, resume, renewal, self._in_flight.earliest)

    def check_deadlines(self, now: float, setup_error: Callable[[], ConnectError] | None = None) -> None:
        """Raises RequestTimeoutError when a response is overdue; fails requests that waited too long to be sent.

        When a pause that the broker asked for is over, queued requests are sent; when nothing is in flight any more,
        a session that ends is renewed. Any error raised here must close the connection. ``setup_error`` makes the
        error that says what a connection that is not ready yet waits for.
        """
        if self.state is State.READY and self._waiting and now >= self._quiet_until:
            self._resume(now)
        if self.state is State.DRAINING and not self._in_flight:
            self._reauthenticate(now)
        if self.state is State.REAUTHENTICATING and now >= self._handshake_deadline:
            raise ConnectError(
                f"{self.node}: no new authentication in {self._setup_timeout:.3g} s",
                why=f"no reply to {self.awaits}"
                if self.awaits
                else "the credentials were not available in time",
                do=_SEE_BROKER if self.awaits else "check the provider of tokens",
            )
        late_ones = [row for row in self._waiting if row[2] <= now]
        if late_ones:
            self._waiting = deque(row for row in self._waiting if row[2] > now)
        for _, future, _ in late_ones:
            self._complete((future, None, self._not_sent(setup_error)))
        for one in self._ahead:
            if one.deadline <= now:  # a response that comes all the same is dropped
                one.deadline = NEVER
                self._complete((one.future, None, self._not_sent(setup_error)))
        if self._awaiting_write and self._awaiting_write[0][2] <= now:
            raise RequestTimeoutError(
                f"{self.node} accepted no bytes in time",
                why="the broker is overloaded or stopped",
                do=_SEE_BROKER,
            )
        late = self._in_flight.overdue(now)
        if late is not None:
            waited = now - late.sent_at
            raise RequestTimeoutError(
                f"no reply to {late.request.api_name} from {self.node} in {waited:.1f} s",
                why="the broker is unreachable, overloaded or stopped",
                do=_SEE_BROKER,
            )

    def _not_sent(self, setup_error: Callable[[], ConnectError] | None) -> ConnectError:
        """Why a request could not be sent before its deadline."""
        if not self.is_established and setup_error is not None:
            return setup_error()
        return ConnectError(
            f"the request to {self.node} was not sent in time", why=_OBSTACLES[self.state], do=_SEE_BROKER
        )

    # --- bytes -----------------------------------------------------------------------------------

    def received(self, count: int, now: float) -> None:
        """``count`` bytes were written to ``frames``. Any error raised here must close the connection."""
        frames = self.frames
        for frame in frames.received(count):
            self._response(frame, now)
        if frames.failure is not None:
            raise frames.failure

    def wrote(self, count: int) -> None:
        """``count`` bytes of ``outgoing`` were sent."""
        self._sent_bytes += count
        if self._sent_bytes == self._queued_bytes:
            self.outgoing.clear()
            count = 0
        while count > 0:
            head = self.outgoing.popleft()
            count -= head.nbytes
            if count < 0:
                self.outgoing.appendleft(head[count:])
        while self._awaiting_write and self._awaiting_write[0][0] <= self._sent_bytes:
            self._complete((self._awaiting_write.popleft()[1], None, None))

    def close(self, error: KcliError | None = None) -> None:
        """Closes it: requests that were never written fail with ``error``, those in flight with their outcome unknown."""
        error = error or ConnectError(f"the connection to {self.node} was closed")
        self._cell.apply(Event.CLOSE, str(error))
        self.outgoing.clear()
        self.lost_ahead = self._expected is not None and not self.has_responded and bool(self._in_flight)
        self._take_back()
        self._handshake = self.work = None
        unknown = error if isinstance(error, _ANSWERS) else None
        for sent in self._in_flight.clear():
            if sent.deadline == NEVER:
                continue  # went ahead, and is among those that wait
            lost = unknown or OutcomeUnknownError(
                f"the connection to {self.node} ended before the response to {sent.request.api_name}",
                why=str(error),
            )
            self._complete((sent.future, None, lost))
        for _, future, _ in self._awaiting_write:
            self._complete((future, None, unknown or OutcomeUnknownError(error.what, why=error.why)))
        never_sent = error
        if isinstance(error, OutcomeUnknownError):
            never_sent = ConnectError(error.what, why=error.why, do=error.do)
        for _, future, _ in self._waiting:
            self._complete((future, None, never_sent))
        self._waiting.clear()
        self._awaiting_write.clear()

    # --- inside ----------------------------------------------------------------------------------

    def _write(self, request: Request | Plan, future: Future[Any], now: float, deadline: float) -> None:
        if type(request) is Plan:
            self._write_plan(request, future, now, deadline)
            return
        if getattr(request, "validate_only", False) and not self._honours_validate_only():
            what = f"{self.node} was not asked to check {request.api_name}"
            why = "it is not known to honour validateOnly, and might make the change"
            self._complete((future, None, NotValidatedError(what, why=why)))
            return
        kind = (type(request), request.version_cap, request.version_floor)
        if kind not in self._versions:
            try:
                assert self.offer is not None
                self._versions[kind] = self._choose_version(request, self.offer)
            except KcliError as error:
                self._complete((future, None, error))
                return
        self._write_version(request, self._versions[kind], future, now, deadline)

    def _write_ahead(self, request: Request | Plan, future: Future[Any], now: float, deadline: float) -> bool:
        """Writes a read behind the handshake, in versions that the broker is expected to have; False if it must wait."""
        expected = self._expected
        if expected is None or not expected.suits(request):
            return False
        rows: list[tuple[Request, Future[Any]]] = []
        versions: list[int] = []
        try:
            if isinstance(request, Plan):
                rows = request.begin(Broker(str(self.node), expected.offer), future)
            else:
                rows = [(request, future)]
            versions = [self._choose_version(one, expected.offer) for one, _ in rows]
        except KcliError:  # only the broker's own versions can refuse it
            rows = []
        if not may_go_ahead([one for one, _ in rows]):
            if isinstance(request, Plan):
                request.responses = []
            return False
        before = len(self._in_flight)
        for (one, response), version in zip(rows, versions, strict=True):
            self._write_version(one, version, response, now, NEVER)
        self._ahead.append(_Ahead(request, future, deadline, self._in_flight.since(before)))
        return True

    def _suits(self, offer: BrokerApiVersions) -> bool:
        """Whether what went ahead is what would be sent now, or says the same."""
        expected = self._expected
        if not self._ahead or expected is None or expected.offer == offer:
            return True
        if expected.exactly:
            return False
        for one in self._ahead:
            for sent in one.sent:
                first, last = offer.apis.get(sent.request.api_key, (0, -1))
                if not first <= sent.version <= last:
                    return False
        return True

    def _take_back(self) -> None:
        """What went ahead waits again, before everything else."""
        rows = [(one.request, one.future, one.deadline) for one in self._ahead if one.deadline != NEVER]
        self._waiting.extendleft(reversed(rows))
        self._ahead.clear()

    def _honours_validate_only(self) -> bool:
        assert self.offer is not None
        return self.offer.honours_validate_only

    def _choose_version(self, request: Request, offer: BrokerApiVersions) -> int:
        cap, floor = request.version_cap, request.version_floor
        return choose_version(type(request), offer.apis, self.node, highest=cap, lowest=floor)

    def _write_plan(self, plan: Plan, future: Future[Any], now: float, deadline: float) -> None:
        assert self.offer is not None
        try:
            requests = plan.begin(Broker(str(self.node), self.offer, self.round_trip), future)
        except KcliError as error:
            self._complete((future, None, error))
            return
        for request, response in requests:
            self._write(request, response, now, deadline)
        if not requests:
            self._complete((future, plan.responses, None))

    def _write_version(
        self, request: Request, version: int, future: Future[Any], now: float, deadline: float
    ) -> None:
        correlation_id = self._next_id
        try:
            buffers = encode_request(request, version, correlation_id, self._client_id)
        except (ValueError, struct.error) as error:
            what = f"{request.api_name} cannot be written as Kafka wants it"
            self._complete((future, None, ConfigError(what, why=str(error))))
            return
        self._next_id = correlation_id + 1 if correlation_id < _LAST_ID else 0
        size = sum(map(len, buffers))
        self.outgoing.extend(map(memoryview, filter(len, buffers)))
        self._queued_bytes += size
        if self._hooks.wire is not None:
            self._hooks.wire("→", self.node, correlation_id, request.api_name, version, size - 4)
        if request.expects_response:
            self._in_flight.add(Sent(correlation_id, request, version, future, deadline, now))
        else:
            self._awaiting_write.append((self._queued_bytes, future, deadline))

    def _response(self, frame: Frame, now: float) -> None:
        correlation_id = int.from_bytes(frame.data[:4], "big", signed=True)
        sent = self._in_flight.take(correlation_id, self.node)
        if now - sent.sent_at < self.round_trip:
            self.round_trip = now - sent.sent_at
        if self._hooks.wire is not None:
            size = len(frame.data)
            self._hooks.wire("←", self.node, correlation_id, sent.request.api_name, sent.version, size)
        try:
            if self._handshake is None:
                request = sent.request
                response = decode_response(type(request), sent.version, frame.data, request.decoder)
            else:
                response = _handshake_response(sent, frame.data)
        except ProtocolError as error:
            unreadable = ProtocolError(f"{self.node}: {error.what}", why=error.why, do=error.do)
            self._complete((sent.future, None, unreadable))
            raise unreadable from error
        response.attach(frame)
        pause_ms = getattr(response, "throttle_time_ms", 0)
        if pause_ms > 0:
            self._note_throttle(sent.request.api_name, pause_ms, now)
        if self._handshake is not None:
            self._advance_handshake(now, response)
        else:
            self.has_responded = True
            self._complete((sent.future, response, None))

    def _note_throttle(self, api_name: str, pause_ms: int, now: float) -> None:
        """KIP-219: the broker reads nothing from this connection meanwhile: send nothing, and extend deadlines."""
        longer = max(0.0, now + pause_ms / 1000 - max(now, self._quiet_until))
        self._quiet_until = max(now, self._quiet_until) + longer
        self._in_flight.postpone(pause_ms / 1000)
        self._waiting = deque((one, future, deadline + longer) for one, future, deadline in self._waiting)
        for ahead in self._ahead:
            ahead.deadline += longer
        what = f"{self.node} asks for a pause of {pause_ms} ms after {api_name}: a quota is exceeded"
        self._hooks.log("info", "proto", what)

    def _begin_handshake(self, steps: Handshake, now: float, deadline: float) -> None:
        self._handshake, self._handshake_deadline = steps, deadline
        self._advance_handshake(now)

    def _reauthenticate(self, now: float) -> None:
        assert self.offer is not None
        assert self.session.login is not None
        self._cell.apply(Event.DRAINED, "all requests have their responses")
        steps = reauthentication(self.node, self.session.login, self.offer)
        self._begin_handshake(steps, now, max(now, self._quiet_until) + self._setup_timeout)

    def _advance_handshake(
        self, now: float, received: Any = None, error: BaseException | None = None
    ) -> None:
        """Resumes the handshake with a response, or with a result or an error of its work; then does its next step."""
        if self._handshake is None:  # closed meanwhile
            return
        try:
            step = self._handshake.send(received) if error is None else self._handshake.throw(error)
            while isinstance(step, Ahead):
                self._write_version(step.request, step.version, Future(), now, self._handshake_deadline)
                step = self._handshake.send(None)
        except TooFarAheadError:
            self._expected = None
            raise
        except StopIteration as end:
            offer, lifetime = end.value
            self._end_handshake(offer, lifetime, now)
            return
        if isinstance(step, Compute):
            self.work = step.fn
        elif not isinstance(step, Await):
            if self._ahead:  # the broker wants something else before
                self._expected = None
                raise TooFarAheadError
            self._write_version(step.request, step.version, Future(), now, self._handshake_deadline)
            if step.last and self.state is State.HANDSHAKE and self._expected is not None:
                self._may_follow = True
                self._flush_ahead(now)
        self._has_versions = not self._in_flight.awaits(API_VERSIONS)

    def _end_handshake(self, offer: BrokerApiVersions, lifetime: float, now: float) -> None:
        if not self._suits(offer):
            # Once: behind one address there may be brokers of several versions.
            self._expected = None if self._again else Expected(offer, exactly=True)
            raise TooFarAheadError
        self._handshake, self._may_follow = None, False
        for one in self._ahead:
            for sent in one.sent:
                self._in_flight.expect(sent, one.deadline)
        self._ahead.clear()
        self.offer = offer
        self._versions.clear()
        self.session.begin(now, lifetime)
        self._report_session(lifetime)
        self._cell.apply(Event.HANDSHAKE_DONE, "the broker accepts requests")
        if now >= self._quiet_until:
            self._flush_waiting(now)

    def _report_session(self, lifetime: float) -> None:
        login = self.session.login
        if login is not None:
            again = "re-authenticated" if self.state is State.REAUTHENTICATING else "authenticated"
            valid = "without a limit" if lifetime == NEVER else f"for {lifetime:g} s"
            self._hooks.log("debug", "auth", f"{self.node}: {again} {login.who}, {valid}")

    def _resume(self, now: float) -> None:
        """A pause is over: sends what waits, or renews the session first."""
        if now >= self.session.renew_at:
            self._cell.apply(Event.SESSION_ENDS, "the session is about to end")
        else:
            self._flush_waiting(now)

    def _flush_ahead(self, now: float) -> None:
        while self._waiting:
            request, future, deadline = self._waiting[0]
            if not self._write_ahead(request, future, now, deadline):
                return  # what was sent later does not come before it
            self._waiting.popleft()

    def _flush_waiting(self, now: float) -> None:
        waiting, self._waiting = self._waiting, deque()
        for request, future, deadline in waiting:
            self._write(request, future, now, deadline)

    def _report_state(self, old: State, new: State, why: str) -> None:
        self.state = new
        self._hooks.log("debug", "proto", f"{self.node}: {old.value} → {new.value} ({why})")


def _handshake_response(sent: Sent, frame: memoryview) -> Response:
    """Of a refusal only the code counts where the rest cannot be read: librdkafka's mock cluster refuses a version in
    neither that version nor v0.
    """
    api, version = type(sent.request), sent.version
    code = leading_error_code(api, version, frame)
    if code == UNSUPPORTED_VERSION and api.api_key == API_VERSIONS:
        version = 0  # a broker that does not support the version responds in v0 (KIP-511)
    try:
        return decode_response(api, version, frame)
    except ProtocolError:
        if code == NONE or code not in NUMBERS:
            raise
        return api.response(error_code=code)
