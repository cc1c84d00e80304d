"""The jobs that are compared. Each runs in a host process, with its session of Spark, and returns a number of records.

A source or sink is the name of a format of Spark and its options, so the same job serves the connector and kcli.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.pipeline._host import SLOTS
from kcli.core.consumer.consumer import Consumer
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.core.types import TopicPartition
from kcli.flows.stop import Stop
from kcli.pipeline.cluster_ref import ClusterRef
from kcli.pipeline.drivers.query import source_columns
from kcli.pipeline.export_plan import planned_slices
from kcli.pipeline.job import Job
from kcli.pipeline.kernels.compare import CompareSettings, CompareTask
from kcli.pipeline.kernels.copy import CopySettings, CopyTask
from kcli.pipeline.kernels.export import ExportSettings
from kcli.pipeline.plan import Slice, pin, split
from kcli.pipeline.runners.processes import ProcessesRunner
from kcli.pipeline.runners.runner import Runner
from kcli.pipeline.spark.query import Query
from kcli.pipeline.spark.runner import SparkRunner
from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.source import register
from kcli.pipeline.spark.source_settings import SOURCE_COLUMNS, SourceSettings
from kcli.pipeline.sql_text import rewrite
from kcli.serde.names import parse_serdes

_TIMEOUT = 30.0
Format = tuple[str, Mapping[str, str]]

# --- data frames ------------------------------------------------------------------------------------


def read_to_nothing(session: Session, source: Format) -> int:
    """Reads all rows, and writes them nowhere."""
    _frame(session, source).write.format("noop").mode("overwrite").save()
    return 0


def read_to_parquet(session: Session, source: Format, folder: str) -> int:
    """Writes all rows with Spark's own Parquet writer."""
    _frame(session, source).write.option("compression", "zstd").parquet(folder)
    return 0


def write(session: Session, source: Format, sink: Format) -> int:
    """Writes keys and values to a topic."""
    name, options = sink
    frame = _frame(session, source).select("key", "value")
    frame.write.format(name).options(**options).mode("append").save()
    return 0


def query(session: Session, bootstrap: str, topic: str, sql: str) -> int:
    """As ``kcli pipeline query``; returns the number of rows."""
    found = rewrite(sql, [name for name in SOURCE_COLUMNS if not name.endswith("_json")], ())
    with _pinned(bootstrap, topic) as (_, slices):
        settings = SourceSettings(
            _cluster(bootstrap),
            topics=(topic,),
            columns=source_columns(found.columns, parse_serdes(())),
            packed=False,
            slots=session.slots,
            slices=tuple(slices),
        )
    rows = Query(session, settings, found, None).rows(Stop(), lambda _counts: None)
    return sum(len(portion) for portion in rows)


def grouped(session: Session, source: Format) -> int:
    """Records counted by a field of their JSON; returns the number of groups."""
    value = "get_json_object(cast(value AS string), '$.{}')"
    fields = _frame(session, source).selectExpr(
        f"{value.format('status')} AS status", f"cast({value.format('amount')} AS double) AS amount"
    )
    return len(fields.groupBy("status").agg({"*": "count", "amount": "sum"}).collect())


def _frame(session: Session, source: Format) -> Any:
    name, options = source
    register(session.sql)
    return session.sql.read.format(name).options(**options).load()


# --- kernels ----------------------------------------------------------------------------------------


def export(session: Session, bootstrap: str, topic: str, folder: str, *, processes: bool) -> int:
    """As ``kcli pipeline export``, without its manifest."""
    with _pinned(bootstrap, topic) as (_, slices):
        tasks = planned_slices(split(slices, SLOTS))
    settings = ExportSettings(_cluster(bootstrap), folder, "parquet")
    return _run(session, Job("export", settings, tuple(tasks)), "records", processes=processes)


def mirror(
    session: Session, bootstrap: str, topic: str, copy: str, *, exactly_once: bool, processes: bool
) -> int:
    """As ``kcli pipeline mirror``, to a topic of the same cluster that exists."""
    with _pinned(bootstrap, topic) as (cluster, slices):
        tasks = [CopyTask(one, TopicPartition(copy, one.partition), len(slices)) for one in slices]
    ref = _cluster(bootstrap)
    settings = CopySettings(ref, ref, cluster, copy, uuid.uuid4().hex, exactly_once)
    return _run(session, Job("copy", settings, tuple(tasks)), "records", processes=processes)


def digest(session: Session, bootstrap: str, topic: str, copy: str) -> int:
    """As ``kcli pipeline verify``."""
    with _pinned(bootstrap, topic) as (_, ours), _pinned(bootstrap, copy) as (_, theirs):
        tasks = [CompareTask(one, other) for one, other in zip(ours, theirs, strict=True)]
    ref = _cluster(bootstrap)
    job = Job("compare", CompareSettings(ref, ref, locate=False), tuple(tasks))
    return _run(session, job, "compared_records", processes=False)


def _run(session: Session, job: Job, counted: str, *, processes: bool) -> int:
    runner: Runner = ProcessesRunner(SLOTS) if processes else SparkRunner(session)
    count = 0
    for result in runner.run(job, on_progress=lambda _done: None, stop=Stop()):
        if result.error is not None:
            raise result.error.error()
        assert result.item is not None
        count += result.item[counted] if result.item.get("equal", True) else 0
    return count


def _cluster(bootstrap: str) -> ClusterRef:
    return ClusterRef({"bootstrap_servers": bootstrap}, {}, {}, {})


@contextmanager
def _pinned(bootstrap: str, topic: str) -> Iterator[tuple[str, Sequence[Slice]]]:
    """The id of the cluster, and all ranges of a topic."""
    with Consumer(_cluster(bootstrap).options(ConsumerOptions)) as consumer:
        consumer.connect(_TIMEOUT)
        yield (
            consumer.cluster.view.cluster_id or "",
            pin(consumer, [topic], RangeSpec(None), _TIMEOUT),
        )
