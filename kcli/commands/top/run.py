"""What ``kcli top`` does: first contact, then the screen, which is loaded while the first reading is on its way.

Without Textual: that is loaded by ``app.py``.
"""

from __future__ import annotations

import gc
import sys
from contextlib import closing

from kcli.commands.shared.context import Invocation
from kcli.commands.top.contact import first_contact
from kcli.commands.top.options import TopOptions
from kcli.core.errors import ConfigError
from kcli.output.progress import counted


def run(inv: Invocation, asked: TopOptions) -> int:
    """The exit status."""
    # What is read has no cycles, and is many objects: a search of them all for garbage would keep a key waiting. It comes
    # with every hundredth search of what is new, about twice a minute, in place of every tenth.
    gc.set_threshold(*gc.get_threshold()[:2], 100)
    _load_asyncio()
    if asked.replay is not None:
        from kcli.commands.top.app import replay  # loads Textual

        return replay(inv, asked.replay, asked)
    live = first_contact(inv, asked)
    if live is None:
        return inv.finish(done=False)
    with closing(live.feed) as feed:
        feed.begin()
        # Loads Textual; meanwhile the cluster answers.
        from kcli.commands.top.app import watch

        ended = watch(inv, asked, live)
    if feed.unrecorded:
        what = (
            f"{feed.unrecorded:,} of {counted(feed.unrecorded + feed.recorded, 'reading')} were not recorded"
        )
        why = f"{feed.record_failure}" if feed.record_failure is not None else ""
        inv.failed(
            ConfigError(f"{what} in {asked.record}", why=why, do="free space, or record in another file"),
            partly=True,
        )
    return ended or inv.finish(done=True)


def _load_asyncio() -> None:
    """asyncio does without OpenSSL where Python has none, and so it is told: it makes no connections here, and OpenSSL
    takes 4 MB. Before there are threads; connections to brokers over TLS load it as always.
    """
    if "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        import asyncio  # noqa: F401 - for Textual
    finally:
        del sys.modules["ssl"]
