"""The heartbeat thread (KIP-62): keeps the member in its group while the caller is busy, and leaves on its behalf.

It has its own loop and connections, so that neither a long poll nor a pending JoinGroup delays it, and it looks up a
moved coordinator by itself. The content of requests, and the handling of responses, is up to a ``Heartbeats``. The
membership's lock is held for decisions only, never while anything waits. The thread holds no reference to the consumer:
a consumer that is dropped without a close is collected, and ends the thread.

C code that keeps the interpreter's lock keeps heartbeats back (measured: one call of 2 s with a session of 0.5 s
always lost the membership). The member notices with its next commit or poll, calls ``on_lost``, and joins again
within that poll (``tests/fault/test_groups.py``, G3).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from kcli.core.cluster.cluster import Cluster
from kcli.core.errors import KcliError, UnsupportedError
from kcli.core.future import Future
from kcli.core.group.coordinator_link import CoordinatorLink
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.group.reasons import not_offered
from kcli.core.hooks import Hooks
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.api import Request

HEARTBEAT = "heartbeat"
"""The purpose of the thread's connection."""
_LONGEST_WAIT = 1.0  # seconds between two turns at most
_PATIENCE = 1.0  # seconds for the thread to notice that it must end
_FAREWELL = 5.0  # seconds to leave on behalf of a consumer that was dropped


class Heartbeats(Protocol):
    """One protocol's heartbeats. Every method is called with the membership's lock held."""

    def tick(self, now: float) -> float:
        """Updates the state to ``now``; returns when a request is due. ``now`` or earlier means at once."""

    def request(self, now: float) -> Request | None:
        """The request that is due now; it counts as sent."""

    def handle_response(self, request: Request, answer: Any, now: float) -> KcliError | None:
        """Handles the response to ``request``. Returns an error that concerns the coordinator, or one that is not
        retriable and means nothing to the heartbeats: that ends the thread, the next poll raises it, and the poll after
        that starts anew.
        """

    def handle_no_response(self, request: Request | None, now: float) -> None:
        """``request`` got no response, or (None) there is no coordinator to send to."""


class HeartbeatThread:
    """Call ``start`` once. Ends when the member is gone. ``changed`` is called, in the thread, after every response."""

    def __init__(
        self,
        options: ConsumerOptions,
        membership: Membership,
        heartbeats: Heartbeats,
        hooks: Hooks,
        changed: Callable[[], None],
    ) -> None:
        self._membership = membership
        self._heartbeats = heartbeats
        self._changed = changed
        # A coordinator that is silent for a whole session counts as gone. With request.timeout.ms alone (30 s)
        # the next one would be looked for long after the member was removed.
        self._timeout = min(options.request_timeout_ms, options.session_timeout_ms) / 1000
        self._cluster = Cluster(options, hooks=hooks)
        self._link = CoordinatorLink(self._cluster, membership.group_id)
        self._asked: tuple[Request, Future[Any]] | None = None
        self._must_end = self._abandoned = False
        self.defect: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kcli-heartbeat", daemon=True)

    def start(self) -> None:
        """Starts the thread; the member need not have joined yet."""
        self._thread.start()

    def wake(self) -> None:
        """Makes it check at once: the member joins or leaves, or has an assignment to acknowledge."""
        if self._thread.is_alive():
            self._cluster.loop.wakeup()

    def end(self, timeout: float) -> None:
        """Returns when the thread has ended: by itself within ``timeout`` for a member that leaves, otherwise forced."""
        if not self._thread.is_alive():
            return
        self.wake()
        # First in order: a member that leaves sends its LeaveGroup now. Then by force, as a coordinator that
        # cannot be reached must not keep a close waiting; it notices by the session timeout.
        self._thread.join(max(0.0, timeout))
        self._must_end = True
        self.wake()
        self._thread.join(_PATIENCE)

    def abandon(self) -> None:
        """The consumer was dropped: the thread leaves the group, and ends. May be called by a finalizer."""
        # Only a flag: a finalizer may run at any moment, also in a thread that holds the membership's lock.
        self._abandoned = True
        self.wake()

    def _run(self) -> None:
        loop = self._cluster.loop
        loop.adopt()
        try:
            while not self._must_end and self._membership.state is not MemberState.GONE:
                before = self._membership.state
                until = self._turn(loop.now())
                # Read without the lock: a change by the caller in between costs a wake-up too many, never one
                # too few.
                if self._membership.state is not before:
                    self._changed()
                loop.poll(min(_LONGEST_WAIT, max(0.0, until - loop.now())))
        except BaseException as error:  # noqa: BLE001 - raised by the caller's next poll
            self.defect = error
        finally:
            # The caller is woken for an error too: it may be in a long poll, and only a poll raises `defect`.
            self._cluster.close()
            self._changed()

    def _turn(self, now: float) -> float:
        """Handles the response that has arrived, sends what is due; returns when the next turn is due."""
        if self._asked is not None and self._asked[1].done:
            request, future = self._asked
            self._asked = None
            self._handle_result(request, future, now)
        if self._abandoned:
            self._start_leaving(now)
        with self._membership.lock:
            due = self._heartbeats.tick(now)
            seen = self._membership.seen
        # One request at a time: a second one would queue behind a silent broker. What becomes due meanwhile, a
        # LeaveGroup as well, waits for the response or its timeout.
        if due > now or self._asked is not None:
            return due if due > now else now + _LONGEST_WAIT
        self._link.learn(seen)
        node = self._link.node(now)
        if node is None:
            with self._membership.lock:
                self._heartbeats.handle_no_response(None, now)
            return self._link.wake_at
        with self._membership.lock:
            # The lock was free since `tick`: if the caller has left or joined meanwhile, something else is due,
            # or nothing.
            next_request = self._heartbeats.request(now)
        if next_request is not None:
            future = Future(self._cluster.loop.wait)
            self._asked = (next_request, future)
            brokers = self._cluster.brokers
            brokers.send(node, HEARTBEAT, next_request, future, now, now + self._timeout)
        return now

    def _start_leaving(self, now: float) -> None:
        member = self._membership
        with member.lock:
            if member.happened(MemberEvent.LEAVE, "its consumer was dropped"):
                member.leave_by = now + _FAREWELL

    def _handle_result(self, request: Request, future: Future[Any], now: float) -> None:
        error = future.error
        if error is not None and not isinstance(error, KcliError):
            raise error
        with self._membership.lock:
            if error is None:
                error = self._heartbeats.handle_response(request, future.value, now)
            else:
                self._heartbeats.handle_no_response(request, now)
        if error is None:
            self._link.confirmed()
        elif not self._link.refuted(error, now):
            if isinstance(error, UnsupportedError):
                raise not_offered(self._membership.group_id, error)
            raise error
        self._changed()
