"""A consumer that reads a few records at given offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.commands.shared.context import Invocation
from kcli.core.hooks import Hooks
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer

_FETCH_BYTES = 262_144


def record_consumer(inv: Invocation, hooks: Hooks | None = None) -> Consumer:
    """``hooks``: other than those of the run. Without a group, read_committed, with small fetches; a context manager."""
    # The largest client: commands that may need it load it only then.
    from kcli.core.consumer.consumer import Consumer

    options = inv.inner_options(
        ConsumerOptions,
        group_id="",
        enable_auto_commit=False,
        isolation_level="read_committed",
        max_poll_records=WHOLE_BATCHES,
        max_partition_fetch_bytes=_FETCH_BYTES,
        fetch_max_bytes=4 * _FETCH_BYTES,
    )
    return Consumer(options, hooks=inv.hooks if hooks is None else hooks)
