"""The times between records of a plan's ranges, read by a consumer that is made when there is something to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcli.commands._context import Invocation
    from kcli.flows.rewind.looks import Spans


def spans(inv: Invocation) -> Spans:
    """See ``flows/rewind/spans.py``."""

    def read(ranges: Any) -> Any:
        from kcli.core.consumer.consumer import Consumer
        from kcli.core.options import ConsumerOptions
        from kcli.flows.rewind.spans import time_spans

        options = inv.client_options(
            ConsumerOptions,
            isolation_level="read_uncommitted",
            max_partition_fetch_bytes=1 << 16,
            fetch_max_wait_ms=100,
        )
        with Consumer(options, hooks=inv.hooks) as consumer:
            return time_spans(consumer, ranges)

    return read
