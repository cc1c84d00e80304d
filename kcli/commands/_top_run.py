"""What ``kcli top`` does: first contact, then the screen, which is loaded while the first reading is on its way.

Without Textual: that is loaded by ``_top_app.py``.
"""

from __future__ import annotations

import gc
from contextlib import closing
from typing import Any

from kcli.commands._top_contact import first_contact
from kcli.commands.shared.context import Invocation
from kcli.core.errors import ConfigError
from kcli.output.progress import counted


def run(inv: Invocation, flags: dict[str, Any]) -> int:
    """The exit status."""
    # What is read has no cycles, and is many objects: a search of them all for garbage would keep a key waiting. It comes
    # with every hundredth search of what is new, about twice a minute, in place of every tenth.
    gc.set_threshold(*gc.get_threshold()[:2], 100)
    if flags["replay"] is not None:
        from kcli.commands._top_app import replay  # loads Textual

        return replay(inv, flags)
    live = first_contact(inv, flags)
    if live is None:
        return inv.finish(done=False)
    with closing(live.feed) as feed:
        feed.begin()
        # Loads Textual; meanwhile the cluster answers.
        from kcli.commands._top_app import watch

        ended = watch(inv, flags, live)
    if feed.unrecorded:
        what = (
            f"{feed.unrecorded:,} of {counted(feed.unrecorded + feed.recorded, 'reading')} were not recorded"
        )
        why = f"{feed.record_failure}" if feed.record_failure is not None else ""
        inv.failed(
            ConfigError(f"{what} in {flags['record']}", why=why, do="free space, or record in another file"),
            partly=True,
        )
    return ended or inv.finish(done=True)
