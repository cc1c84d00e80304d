"""What the flags of ``kcli pipeline export`` mean, and which client options are not its user's to choose."""

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.commands.pipeline._ranges import check_slices, wanted_range
from kcli.core.options import ConsumerOptions, own_option_names
from kcli.core.positions import RangeSpec
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
FIXED = dict.fromkeys(
    own_option_names(ConsumerOptions) - _OF_TASKS, ("what a job reads follows from its flags", "leave it out")
)


def export_request(topics: Sequence[str], flags: Mapping[str, Any]) -> Request:
    """What the command line asks for, in its own words."""
    words = {
        name: None if flags[name] is None else flags[name].text
        for name in ("partitions", "offset", "since", "until")
    }
    return Request(sorted(set(topics)), **words)


def export_range(flags: Mapping[str, Any]) -> RangeSpec:
    """What these words mean now; a usage error for contradictions."""
    offset, since, until = (
        None if flags[name] is None else flags[name].value for name in ("offset", "since", "until")
    )
    spec = wanted_range("export", offset=offset, since=since, until=until)
    check_slices("export", spec, continuous=flags["continuous"], sliced=flags["interval"] is not None)
    return spec
