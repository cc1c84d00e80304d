"""What the target has behind the last record that a job knows of: read once no instance of the job can write any more."""

from collections.abc import Mapping

from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import KcliError
from kcli.core.hooks import Hooks
from kcli.core.options import WHOLE_BATCHES, ConsumerOptions
from kcli.core.records.passing import offsets_taken, rows_taken
from kcli.core.types import TopicPartition
from kcli.flows.mirror.proof.proof import Log, logs
from kcli.flows.mirror.settings import Cluster

_POLL = 0.2  # seconds


class Tail(NamedTuple):
    """``records``: how many committed records there are behind the last known one, and before offset ``end``.
    ``last_ms``: the time of that one, milliseconds since the epoch, −1 where the log does not have it any more.
    """

    records: int
    last_ms: int
    end: int


def read_tails(
    cluster: Cluster, admin: Admin, hooks: Hooks, known: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Tail]:
    """The tails of partitions; ``known``: the offset after the last known record of each. Raises the first error.

    An offset behind an open transaction is not before ``end``: what commits later is of others.
    """
    ends: dict[TopicPartition, Log] = {}
    for tp, log in logs(admin, known).items():
        if isinstance(log, KcliError):
            raise log
        ends[tp] = log
    records = dict.fromkeys(known, 0)
    times = dict.fromkeys(known, -1)
    spans = {
        tp: Span(first, log.stable)
        for tp, log in ends.items()
        if (first := max(log.start, known[tp] - 1)) < log.stable
    }
    options = cluster.options(
        ConsumerOptions,
        isolation_level="read_committed",
        max_poll_records=WHOLE_BATCHES,
        on_out_of_range="fail",
    )
    if spans:
        with Consumer(options, hooks=hooks) as reader:
            reader.assign(spans)
            while not reader.done:
                for tp, batch, first, stop, *_ in reader.poll(_POLL):
                    known_to = known[tp]
                    records[tp] += len(offsets_taken(batch, max(first, known_to), max(stop, known_to)))
                    if first < known_to and (rows := rows_taken(batch, max(first, known_to - 1), known_to)):
                        times[tp] = rows[-1][3]
    return {tp: Tail(records[tp], times[tp], max(ends[tp].stable, known[tp])) for tp in known}
