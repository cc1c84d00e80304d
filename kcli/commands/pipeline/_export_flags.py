"""What the flags of ``kcli pipeline export`` mean, and which client options are not its user's to choose."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from kcli.core.options import ClientOptions, ConsumerOptions
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.pipeline.manifest import Request

_OF_TASKS = frozenset(
    {
        "check_crcs",
        "client_rack",
        "fetch_buffer_bytes",
        "fetch_max_bytes",
        "fetch_max_wait_ms",
        "fetch_min_bytes",
        "max_decompressed_batch_bytes",
        "max_partition_fetch_bytes",
    }
)
"""The options of a consumer that a job leaves to its user: how fetching is done, and not what is read."""
FIXED = {
    field.name: ("what a job reads follows from its flags", "leave it out")
    for field in dataclasses.fields(ConsumerOptions)
    if field.name not in {common.name for common in dataclasses.fields(ClientOptions)} | _OF_TASKS
}


def export_request(topics: Sequence[str], flags: Mapping[str, Any]) -> Request:
    """What the command line asks for, in its own words."""
    words = {
        name: None if flags[name] is None else flags[name].text
        for name in ("partitions", "offset", "since", "until")
    }
    return Request(sorted(set(topics)), **words)


def export_range(flags: Mapping[str, Any]) -> RangeSpec:
    """What these words mean now."""
    offset: RangeSpec = RangeSpec(None) if flags["offset"] is None else flags["offset"].value
    start, stop = offset.start, offset.stop
    if flags["since"] is not None:
        start = OffsetSpec("timestamp", flags["since"].value)
    if flags["until"] is not None:
        stop = OffsetSpec("timestamp", flags["until"].value)
    return RangeSpec(start or OffsetSpec("earliest"), stop)
