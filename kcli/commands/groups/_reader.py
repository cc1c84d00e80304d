"""A consumer for a few records here and there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcli.commands.shared.context import Invocation
    from kcli.core.consumer.consumer import Consumer

_FETCH_BYTES = 262_144


def reader(inv: Invocation) -> Consumer:
    """Of no group, and in small pieces; a context manager."""
    from kcli.core.consumer.consumer import Consumer
    from kcli.core.options import WHOLE_BATCHES, ConsumerOptions

    options = inv.inner_options(
        ConsumerOptions,
        group_id="",
        enable_auto_commit=False,
        isolation_level="read_committed",
        max_poll_records=WHOLE_BATCHES,
        max_partition_fetch_bytes=_FETCH_BYTES,
        fetch_max_bytes=4 * _FETCH_BYTES,
    )
    return Consumer(options, hooks=inv.hooks)
