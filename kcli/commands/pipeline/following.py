"""``--follow`` of ``kcli query``: rows as records arrive, and the account of what was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing
from kcli.commands.pipeline.jobs import own_cluster, wanted_range
from kcli.commands.pipeline.query_options import QueryOptions
from kcli.commands.pipeline.query_rows import result_rows
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.shown import Shown
from kcli.commands.shared.topic_choice import Topics
from kcli.commands.shared.usage import usage
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError, TimedOutError
from kcli.core.options import ConsumerOptions
from kcli.core.positions import OffsetSpec, RangeSpec, check_times
from kcli.flows.stop import Stop
from kcli.output.progress import counted
from kcli.output.tables import time_text

if TYPE_CHECKING:
    from kcli.pipeline.duckdb.follow import FollowAccount
    from kcli.pipeline.sql_text import Rewritten
    from kcli.serde.names import SerdeSpecs

_IDLE = 10.0  # seconds


def check_follow(asked: QueryOptions, of_spark: Sequence[str], folder: str | None) -> None:
    """Usage errors for what does not go with ``--follow``, and for its options without it."""
    if not asked.follow:
        for flag, given in (
            ("--late", asked.late),
            ("--idle-after", asked.idle_after),
            ("--idle-timeout", asked.idle_timeout),
        ):
            if given is not None:
                raise usage(
                    f"kcli query: {flag} without --follow",
                    why="a query of what is there now does not wait",
                    do=f"add --follow, or leave {flag} out",
                )
        return
    wrong = [
        ("-o parquet", folder is not None, "a folder of Parquet is complete when the query ends"),
        ("--exact-times", asked.exact_times, "records are read as they arrive, whatever their times are"),
        ("--engine spark", asked.engine == "spark", "DuckDB follows topics; a query on Spark ends"),
        *((flag, True, "DuckDB follows topics; a query on Spark ends") for flag in of_spark),
    ]
    for flag, given, why in wrong:
        if given:
            raise usage(f"kcli query: {flag} with --follow", why=why, do="leave one of them out")


def follow_query(
    inv: Invocation, asked: QueryOptions, sql: Rewritten, specs: SerdeSpecs, decoded: Sequence[str]
) -> int:
    """Runs the query until something ends it; prints rows as they come, and what was read."""
    # sqlglot and duckdb: extras. Clients are loaded when the command runs.
    from kcli.pipeline.drivers.engines import followed_query
    from kcli.pipeline.drivers.query import pinned_source

    followed = followed_query(sql, decoded)
    until = None if asked.until is None else OffsetSpec("timestamp", asked.until)
    range_ = wanted_range("query", since=asked.since, until=None)
    check_times(RangeSpec(range_.start, until), wall_ms(), "kcli query", since="--since")
    cluster = own_cluster(inv, travels=False).ref
    options = inv.client_options(ConsumerOptions)
    registry = inv.configuration.registry_options
    source, cluster_id = pinned_source(
        Shown(inv),
        cluster,
        registry,
        options,
        Topics(asked.topics, "pipeline query").existing,
        sql,
        specs,
        range_,
    )
    # duckdb: an extra.
    from kcli.pipeline.drivers.duckdb_follow import FollowedHere
    from kcli.pipeline.duckdb.follow import FollowLimits

    limits = FollowLimits(
        late=asked.late or 0.0,
        idle=_IDLE if asked.idle_after is None else asked.idle_after,
        until_ms=asked.until,
        limit=asked.limit,
        idle_timeout=asked.idle_timeout,
    )
    tail: dict[str, object] = {}
    with (
        Stop() as stop,
        inv.progress("followed") as bar,
        FollowedHere(
            source, options, registry, followed, limits, bar, inv.talk.warn, threads=asked.tasks.local
        ) as here,
    ):
        if inv.out.isatty:
            bar.style = "none"  # rows and a bar on one terminal would mix
        result = result_rows(inv, here.columns, cluster_id, tail)
        result.rows.endless = True
        failed: KcliError | None = None
        with result:
            try:
                for portion in here.rows(stop):
                    if portion:
                        result.add_portion(portion)
                        result.rows.show()
                    else:
                        inv.out.check_reader()
            except KcliError as error:
                failed = error
            for text in here.undecoded():
                inv.talk.warn(text)
            _report(inv, here.account, failed, is_windowed=followed.width_ms is not None)
            tail |= _document(here.account, followed.width_ms)
            if failed is not None:
                inv.lacks(Missing("the rest of what arrives", "", failed), told=True)
        bar.close()
    if failed is not None:
        raise failed
    return inv.finish(done=True, also=[stop.exit_code])


def _report(inv: Invocation, account: FollowAccount, failed: KcliError | None, *, is_windowed: bool) -> None:
    """The account on stderr, and what is missing."""
    late = {tp: read for tp, read in account.partitions.items() if read.late}
    if late:
        count = sum(read.late for read in late.values())
        places = [
            f"{counted(read.late, 'record')} of {tp}, the first at {read.first_late}"
            for tp, read in late.items()
        ]
        inv.talk.warn(
            f"{counted(count, 'record')} came after their windows had closed, and are in no result: {', '.join(places)}"
        )
    timeless = sum(read.timeless for read in account.partitions.values())
    if timeless:
        are = "is" if timeless == 1 else "are"
        inv.talk.warn(f"{counted(timeless, 'record')} without a timestamp {are} in no window")
    for tp, read in account.partitions.items():
        if read.waits and failed is None:
            error = TimedOutError(
                f"{tp}: not read on from offset {read.next}", why=read.waits, do="`kcli doctor` finds out why"
            )
            inv.lacks(Missing(str(tp), "", error))
    ranges = [f"{tp} {read.start} to {read.next}" for tp, read in sorted(account.partitions.items())]
    windows = f"; {counted(account.windows, 'window')} closed" if is_windowed else ""
    inv.talk.note(f"read {counted(account.records, 'record')}: {', '.join(ranges)}{windows}")
    if account.open:
        still = [f"{time_text(start)} ({counted(count, 'record')})" for start, count in account.open.items()]
        inv.talk.note(f"still open, and not printed: {counted(len(still), 'window')}: {', '.join(still)}")
    if account.cut is not None:
        inv.talk.note(f"--limit ended within the window {time_text(account.cut)}")


def _document(account: FollowAccount, width_ms: int | None) -> dict[str, Any]:
    """The account, for the end of the document."""
    partitions = [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "start": read.start,
            "end": read.next,
            "records": read.records,
            "late_records": read.late,
        }
        for tp, read in sorted(account.partitions.items())
    ]
    if width_ms is None:
        return {"partitions": partitions}
    windows = [
        {"window_start": time_text(start), "window_end": time_text(start + width_ms), "records": count}
        for start, count in account.open.items()
    ]
    return {"partitions": partitions, "closed_windows": account.windows, "open_windows": windows}
