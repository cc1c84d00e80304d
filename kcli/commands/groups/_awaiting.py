"""What is waited for while the members of a rewound group are watched: a line on a terminal, one per 10 s in a pipe."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kcli.output.progress import Progress, progress_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcli.commands.shared.context import Invocation
    from kcli.core.admin.admin import Admin
    from kcli.flows.groups.group_history import GroupHistory
    from kcli.flows.rewind.watching import Open, Watcher


class Awaiting(Progress):
    """Shows what is open instead of how much is done."""

    def __init__(self, inv: Invocation, style: str) -> None:
        super().__init__(inv.talk, "watching", style=style, unit="partitions")
        self._left: Sequence[Open] = ()
        self._seconds_left = 0.0

    def told(self, left: Sequence[Open], seconds_left: float) -> None:
        """These partitions are open, for so long at most."""
        self._left, self._seconds_left = left, seconds_left
        self.update(len(left))

    def line(self, seconds: float, *, bar: bool = False) -> str:  # noqa: ARG002 - how long is not known
        from kcli.commands.groups._rewind_text import awaited_text

        return awaited_text(self._left)

    def _document(self, seconds: float) -> str:
        import json

        found: dict[str, Any] = {
            "kind": "Progress",
            "title": self.title,
            "unit": self.unit,
            "open": len(self._left),
            "seconds": round(seconds, 3),
            "seconds_left": round(self._seconds_left, 1),
            "awaited": [
                {
                    "group": one.group,
                    "topic": one.partition.topic,
                    "partition": one.partition.partition,
                    "seconds_left": None if one.left is None else round(one.left, 1),
                }
                for one in self._left
            ],
        }
        return json.dumps(found)


def new_watcher(inv: Invocation, admin: Admin, bound: float) -> Watcher:
    """Which shows what it waits for, for ``bound`` seconds at most."""
    import time

    from kcli.commands.groups._live import read_history
    from kcli.commands.shared.global_values import environment
    from kcli.core import clock
    from kcli.flows.rewind.watching import Watcher

    choice = inv.values.progress or environment("progress")
    style = progress_style(choice, inv.talk, dumb=os.environ.get("TERM") == "dumb")
    shown: list[Awaiting] = []

    def told(left: Sequence[Open], seconds_left: float) -> None:
        if not shown:
            shown.append(Awaiting(inv, style))
            shown[0].__enter__()
        shown[0].told(left, seconds_left)

    def over() -> None:
        if shown:
            shown.pop().close()

    def logged(group: str, since_ms: int) -> GroupHistory | None:
        return read_history(inv, admin, group, since_ms=since_ms)

    return Watcher(bound=bound, now=clock.monotonic, sleep=time.sleep, told=told, over=over, logged=logged)
