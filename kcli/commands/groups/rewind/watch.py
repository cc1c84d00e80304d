"""What a watch after a live rewind waits for: a line on a terminal, one per 10 s in a pipe."""

import json
import os
import time
from collections.abc import Sequence
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.global_values import environment
from kcli.commands.shared.record_consumer import record_consumer
from kcli.core import clock
from kcli.core.admin.admin import Admin
from kcli.flows.rewind.offsets_log import OffsetsLog
from kcli.flows.rewind.text import awaited_text
from kcli.flows.rewind.watching import OpenPartition, Watcher
from kcli.output.progress import Progress, progress_style


class WatchProgress(Progress):
    """Shows what is open instead of how much is done."""

    def __init__(self, inv: Invocation, style: str) -> None:
        super().__init__(inv.talk, "watching", style=style, unit="partitions")
        self._open: Sequence[OpenPartition] = ()
        self._seconds_left = 0.0

    def show_open(self, partitions: Sequence[OpenPartition], seconds_left: float) -> None:
        """These partitions are open; the watch ends in ``seconds_left`` at most."""
        self._open, self._seconds_left = partitions, seconds_left
        self.update(len(partitions))

    def line(self, seconds: float, *, bar: bool = False) -> str:  # noqa: ARG002 - the duration is not known
        return awaited_text(self._open, self._seconds_left)

    def _document(self, seconds: float) -> str:
        found: dict[str, Any] = {
            "kind": "Progress",
            "title": self.title,
            "unit": self.unit,
            "open": len(self._open),
            "seconds": round(seconds, 3),
            "seconds_left": round(self._seconds_left, 1),
            "awaited": [
                {
                    "group": one.group,
                    "topic": one.partition.topic,
                    "partition": one.partition.partition,
                    "seconds_left": None if one.left is None else round(one.left, 1),
                }
                for one in self._open
            ],
        }
        return json.dumps(found)


def new_watcher(inv: Invocation, admin: Admin, bound: float | None) -> Watcher:
    """A watcher that shows what it waits for; ``bound`` as in ``Watcher``."""
    choice = inv.values.progress or environment("progress")
    style = progress_style(choice, inv.talk, dumb=os.environ.get("TERM") == "dumb")
    shown: list[WatchProgress] = []

    def on_open(partitions: Sequence[OpenPartition], seconds_left: float) -> None:
        if not shown:
            shown.append(WatchProgress(inv, style))
            shown[0].__enter__()
        shown[0].show_open(partitions, seconds_left)

    def on_end() -> None:
        if shown:
            shown.pop().close()

    history = OffsetsLog(admin, lambda: record_consumer(inv), inv.timeout).history
    return Watcher(
        bound=bound, now=clock.monotonic, sleep=time.sleep, on_open=on_open, on_end=on_end, history=history
    )
