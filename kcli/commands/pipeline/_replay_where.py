"""The records that ``--where`` chooses: a query of their offsets, on the session of the job."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kcli.commands.pipeline._query_run import source_columns
from kcli.commands.shared.context import Invocation
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.plan import Slice
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.spark.progress import shown_on
from kcli.pipeline.spark.query import Query
from kcli.pipeline.spark.runner import SparkRunner
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.pipeline.sql_text import Rewritten
from kcli.serde.names import SerdeSpecs


def select(
    inv: Invocation,
    runner: Runner,
    cluster: ClusterRef,
    slices: Sequence[Slice],
    query: Rewritten,
    stop: Stop,
) -> Mapping[int, list[int]]:
    """Partition → offsets of the chosen records."""
    assert isinstance(runner, SparkRunner)  # as ``with_runner`` has seen to
    settings = SourceSettings(
        cluster,
        topics=(slices[0].topic,),
        columns=source_columns(query.columns, SerdeSpecs()),
        packed=False,
        slices=tuple(slices),
        slots=runner.slots,
    )
    found: defaultdict[int, list[int]] = defaultdict(list)
    with inv.progress("selected", unit="tasks") as bar:
        for portion in Query(runner.session, settings, query, None).rows(stop, shown_on(bar)):
            for partition, offset in portion:
                found[partition].append(offset)
    return found
