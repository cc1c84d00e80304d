"""``kcli pipeline profile``: show what is in topics."""

import click

from kcli.commands.pipeline.jobs import (
    READS,
    TaskOptions,
    chosen_runner,
    job_options,
    own_cluster,
    print_report,
    runner_of,
    wanted_range,
)
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.from_dir import from_dir_option
from kcli.commands.shared.options import REPORT_KINDS, TOPIC, CountType, option
from kcli.commands.shared.params import (
    exact_times_option,
    offset_option,
    partitions_option,
    serde_option,
    since_option,
    until_option,
)
from kcli.commands.shared.shown import Shown
from kcli.core.options import ConsumerOptions
from kcli.core.positions import RangeSpec
from kcli.flows.stop import Stop
from kcli.pipeline.arrow_library import check_pyarrow


@command(
    "profile",
    reads=READS,
    outputs=REPORT_KINDS,
    examples=(
        ("kcli pipeline profile orders", "partitions, keys, sizes, times, and the shape of JSON values"),
        (
            "kcli pipeline profile orders --since 1d --html orders.html",
            "the records of a day, as a page with plots",
        ),
        (
            "kcli pipeline profile orders -s avro -X schema.registry.url=http://registry:8081",
            "the schema of what is in Avro",
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
    from_dir_option(),
    partitions_option("only these partitions: 0,2-4"),
    offset_option("where to begin, and to end: earliest, -1000, N, N:M, @TIME"),
    since_option("only records from TIME on: 3h (ago), an ISO date, an epoch"),
    until_option("only records before TIME"),
    exact_times_option(),
    option(
        "--sample",
        type=CountType(0),
        default=10_000,
        metavar="N",
        help="about how many values of a topic to look into, spread evenly; 0: none (default: 10000)",
    ),
    serde_option("decode values that are looked into, and keys that are counted: {names}"),
)
@options(
    "Result",
    option(
        "--top",
        type=CountType(0),
        default=20,
        metavar="N",
        help="how many of the most frequent keys to show (default: 20)",
    ),
    option("--html", metavar="FILE", help="also write a page with plots; it is replaced atomically"),
)
@job_options
@pass_invocation
def profile(
    inv: Invocation,
    /,
    topics: tuple[str, ...],
    partitions: tuple[int, ...] | None,
    offset: RangeSpec | None,
    since: int | None,
    until: int | None,
    exact_times: bool,
    sample: int,
    serdes: tuple[str, ...],
    top: int,
    html: str | None,
    tasks: TaskOptions,
) -> int:
    """Show what is in topics: skew, frequent keys, sizes, times, nulls, and the schema of JSON values.

    All committed records of the range are counted, up to the ends of the partitions at the start. Keys are counted
    exactly up to 50,000 different ones; beyond that, counts of frequent keys have an error bound, and the number of
    keys is an estimate. Of the values a sample is parsed, the first and the last of each range among them; with -s what
    a serde makes of them.
    """
    # Clients are loaded when the command runs.
    from kcli.pipeline.drivers.profile import (
        COLUMNS,
        pinned,
        profiled,
        serde_texts,
        summary_lines,
        write_page,
    )

    check_pyarrow("it computes the profile")
    inv.configuration.check_registry_used(serdes)
    with_serdes = serde_texts(serdes, inv.configuration.registry_options)
    tasks = chosen_runner(inv, tasks, "profile")
    spec = wanted_range("profile", offset=offset, since=since, until=until, exact_times=exact_times)
    options = inv.client_options(ConsumerOptions, isolation_level="read_committed", group_id="")
    shown = Shown(inv)
    slices, cluster = pinned(shown, options, topics, spec, partitions, exact_times=exact_times)
    with Stop() as stop, runner_of(inv, tasks) as runner:
        ref = own_cluster(inv).ref
        times = spec.times if exact_times else None
        report, summaries = profiled(
            shown, runner, stop, ref, topics, slices, sample=sample, top=top, times=times, serdes=with_serdes
        )
    if html is not None:
        if not inv.dry_run:
            write_page(html, cluster, summaries, report.items)
        inv.talk.note(f"{'would write' if inv.dry_run else 'wrote'} {html}")
    code = print_report(
        inv,
        report,
        COLUMNS,
        stop,
        command="profile",
        runner=tasks.runner,
        cluster=cluster,
        title="profiled",
        head={"topics": summaries},
    )
    if inv.out.kind in (None, "table", "plain", "wide"):
        lines = (line for summary in summaries for line in summary_lines(summary))
        inv.out.shown("".join(f"\n{line}" for line in lines) + "\n")
    return code
