"""The rows of a query: Spark runs it, and they are printed as they come, or written as Parquet files."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kcli.commands.pipeline._job_run import spark_conf
from kcli.commands.shared.context import Invocation
from kcli.flows.stop import Stop
from kcli.output.listing import DOCUMENTS, list_rows
from kcli.output.progress import Progress, counted
from kcli.output.tables import Column
from kcli.pipeline.result_values import item_maker, with_text_cells
from kcli.pipeline.spark.conf import LIGHT, SQL
from kcli.pipeline.spark.progress import shown_on
from kcli.pipeline.spark.query import Query
from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.source_settings import SourceSettings
from kcli.pipeline.spark.undecoded import undecoded_warnings
from kcli.pipeline.sql_text import Rewritten

KIND, ITEM = "QueryResult", "QueryRow"
_COMPILED = 5_000_000
"""Offsets from which on Java's optimizing compiler is worth its start: 7 CPU-seconds."""
_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double"})


def show(
    inv: Invocation,
    settings: SourceSettings,
    query: Rewritten,
    flags: Mapping[str, Any],
    *,
    cluster: str | None,
    folder: str | None,
) -> int:
    """Runs the query; returns the exit status."""
    with (
        Stop() as stop,
        session_of(inv, flags, profile_for(settings)) as session,
        inv.progress("queried", unit="tasks") as bar,
    ):
        found = Query(session, replace(settings, slots=session.slots), query, flags["limit"])
        if folder is not None and inv.dry_run:
            inv.talk.note(f"the query is valid; its result would be written to {folder}")
        elif folder is not None:
            found.write_parquet(folder, stop, shown_on(bar))
            _warn_undecoded(inv, found, settings)
            inv.talk.note(f"wrote {folder}")
        else:
            _print(inv, found, settings, cluster, stop, bar)
        return inv.finish(done=True, also=[stop.exit_code])


def profile_for(settings: SourceSettings) -> str:
    """The profile of the JVM for what is read: one that starts quickly, or one that is fast in the end."""
    return LIGHT if sum(each.offsets for each in settings.slices or ()) < _COMPILED else SQL


def session_of(inv: Invocation, flags: Mapping[str, Any], profile: str) -> Session:
    """A session for SQL."""
    return Session(
        master=flags["master"],
        local=flags["local"],
        conf=spark_conf(flags),
        java_home=flags["java_home"],
        profile=profile,
        warn=inv.talk.warn,
        note=inv.talk.note,
    )


def _print(
    inv: Invocation,
    found: Query,
    settings: SourceSettings,
    cluster: str | None,
    stop: Stop,
    bar: Progress,
) -> None:
    item = item_maker(found.columns)
    shown = inv.out.list_kind()
    columns = []
    for name, kind in found.columns:
        columns.append(Column(name, "time" if kind == "timestamp" else "id" if kind in _NUMBERS else "text"))
        if kind == "binary" and shown in ("csv", "tsv"):
            columns.append(Column(f"{name}_encoding"))
    head = {"columns": [column.name for column in found.columns]}
    rows = list_rows(
        inv.out,
        KIND,
        ITEM,
        columns,
        cluster=cluster,
        warnings=inv.talk.warnings,
        missing=inv.missing,
        head=head,
    )
    with rows:
        for portion in found.rows(stop, shown_on(bar)):
            _clear_the_way(inv, bar)
            for row in portion:
                rows.add(item(row) if shown in DOCUMENTS else with_text_cells(item(row)))
        _clear_the_way(inv, bar)
        _warn_undecoded(inv, found, settings)  # a document of JSON ends with the warnings
    inv.talk.detail(counted(rows.count, "row"))


def _clear_the_way(inv: Invocation, bar: Progress) -> None:
    """On a terminal rows follow where the progress was."""
    if inv.out.isatty:
        bar.close()


def _warn_undecoded(inv: Invocation, found: Query, settings: SourceSettings) -> None:
    serdes = {"key": settings.key_serde, "value": settings.value_serde}
    for text in undecoded_warnings(found.undecoded, serdes):
        inv.talk.warn(text)
