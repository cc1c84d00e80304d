"""``kcli mirror``: its options. A run is in ``run.py``, the list of jobs in ``status.py``."""

from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.params import Rate, checkpoint_option, on_recreate_option, rate_option
from kcli.commands.shared.two_clusters import (
    begin_option,
    from_option,
    job_option,
    map_topic_option,
    partitions_kept_option,
    to_option,
    topics_option,
)
from kcli.commands.shared.usage import usage
from kcli.core.names import own_group_note
from kcli.flows.mirror.settings import MirrorSettings, Pace


def _changes(params: Mapping[str, Any]) -> bool:
    """Whether the target is written."""
    return not (params["words"] or params["verify_only"])


@command(
    "mirror",
    changes=_changes,
    exits={
        5: "records were removed before they were copied, a batch is damaged, or a topic was created anew",
        6: "a partition has ended with an error, or there are gaps (--on-gap record)",
        8: "the clusters differ: --verify, --verify-only",
    },
    reads=("KCLI_IMPL",),
    outputs=("table", "plain", "wide", "tsv", "csv", "json", "ndjson", "yaml"),
    examples=(
        ("kcli mirror --from a:9092 --to b:9092 -t orders --until-caught-up", "copy a topic as it is now"),
        (
            "kcli mirror --from a:9092 --to b:9092 -t '^orders-.*' --exactly-once",
            "follow topics, nothing twice",
        ),
        (r"kcli mirror --from a:9092 --to b:9092 -t '*' --map-topic '^(.*)$=eu.\1'", "all topics, renamed"),
        ("kcli mirror --from a:9092 --to b:9092 -t orders --until-caught-up --verify", "copy, then compare"),
        (
            "kcli mirror --from a:9092 --to b:9092 -t orders --sync-groups billing",
            "with the offsets of a group",
        ),
        (
            "kcli mirror --from a:9092 --to a:9092 -t orders --map-topic orders=copy --offset 0:1000 --until-caught-up",
            "some offsets, within a cluster",
        ),
        ("kcli mirror status --to b:9092", "the jobs that write to a cluster"),
    ),
)
@click.argument("words", metavar="[status]", nargs=-1)
@options(
    "What to copy",
    from_option("copied", required=False),
    to_option("written", required=False),
    topics_option("copy", required=False),
    map_topic_option("copy topic A to B"),
    partitions_kept_option("copy"),
    begin_option(),
)
@options(
    "How to copy",
    click.option(
        "--exactly-once", is_flag=True, help="copy in transactions of the target: nothing is stored twice"
    ),
    rate_option("limit: records per second, or 10MB/s"),
    click.option(
        "--headers", is_flag=True, help="add headers with the record's origin; it re-encodes all batches"
    ),
    click.option(
        "--sync-groups",
        "groups",
        multiple=True,
        metavar="GROUP",
        help="also commit the group's offsets on the target, translated; repeatable",
    ),
)
@options(
    "When to end, and proof",
    click.option(
        "--until-caught-up", is_flag=True, help="end when everything is copied that was there at the start"
    ),
    click.option(
        "--verify", is_flag=True, help="compare all copied records at the end; implies --until-caught-up"
    ),
    click.option("--verify-only", is_flag=True, help="compare, and copy nothing"),
)
@options(
    "Position and failures",
    job_option(),
    checkpoint_option("keep the position in FILE instead of a topic of the target; not with --exactly-once"),
    click.option(
        "--on-gap",
        type=click.Choice(["fail", "record"]),
        default="fail",
        help="when the source has removed records that are not copied yet, or a batch is damaged: end that partition, or "
        "record the gap and continue (default: fail)",
    ),
    on_recreate_option(
        "when a topic of the source is deleted and created again: end it, or copy the new one (default: fail)"
    ),
)
@pass_invocation
def mirror(
    inv: Invocation,
    /,
    words: tuple[str, ...],
    source: str | None,
    target: str | None,
    partitions: str,
    rate: Rate | None,
    **given: Any,
) -> int:
    """Copy topics from one cluster to another, batch by batch, and prove that they are equal.

    Topics that the target lacks are created with the partitions and the configuration of the source. A batch is sent on
    as the bytes in which it was stored, where brokers accept that: keys, values, headers, timestamps, order and
    compression are kept. Transactions that were aborted are not copied.

    A job that is started again continues where it ended. At least once is the default: after a kill, the records of
    about the last second may be stored twice. With --exactly-once they are not.
    """
    if words not in ((), ("status",)):
        raise usage(
            f"kcli mirror: unexpected argument {words[-1]!r}",
            why="clusters and topics are named by options; the only argument is status",
            do="`kcli mirror --from HOST:PORT --to HOST:PORT -t TOPIC`",
        )
    if not target:
        raise usage(
            "kcli mirror: --to is missing", why="it names the cluster that is written", do="--to HOST:PORT"
        )
    settings = MirrorSettings(by_key=partitions == "by-key", pace=_pace(rate), **given)
    if words:
        _refuse_options_of_a_run()
        from kcli.commands.mirror.status import status  # not for --help

        return status(inv, target, settings.job)
    if not source:
        raise usage(
            "kcli mirror: --from is missing", why="it names the cluster that is copied", do="--from HOST:PORT"
        )
    _check(settings)
    from kcli.commands.mirror.run import run  # not for --help

    return run(inv, source, target, settings)


def _pace(rate: Rate | None) -> Pace:
    return Pace() if rate is None else Pace(records_per_second=rate.records, bytes_per_second=rate.bytes)


def _check(settings: MirrorSettings) -> None:
    """Usage errors for options that contradict each other."""
    compares = settings.verify or settings.verify_only
    if not settings.topics:
        raise usage(
            "kcli mirror: no topic is named", why="-t says what is copied", do="-t orders, or -t '*' for all"
        )
    if settings.verify and settings.verify_only:
        raise usage(
            "kcli mirror: --verify with --verify-only",
            why="--verify copies first",
            do="leave one of them out",
        )
    if settings.by_key and compares:
        raise usage(
            "kcli mirror: --verify with --partitions by-key",
            why="the records of one partition are then in several, which cannot be compared one by one",
            do="leave one of them out",
        )
    if settings.headers and compares:
        raise usage(
            "kcli mirror: --verify with --headers",
            why="the records of the copy have one header more than those of the source",
            do="leave one of them out",
        )
    for group in settings.groups:
        if note := own_group_note(group):
            raise usage(f"kcli mirror: --sync-groups {group}", why=f"it is {note}", do="leave it out")
    if settings.exactly_once and settings.checkpoint:
        raise usage(
            "kcli mirror: --exactly-once with --checkpoint",
            why="the position has to be in the same transaction as the records, on the target",
            do="leave --checkpoint out",
        )


def _refuse_options_of_a_run() -> None:
    """``status`` lists jobs: of the options, only --to and --job mean something to it."""
    context = click.get_current_context()
    for option in context.command.params:
        if (
            option.name not in (None, "words", "target", "job")
            and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        ):
            raise usage(
                f"kcli mirror status: {option.opts[-1]} belongs to a run",
                why="status lists the jobs that write to --to, and copies nothing",
                do="leave it out; --job NAME lists one job",
            )
