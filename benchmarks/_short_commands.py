"""The short commands whose start-up is measured and counted, on a fake cluster that runs in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kcli.core.records.builder import BatchBuilder
from tests.fake.cluster import FakeCluster
from tests.fake.many_groups import ManyGroups

_TOPIC, _GROUP = "orders", "group-00000"

COMMANDS: dict[str, list[str]] = {
    "--version": ["--version"],
    "--help": ["--help"],
    "topics list": ["topics", "list"],
    "groups lag": ["groups", "lag"],
    "groups lag G": ["groups", "lag", _GROUP],
    "consume -n 1": ["consume", _TOPIC, "-n", "1", "-o", "value", "--from-beginning", "-q"],
    "produce, one record": ["produce", _TOPIC, "-q"],
}
"""By name, the words after ``-b``. What reads stdin gets ``INPUT``."""
INPUT = b"a record\n"


@contextmanager
def cluster() -> Iterator[str]:
    """The address of a broker with a topic of two records, and two groups."""
    with FakeCluster(1, deep_check=False, fetch_sessions=True) as made:
        made.create_topic(_TOPIC, 1)
        builder = BatchBuilder(room=10_000)
        builder.append_lines([b"one", b"two"], 0, 1_700_000_000_000)
        made.append(_TOPIC, 0, b"".join(builder.wire()))
        ManyGroups(made, 2, 2, topics=1, members=0)
        yield made.bootstrap
