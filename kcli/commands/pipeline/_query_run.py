"""What ``kcli pipeline query`` does: reads the SQL, pins the ranges, and then has Spark run it (``_query_rows.py``)."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.commands.pipeline._job_run import cluster_of, with_runner
from kcli.commands.pipeline._ranges import wanted_range
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.usage import usage
from kcli.core.arrow.fields import RECORD_COLUMNS
from kcli.core.consumer.consumer import Consumer
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.pipeline.plan import pin
from kcli.pipeline.spark.source_settings import SOURCE_COLUMNS, SourceSettings
from kcli.pipeline.sql_text import Rewritten, rewrite
from kcli.serde.names import SerdeSpec, SerdeSpecs, parse_serdes
from kcli.serde.opening import open_serdes

_WITHOUT_SPARK = "`kcli consume TOPIC --where EXPR` filters without Spark"


class FolderExistsError(KcliError):
    """The folder of ``-o parquet`` is there."""

    exit_code = ExitCode.REFUSED


def run(inv: Invocation, topics: Sequence[str], sql: str, flags: Mapping[str, Any]) -> int:
    """Runs the query; returns the exit status."""
    if flags["runner"] not in (None, "spark"):
        raise usage(
            f"kcli pipeline query: --runner {flags['runner']}",
            why="a query is SQL, which Spark runs",
            do=f"leave --runner out; {_WITHOUT_SPARK}",
        )
    names, folder = _arguments(inv, topics)
    specs = parse_serdes(flags["serdes"])
    decoded = [part for part, spec in (("key", specs.key), ("value", specs.value)) if spec is not None]
    query = rewrite(sql, (*RECORD_COLUMNS, *(f"{part}_json" for part in decoded)), decoded)
    with_runner(inv, flags, "query", without_spark=_WITHOUT_SPARK)
    settings, cluster = pinned_source(
        inv, names, query, specs, wanted_range("query", since=flags["since"], until=flags["until"])
    )
    from kcli.commands.pipeline._query_rows import show  # pyspark: an extra

    return show(inv, settings, query, flags, cluster=cluster, folder=folder)


def _arguments(inv: Invocation, given: Sequence[str]) -> tuple[Sequence[str], str | None]:
    """The topics, and the folder of ``-o parquet``."""
    if inv.out.kind != "parquet":
        return given, None
    if len(given) < 2:
        raise usage(
            "kcli pipeline query: -o parquet without a folder",
            why="the last argument is the folder that is written",
            do=f"`kcli pipeline query {given[0]} --sql SQL -o parquet DIR`",
        )
    folder = given[-1] if "://" in given[-1] else os.path.abspath(given[-1])
    if os.path.lexists(folder):
        raise FolderExistsError(
            f"{given[-1]} exists already",
            why="a result is not mixed with other files",
            do="name a new folder",
        )
    return given[:-1], folder


def pinned_source(
    inv: Invocation, given: Sequence[str], query: Rewritten, specs: SerdeSpecs, range_: RangeSpec
) -> tuple[SourceSettings, str | None]:
    """What a query reads, pinned now; and the cluster's id."""
    topics = Topics(given)
    cluster = cluster_of(inv, inv.configuration)
    if specs:
        open_serdes(specs, inv.configuration.registry_options()).close()  # errors now, not in a task
    with Consumer(inv.client_options(ConsumerOptions), hooks=inv.hooks) as consumer:
        with inv.first_contact(cluster.servers):
            consumer.connect(inv.timeout)
        names = topics.existing(consumer, inv.timeout, inv.failed)
        slices = pin(consumer, names, range_, inv.timeout)
        cluster_id = consumer.cluster.view.cluster_id
    settings = SourceSettings(
        cluster,
        topics=tuple(names),
        columns=source_columns(query.columns, specs),
        packed=False,
        key_serde=_absolute(specs.key),
        value_serde=_absolute(specs.value),
        slices=tuple(slices),
    )
    return settings, cluster_id


def source_columns(words: Iterable[str], specs: SerdeSpecs) -> tuple[str, ...]:
    """The columns of ``source`` among the words of the SQL; at least one, since a schema needs one."""
    found = set(words)
    if not specs.key:
        found.discard("key_json")
    if not specs.value:
        found.discard("value_json")
    return tuple(name for name in SOURCE_COLUMNS if name in found) or ("offset",)


def _absolute(spec: SerdeSpec | None) -> str:
    """The serde as text, for tasks that run in other folders."""
    if spec is None:
        return ""
    arguments = {
        name: os.pathsep.join(map(os.path.abspath, text.split(os.pathsep)))
        if name in ("file", "import")
        else text
        for name, text in spec.arguments.items()
    }
    return str(SerdeSpec(spec.name, arguments))
