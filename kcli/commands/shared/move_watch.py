"""Waits for moves to end, and shows how far they are: a line on a terminal, one per 10 s in a pipe."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.global_values import environment
from kcli.core.admin.admin import Admin
from kcli.core.errors import KcliError
from kcli.core.types import TopicPartition
from kcli.flows.reassign.replicas import move_progress
from kcli.flows.stop import Stop
from kcli.output.progress import Progress, duration_text, progress_style, seconds_left, size_text

_INTERVAL = 0.5


class HowFar(Protocol):
    """What is being moved, and by partition the bytes to be copied, and those that are left."""

    @property
    def ongoing(self) -> Collection[TopicPartition]: ...
    @property
    def total(self) -> Mapping[TopicPartition, int]: ...
    @property
    def left(self) -> Mapping[TopicPartition, int]: ...


class MoveBar(Progress):
    """Partitions and bytes: how much is done, at which rate, how long it takes."""

    def __init__(self, inv: Invocation, total: int) -> None:
        choice = inv.values.progress or environment("progress")
        style = progress_style(choice, inv.talk, dumb=os.environ.get("TERM") == "dumb")
        super().__init__(inv.talk, "moved", style=style, total=total, unit="partitions")
        self.of_bytes = 0
        self._left: dict[TopicPartition, int] = {}
        self._total: dict[TopicPartition, int] = {}

    def show_state(self, found: HowFar) -> None:
        """The state now."""
        for tp, size in found.total.items():
            self._total[tp] = max(size, self._total.get(tp, 0))
        self._left |= found.left
        left = sum(size for tp, size in self._left.items() if tp in found.ongoing)
        self.of_bytes = sum(self._total.values())
        copied = max(0, self.of_bytes - left)
        share = copied / self.of_bytes if self.of_bytes else None
        self.update((self.total or 0) - len(found.ongoing), copied, share)

    def line(self, seconds: float, *, bar: bool = False) -> str:  # noqa: ARG002 - the same in both
        parts = [f"{self.title} {self.done:,} of {self.total:,} {self.unit}"]
        if self.of_bytes:
            rate = f"{size_text(self.bytes / seconds)}/s"
            parts.append(f"{size_text(self.bytes)} of {size_text(self.of_bytes)} ({rate})")
        if self.share is not None:
            left = seconds_left(seconds, self.share)
            parts += [f"{100 * self.share:.0f} %", *([] if left is None else [f"{duration_text(left)} left"])]
        return ", ".join(parts)

    def _share(self) -> float | None:
        return self.share if self.share is not None else super()._share()


_REMAIN = (
    "stopped watching; the partitions are still being moved, and a throttle stays until they are done:\n"
    "  kcli reassign status --watch   shows them, and removes the throttle at the end\n"
    "  kcli reassign cancel --all     cancels them"
)

_REMAIN_DIRECTORIES = (
    "stopped watching; the replicas are still being moved, and a throttle stays until they are done:\n"
    "  the same line goes on, and removes the throttle at the end\n"
    "  kcli reassign status           removes it, too"
)


def wait_for_moves(
    inv: Invocation,
    admin: Admin,
    partitions: Collection[TopicPartition],
    remain: str = _REMAIN,
    progress: Callable[[Admin, Collection[TopicPartition]], HowFar] = move_progress,
) -> int:
    """Waits until none of these is being moved. Returns 0, or the exit status of the signal that ended the watching.

    ``remain`` is said where the watching ends early: what goes on, and how to see it. ``progress`` reads how far it is.
    """
    bar = MoveBar(inv, len(partitions))
    with Stop() as stop, bar:
        while not stop:
            try:
                found = progress(admin, partitions)
            except KcliError:
                bar.close()
                inv.talk.plain(remain)
                raise
            if not found.ongoing:
                return 0
            bar.show_state(found)
            admin.cluster.sleep(_INTERVAL)
        bar.close()
        inv.talk.plain(remain)
        return stop.exit_code


def wait_for_directories(
    inv: Invocation, admin: Admin, broker: int, partitions: Collection[TopicPartition]
) -> int:
    """The same for replicas that are being moved between the log directories of a broker."""
    from kcli.flows.brokers.move_log_dir import dir_progress  # not for moves between brokers

    return wait_for_moves(
        inv,
        admin,
        partitions,
        _REMAIN_DIRECTORIES,
        lambda client, moving: dir_progress(client, broker, moving),
    )
