"""``kcli pipeline query``: query topics by SQL."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from kcli.commands.pipeline.following import check_follow, follow_query
from kcli.commands.pipeline.jobs import READS, chosen_runner, own_cluster, wanted_range
from kcli.commands.pipeline.query_options import QueryOptions, query_options
from kcli.commands.pipeline.query_rows import clear_the_way, result_rows
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.from_dir import check_ends
from kcli.commands.shared.options import TOPIC, option
from kcli.commands.shared.shown import Shown
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.usage import usage
from kcli.core.classes import replace
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ConsumerOptions
from kcli.flows.stop import Stop
from kcli.output.progress import Progress, counted
from kcli.pipeline.store.urls import canonical

if TYPE_CHECKING:
    from kcli.pipeline.drivers.duckdb_sql import QueriedHere
    from kcli.pipeline.drivers.sql import Queried

_WITHOUT_SPARK = "`kcli consume TOPIC --where EXPR` filters without Spark"


class FolderExistsError(KcliError):
    """The folder of ``-o parquet`` is there."""

    exit_code = ExitCode.REFUSED


OUTPUTS = ("table", "plain", "tsv", "csv", "json", "ndjson", "yaml", "parquet")


@command(
    "query",
    reads=READS,
    outputs=OUTPUTS,
    examples=(
        (
            'kcli pipeline query orders --sql "select partition, count(*) from source group by all"',
            "count records",
        ),
        (
            'kcli pipeline query orders --sql "select value:customer.id id, sum(value:amount::double) total '
            'from source group by all order by total desc" --limit 10',
            "fields of JSON values: the ten best customers",
        ),
        (
            "kcli pipeline query orders --sql \"select * from source where key = '4711'\" --since 2d -o ndjson",
            "all records with a key, of two days",
        ),
        (
            'kcli pipeline query orders -s value=avro --sql "select value:status, count(*) from source group by all"',
            "Avro values",
        ),
        (
            'kcli pipeline query orders --sql "select * from source" -o parquet out/',
            "the result as Parquet files",
        ),
        (
            "kcli pipeline query orders --sql \"select tumble(timestamp, '1 minute') as w, count(*) "
            'from source group by 1" --follow',
            "records of each minute, when it is over",
        ),
    ),
)
@click.argument("topics", nargs=-1, required=True, type=TOPIC, metavar="TOPIC… [DIR]")
@option(
    "--sql", required=True, metavar="SQL", help="the query, in Spark SQL; the records are the table source"
)
@query_options
@pass_invocation
def query(inv: Invocation, /, **given: Any) -> int:
    """Query topics by SQL, as they are now, on DuckDB or Spark.

    source has the columns topic, partition, offset, timestamp, timestamp_type, key, value, headers, leader_epoch, and
    key_text and value_text, which are null where the bytes are not UTF-8.

    value:a.b is the text at a path of the value's JSON; value:items[0].sku, value:['a b'] and value:n::int work too,
    and the same for key. With -s there are value_json and key_json, and paths lead into what was decoded.

    Only the columns that occur are read, and conditions on topic, partition, offset, timestamp and key limit what is
    read. With -o parquet the last argument is a folder, which is created.

    Each TOPIC is a table too, in backticks where SQL needs them. tumble(timestamp, '1 minute') is the start of a window
    of time, window_start and window_end are those of that window. With --follow such a window is printed when it closes,
    and rows of a query without aggregates are printed as they come.

    DuckDB runs in this process, with threads (--local). It has the functions whose results are those of Spark; a query
    with others runs on Spark, if that is installed.
    """
    asked = QueryOptions(**given)
    topics, folder = _arguments(inv, asked.topics)
    return run_query(inv, replace(asked, topics=topics), folder)


def run_query(inv: Invocation, asked: QueryOptions, folder: str | None) -> int:
    """Runs the query on the engine that it asks for, or that fits; its rows are printed, or go to the ``folder``."""
    how = asked.tasks
    if how.runner not in (None, "spark"):
        raise usage(
            f"kcli pipeline query: --runner {how.runner}",
            why="a query is SQL, which DuckDB or Spark runs",
            do=f"leave --runner out; {_WITHOUT_SPARK}",
        )
    # Clients are loaded when the command runs.
    from kcli.pipeline.drivers.engines import AUTO, DUCKDB, SPARK, chosen_engine, fitting_engine
    from kcli.pipeline.drivers.query import parsed, pinned_source

    wanted = asked.engine
    of_spark = ["--runner spark"] if how.runner else list(how.of_spark)
    if of_spark and wanted == DUCKDB:
        raise usage(
            f"kcli pipeline query: {of_spark[0]} with --engine duckdb",
            why=f"{of_spark[0]} is a setting of Spark",
            do="leave one of them out",
        )
    check_follow(asked, of_spark, folder)
    sql, specs = parsed(asked.sql, asked.serdes, asked.topics)
    inv.configuration.check_registry_used(asked.serdes)
    decoded = [f"{part}_json" for part in ("key", "value") if getattr(specs, part) is not None]
    if asked.follow:
        check_ends(inv.resolved, "query", "--follow")
        return follow_query(inv, asked, sql, specs, decoded)
    engine = chosen_engine(SPARK if of_spark else wanted, sql, decoded, folder, inv.talk.note)
    if engine == SPARK:
        chosen_runner(inv, how, "query", without_spark=_WITHOUT_SPARK)
    exact = asked.exact_times
    range_ = wanted_range("query", since=asked.since, until=asked.until, exact_times=exact)
    existing = Topics(asked.topics, "pipeline query").existing
    # On DuckDB nothing leaves this process: secrets of the command line and of a question are in the clients' options.
    cluster = own_cluster(inv, travels=engine == SPARK).ref
    options = inv.client_options(ConsumerOptions)
    registry = inv.configuration.registry_options
    source, cluster_id = pinned_source(
        Shown(inv), cluster, registry, options, existing, sql, specs, range_, exact_times=exact
    )
    offsets = sum(each.offsets for each in source.slices or ())
    begun, engine = engine, fitting_engine(wanted if not of_spark else SPARK, engine, offsets, inv.talk.note)
    if engine != begun:
        source = replace(source, cluster=own_cluster(inv).ref)
    assert engine != AUTO
    if engine == DUCKDB:
        # duckdb: an extra.
        from kcli.pipeline.drivers.duckdb_sql import QueriedHere

        with (
            Stop() as stop,
            inv.progress("queried") as bar,
            QueriedHere(source, options, registry, sql, asked.limit, bar, threads=how.local) as here,
        ):
            return _run(inv, here, folder, cluster_id, stop, bar)
    # pyspark: an extra.
    from kcli.pipeline.drivers.sql import Queried, session_of

    session_with = session_of(
        source,
        master=how.master,
        local=how.local,
        conf=how.conf,
        java_home=how.java_home,
        warn=inv.talk.warn,
        note=inv.talk.note,
    )
    with Stop() as stop, session_with as session, inv.progress("queried", unit="tasks") as bar:
        return _run(inv, Queried(session, source, sql, asked.limit, bar), folder, cluster_id, stop, bar)


def _run(
    inv: Invocation,
    found: Queried | QueriedHere,
    folder: str | None,
    cluster_id: str | None,
    stop: Stop,
    bar: Progress,
) -> int:
    if folder is not None and inv.dry_run:
        inv.talk.note(f"the query is valid; its result would be written to {folder}")
    elif folder is not None:
        found.write_parquet(folder, stop)
        for text in found.undecoded():
            inv.talk.warn(text)
        inv.talk.note(f"wrote {folder}")
    else:
        rows = result_rows(inv, found.columns, cluster_id)
        with rows:
            for portion in found.rows(stop):
                clear_the_way(inv, bar)
                rows.add_portion(portion)
            clear_the_way(inv, bar)
            for text in found.undecoded():  # a document of JSON ends with the warnings
                inv.talk.warn(text)
        inv.talk.detail(counted(rows.rows.count, "row"))
    return inv.finish(done=True, also=[stop.exit_code])


def _arguments(inv: Invocation, given: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """The topics, and the folder of ``-o parquet``."""
    if inv.out.kind != "parquet":
        return given, None
    if len(given) < 2:
        raise usage(
            "kcli pipeline query: -o parquet without a folder",
            why="the last argument is the folder that is written",
            do=f"`kcli pipeline query {given[0]} --sql SQL -o parquet DIR`",
        )
    return given[:-1], new_folder(given[-1])


def new_folder(given: str) -> str:
    """The folder of ``-o parquet``; FolderExistsError."""
    folder = given if "://" in given else canonical(given)  # Spark has schemes of its own
    if os.path.lexists(folder):
        raise FolderExistsError(
            f"{given} exists already",
            why="a result is not mixed with other files",
            do="name a new folder",
        )
    return folder
