"""A member's heartbeat thread as its caller has it: started, checked in each turn, ended. Runs in the caller's thread.

What the thread reports is logged by the caller, when no lock is held. The thread refers to this object only weakly, so
that a consumer that was dropped is collected.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kcli.core.cluster.cluster import Cluster
from kcli.core.group.heartbeat import Heartbeats, HeartbeatThread
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.hooks import Hooks
from kcli.core.options import ConsumerOptions


class Beating:
    """The heartbeats of one membership, of whose changes of state it keeps the news."""

    def __init__(self, cluster: Cluster, options: ConsumerOptions, membership: Membership) -> None:
        self._cluster = cluster
        self._options = options
        self._membership = membership
        self._thread: HeartbeatThread | None = None
        self._heartbeats: Heartbeats
        self._news: deque[tuple[str, str]] = deque()
        membership.cell.reporting(_weakly(self._report))

    def start(self, heartbeats: Heartbeats) -> None:
        """Starts the thread with what it sends."""
        self._heartbeats = heartbeats
        wire = _weakly(self._hook_wire) if self._cluster.hooks.wire is not None else None
        hooks = Hooks(log=_weakly(self._hook_log), wire=wire)
        self._thread = HeartbeatThread(
            self._options, self._membership, heartbeats, hooks, _weakly(self._changed)
        )
        self._thread.start()

    def check(self) -> None:
        """Raises the error that ended the thread, once; the next poll joins again."""
        ended = self._thread
        if ended is None or ended.defect is None:
            return
        with self._membership.lock:
            self._membership.happened(MemberEvent.LOST, f"no heartbeats any more: {ended.defect}")
        self.start(self._heartbeats)
        raise ended.defect

    def wake(self) -> None:
        """Sends at once what is due."""
        if self._thread is not None:
            self._thread.wake()

    def leave(self, timeout: float) -> None:
        """Leaves permanently, within ``timeout`` seconds; an unreachable coordinator notices by the session timeout."""
        if self._thread is None:
            return
        with self._membership.lock:
            self._membership.leave_by = self._cluster.loop.now() + timeout
            self._membership.happened(MemberEvent.LEAVE, "the consumer is closed")
        self._thread.end(timeout)
        self._thread = None

    def abandon(self) -> None:
        """The consumer was dropped: the thread leaves the group and ends. Takes no lock and does not block."""
        if self._thread is not None:
            self._thread.abandon()

    def log_news(self) -> None:
        """Logs the changes of state since the last call."""
        with suppress(IndexError):  # both threads report: only the attempt shows that it is empty
            while True:
                level, text = self._news.popleft()
                self._cluster.hooks.log(level, "group", text)

    def _report(self, old: MemberState, new: MemberState, why: str) -> None:
        group = self._options.group_id
        level = "warning" if new in (MemberState.LATE, MemberState.FENCED) else "info"
        text = (
            why if new is MemberState.LATE else f"group {group}: {old.value} → {new.value}{why and ': '}{why}"
        )
        self._news.append((level, text))  # reported when the lock is free again

    def _hook_log(self, *arguments: Any, **fields: Any) -> None:
        self._cluster.hooks.log(*arguments, **fields)

    def _hook_wire(self, *arguments: Any, **fields: Any) -> None:
        if self._cluster.hooks.wire is not None:
            self._cluster.hooks.wire(*arguments, **fields)

    def _changed(self) -> None:
        self.log_news()
        self._cluster.loop.wakeup()


def _weakly(method: Callable[..., None]) -> Callable[..., None]:
    """Wraps a method called by the heartbeat thread without keeping the consumer alive; does nothing once it is gone."""
    held = weakref.WeakMethod(method)

    def call(*arguments: Any, **fields: Any) -> None:
        found = held()
        if found is not None:
            found(*arguments, **fields)

    return call
