"""``kcli pipeline export``: its options. What it does is in ``_export_run.py``."""

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from kcli.commands.pipeline._job_options import job_options
from kcli.commands.pipeline._outputs import REPORTS
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import POSITIVE_DURATION, TOPIC
from kcli.commands.shared.params import OFFSET_WORDS, Word, instant, offset_range, parse_partitions
from kcli.commands.shared.usage import usage

FORMATS = ("parquet", "ndjson", "csv", "raw")


class Given(NamedTuple):
    """An option as it was typed, which an export remembers, and what it means now."""

    text: str
    value: Any


def _given(name: str, parse: Callable[[str], Any], offered: tuple[str, ...] = ()) -> Word:
    return Word(name, lambda text: Given(text, parse(text)), offered)


_PARTITIONS = _given("partitions", parse_partitions)
_RANGE = _given("range", offset_range, OFFSET_WORDS[:2])
_INSTANT = _given("time", instant)


@command(
    "export",
    changes=False,
    reads=(
        "KCLI_IMPL",
        "JAVA_HOME",
    ),
    outputs=REPORTS,
    examples=(
        ("kcli pipeline export orders exports/orders", "a whole topic as Parquet, up to its end now"),
        (
            "kcli pipeline export orders payments exports/day --since yesterday --until today",
            "the records of a day",
        ),
        (
            "kcli pipeline export orders exports/text --format ndjson --runner processes",
            "as lines of JSON, without Spark",
        ),
        ("kcli pipeline export orders exports/all --continuous", "what is there, and what arrives"),
        (
            "kcli pipeline export '^orders-.*' /mnt/exports/all --master spark://host:7077",
            "on a cluster; its machines share /mnt",
        ),
    ),
)
@click.argument("topics", metavar="TOPIC…", nargs=-1, type=TOPIC)
@click.argument("folder", metavar="DIR")
@options(
    "What to export",
    click.option(
        "-p", "--partitions", type=_PARTITIONS, metavar="LIST", help="Only these partitions, as in 0,2,5-7."
    ),
    click.option(
        "--offset",
        type=_RANGE,
        metavar="SPEC",
        help="Where to start, or a range: earliest, N, +N, -N, @TIME, A:B (B exclusive).  [default: earliest]",
    ),
    click.option(
        "--since", type=_INSTANT, metavar="TIME", help="Start at this time: 3h (ago), 2026-11-21T10:00Z."
    ),
    click.option("--until", type=_INSTANT, metavar="TIME", help="Stop at this time.  [default: the end now]"),
)
@options(
    "How to export",
    click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="parquet",
        help="parquet, or what `kcli consume -o` prints: ndjson, csv, raw.  [default: parquet]",
    ),
    click.option("--continuous", is_flag=True, help="Go on with what arrives, until Ctrl-C."),
    click.option(
        "--slice",
        "interval",
        type=POSITIVE_DURATION,
        metavar="DUR",
        help="With --continuous: how often new records are added, as files of their own.  [default: 30s]",
    ),
)
@job_options
@pass_invocation
def export(inv: Invocation, /, topics: tuple[str, ...], folder: str, **flags: Any) -> int:
    """Write the records of topics to files, each once.

    DIR gets topic=T/partition=P/START-END.parquet, with one file for a range of offsets, which Spark, DuckDB, pyarrow and
    polars read as one table; and at last _kcli_manifest.json, which says that the export is complete. The ends are those
    of now. Transactions that were aborted are left out.

    An export that was interrupted goes on when it is run again: finished files are not written again. What is complete is
    not read again. `kcli pipeline import` restores the records. With a cluster of Spark, DIR is a folder that all its
    machines share.
    """
    if not topics:
        raise usage(
            "kcli pipeline export: a topic and a folder are required",
            why=f"only {folder!r} is named",
            do="`kcli pipeline export TOPIC DIR`",
        )
    from kcli.commands.pipeline._export_run import run  # not for --help

    return run(inv, topics, folder, flags)
