"""Makes SIGTERM and SIGHUP end a command as orderly as Ctrl-C does, for commands that have to clean up."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from kcli.core.exit_codes import signalled


@contextmanager
def orderly_end() -> Iterator[None]:
    """Within the block both raise SystemExit with 128 + the signal; not where the parent ignores them (nohup)."""

    def leave(signum: int, _frame: object) -> None:
        raise SystemExit(signalled(signum))

    handled = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is not signal.SIG_IGN]
    before = {signum: signal.signal(signum, leave) for signum in handled}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
