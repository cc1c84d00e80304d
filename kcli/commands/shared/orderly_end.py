"""SIGTERM and SIGHUP as orderly as Ctrl-C, for commands that leave something behind if they just die."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def orderly_end() -> Iterator[None]:
    """Either raises SystemExit in the block, with the status for it; not where the parent has it ignored (nohup)."""

    def leave(signum: int, _frame: object) -> None:
        raise SystemExit(128 + signum)

    heeded = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is not signal.SIG_IGN]
    before = {signum: signal.signal(signum, leave) for signum in heeded}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
