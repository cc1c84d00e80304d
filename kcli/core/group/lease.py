"""A lease that one process has at a time: the process whose member leads a classic group (KIP-62).

A coordinator makes the first member that joins the leader, and keeps it in every rebalance for as long as it is a member.
When it leaves, or its session ends, another member leads. So members of a group agree on one of them without an
assignor, and without anything that is stored; the others wait, connected, and one of them takes over within the session
timeout. The leader assigns ``partition`` to itself, so that all tools show which member it is, and sends its client id to
the others.

The leader knows until when nobody else can lead: a coordinator ends a session no earlier than a session timeout after the
last heartbeat that it answered was sent. That time counts on a clock that goes on while the process, or the machine, is
suspended.

1. The holder is stopped (SIGSTOP) for a minute. Its session ends, another member leads.
2. It continues. Before the next heartbeat is answered, ``is_held`` is False already: its time is over.
3. The answer says that it is no member any more. It joins again, and waits.

What such a process had handed to others before 1 is not held back by that: what must not be overwritten is fenced by
other means (a transactional id). The thread of the lease has its own loop and connections.
"""

from __future__ import annotations

import threading
from typing import Any

from kcli.core.clock import since_boot
from kcli.core.cluster.brokers import GROUP
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.retry import Backoff, classify_error
from kcli.core.error_codes import (
    ILLEGAL_GENERATION,
    INVALID_SESSION_TIMEOUT,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError, ConnectError, KcliError, TimedOutError
from kcli.core.group.consumer_protocol import (
    PROTOCOL_TYPE,
    Assignment,
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.group.reasons import refused
from kcli.core.hooks import Hooks
from kcli.core.options import ConsumerOptions
from kcli.core.permissions import on_group
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.heartbeat import HeartbeatRequest
from kcli.core.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kcli.core.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kcli.core.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kcli.core.types import TopicPartition

PROTOCOL = "kcli-lease"
_VERSION = 1  # of subscription and assignment: every tool reads it
_SAFE = 2 / 3  # of the session timeout: what was checked just before is sent well before others may lead
_REBALANCE = 20.0  # seconds that the others wait for a member that does not join again; sessions end earlier
_GRACE = 5.0  # seconds that a JoinGroup may take beyond that
_LONGEST_SESSION = 300.0  # seconds
_SLICE = 0.25  # seconds between two looks at whether it is to be closed, while a JoinGroup is held by the coordinator
_FAREWELL = 2.0  # seconds to leave the group


class GroupLease:
    """Call ``start`` once, and ``close``. ``options``: of the member; by its client id others know who the holder is."""

    def __init__(
        self, options: ConsumerOptions, group_id: str, partition: TopicPartition, hooks: Hooks
    ) -> None:
        self.group_id = group_id
        self._options = options
        self._partition = partition
        self._session = options.session_timeout_ms / 1000
        self._interval = options.heartbeat_interval_ms / 1000
        self._cluster = Cluster(options, hooks=hooks)
        self._link = CoordinatorLink(self._cluster, group_id)
        self._backoff = Backoff.of_requests(options)
        self._member_id = ""
        self._generation: int | None = None
        self._closing = False
        # What other threads read; replaced whole by the lease's thread.
        self._changed = threading.Condition()
        self._leads = False
        self._safe_until = self._sent_at = 0.0
        self._term = 0
        self._holder: str | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kcli-lease", daemon=True)

    # --- for other threads ---------------------------------------------------------------------------

    @property
    def term(self) -> int | None:
        """A number that stays the same while this process leads; None while another one may lead.

        Raises why it cannot be a member.
        """
        with self._changed:
            if self._error is not None:
                raise self._error
            return self._term if self._leads else None

    def holds(self, term: int | None) -> bool:
        """``is_held``, in this term. Without the lock, for who asks often: False may also mean that there is an error."""
        return self._term == term and self._error is None and self.is_held

    @property
    def is_held(self) -> bool:
        """Whether nobody else can lead at this moment."""
        return self._leads and since_boot() < self._safe_until

    def is_held_since(self, moment: float) -> bool:
        """The same, and the coordinator has answered something that was sent after ``moment`` (``clock.since_boot``)."""
        return self.is_held and self._sent_at >= moment

    @property
    def holder(self) -> str | None:
        """The client id of the member that leads, as it was learned last; None: not known."""
        return self._holder

    def wait(self, seconds: float) -> None:
        """Returns when something changes, or after ``seconds``."""
        with self._changed:
            self._changed.wait(seconds)

    def start(self) -> None:
        """Joins the group, in the lease's thread."""
        self._thread.start()

    def close(self, timeout: float = _FAREWELL) -> None:
        """Leaves the group, so that another member leads at once."""
        self._closing = True
        if self._thread.is_alive():
            self._cluster.loop.wakeup()
            self._thread.join(timeout)

    # --- in its thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        self._cluster.loop.adopt()
        try:
            while not self._closing:
                if self._generation is None:
                    self._join()
                else:
                    self._beat(self._generation)
            self._leave()
        except BaseException as error:  # noqa: BLE001 - raised by the caller's next look
            with self._changed:
                self._leads, self._error = False, error
                self._changed.notify_all()
        finally:
            self._cluster.close()

    def _join(self) -> None:
        """One attempt to be a member of the present generation."""
        began = since_boot()
        subscription = encode_subscription(Subscription((self._partition.topic,)), _VERSION)
        join = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=int(self._session * 1000),
            rebalance_timeout_ms=int(_REBALANCE * 1000),
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=subscription)],
        )
        joined = self._ask(join, _REBALANCE + _GRACE)
        if joined is None:
            return
        self._member_id = joined.member_id
        leads = joined.leader == joined.member_id
        sync = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=self._assignments(joined) if leads else [],
        )
        synced = self._ask(sync, self._session)
        if synced is None:
            return
        self._generation = joined.generation_id
        sender = decode_assignment(synced.assignment, joined.member_id).user_data
        self._holds(began, leads=leads, holder=None if sender is None else sender.decode(errors="replace"))

    def _assignments(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        own = (self._partition,)
        name = self._options.client_id.encode()
        return [
            SyncGroupRequestAssignment(
                member_id=member.member_id,
                assignment=encode_assignment(
                    Assignment(own if member.member_id == joined.member_id else (), name), _VERSION
                ),
            )
            for member in joined.members
        ]

    def _beat(self, generation: int) -> None:
        """A heartbeat, and the time until the next one."""
        began = since_boot()
        beat = HeartbeatRequest(group_id=self.group_id, generation_id=generation, member_id=self._member_id)
        if self._ask(beat, self._session) is None:
            return
        self._holds(began, leads=self._leads, holder=self._holder)
        until = self._cluster.loop.now() + self._interval
        while not self._closing and (left := until - self._cluster.loop.now()) > 0:
            self._cluster.poll(left)

    def _leave(self) -> None:
        if self._member_id:
            with self._changed:
                self._leads = False
            me = MemberIdentity(member_id=self._member_id, reason="the process ends")
            request = LeaveGroupRequest(group_id=self.group_id, member_id=self._member_id, members=[me])
            node = self._link.wait(self._cluster.loop.now() + _FAREWELL)
            if node is not None:
                self._cluster.poll(_FAREWELL, self._cluster.send(request, node.id, purpose=GROUP))

    def _holds(self, since: float, *, leads: bool, holder: str | None) -> None:
        """``since``: when the request was sent that the coordinator has answered."""
        with self._changed:
            if leads and not self._leads:
                self._term += 1
            self._leads, self._holder = leads, holder
            self._sent_at, self._safe_until = since, since + self._session * _SAFE
            self._changed.notify_all()

    def _lost(self) -> None:
        """Another member may lead from now on."""
        with self._changed:
            self._leads, self._holder = False, None
            self._changed.notify_all()

    def _ask(self, request: Request, timeout: float) -> Any:
        """The response; None where it has an error, or there is none: what follows from that is done."""
        loop = self._cluster.loop
        try:
            node = self._link.wait(loop.now() + _SLICE)
            if node is None:
                return None
            future = self._cluster.send(request, node.id, purpose=GROUP, timeout=timeout)
            while not future.done and not self._closing:
                self._cluster.poll(_SLICE, future)
            if not future.done:
                return None
            answer = future.value
        except KcliError as error:
            self._failed(error)
            return None
        if answer.error_code == NONE:
            self._link.confirmed()
            self._backoff.reset()
            return answer
        if answer.error_code == MEMBER_ID_REQUIRED:  # KIP-394: the same again, with this id
            self._member_id = answer.member_id
        else:
            what = f"{request.api_name} of group {self.group_id}"
            self._failed(BrokerError(answer.error_code, what, needs=[on_group("READ", self.group_id)]))
        return None

    def _failed(self, error: KcliError) -> None:
        """Joins again, after a pause; raises what no repetition can mend."""
        code = error.code if isinstance(error, BrokerError) else NONE
        if code == REBALANCE_IN_PROGRESS:
            self._generation = None  # the leader keeps its office if it joins again
            return
        if code in (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION):
            self._generation = None
            if code == UNKNOWN_MEMBER_ID:
                self._member_id = ""
            self._lost()
        elif code == INVALID_SESSION_TIMEOUT and self._session * 2 <= _LONGEST_SESSION:
            self._session *= 2  # group.min.session.timeout.ms is larger
            return
        elif not (
            self._link.refuted(error, self._cluster.loop.now())
            or isinstance(error, ConnectError | TimedOutError)
            or classify_error(error).retriable
        ):
            raise refused(self.group_id, error) if isinstance(error, BrokerError) else error
        until = self._cluster.loop.now() + self._backoff.next()
        while not self._closing and (left := until - self._cluster.loop.now()) > 0:
            self._cluster.poll(left)
