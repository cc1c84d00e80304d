"""``kcli pipeline profile``: the options. A run is in ``_profile_run.py``."""

from typing import Any

import click

from kcli.commands.pipeline._job_options import job_options
from kcli.commands.pipeline._outputs import REPORTS
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, CountType
from kcli.commands.shared.params import INSTANT, OFFSET_RANGE, PARTITIONS


@command(
    "profile",
    changes=False,
    reads=(
        "KCLI_IMPL",
        "JAVA_HOME",
    ),
    outputs=REPORTS,
    examples=(
        ("kcli pipeline profile orders", "partitions, keys, sizes, times, and the shape of JSON values"),
        (
            "kcli pipeline profile orders --since 1d --html orders.html",
            "the records of a day, as a page with plots",
        ),
        (
            "kcli pipeline profile orders -o json | jq '.topics[0].json_schema'",
            "the JSON Schema that the values follow",
        ),
    ),
)
@click.argument("topics", nargs=-1, required=True, type=TOPIC, metavar="TOPIC…")
@options(
    "What to read",
    click.option("-p", "--partitions", type=PARTITIONS, metavar="LIST", help="Only these partitions: 0,2-4."),
    click.option(
        "--offset",
        type=OFFSET_RANGE,
        metavar="SPEC",
        help="Where to begin, and to end: earliest, -1000, N, N:M, @TIME.",
    ),
    click.option(
        "--since",
        type=INSTANT,
        metavar="TIME",
        help="Only records from TIME on: 3h (ago), an ISO date, an epoch.",
    ),
    click.option("--until", type=INSTANT, metavar="TIME", help="Only records before TIME."),
    click.option(
        "--sample",
        type=CountType(0),
        default=10_000,
        metavar="N",
        help="About how many values of a topic to look into, spread evenly; 0: none.  [default: 10000]",
    ),
)
@options(
    "Result",
    click.option(
        "--top",
        type=CountType(0),
        default=20,
        metavar="N",
        help="How many of the most frequent keys to show.  [default: 20]",
    ),
    click.option("--html", metavar="FILE", help="Also write a page with plots; it is replaced atomically."),
)
@job_options
@pass_invocation
def profile(inv: Invocation, /, topics: tuple[str, ...], **flags: Any) -> int:
    """Show what is in topics: skew, frequent keys, sizes, times, nulls, and the schema of JSON values.

    All committed records of the range are counted, up to the ends of the partitions at the start. Keys are counted
    exactly up to 50,000 different ones; beyond that, counts of frequent keys have an error bound, and the number of
    keys is an estimate. Of the values a sample is parsed.
    """
    from kcli.commands.pipeline._profile_run import run  # not for --help

    return run(inv, topics, flags)
