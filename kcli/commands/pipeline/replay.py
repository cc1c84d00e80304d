"""``kcli pipeline replay``: its options. What it does is in ``_replay_run.py``."""

from typing import Any

import click

from kcli.commands.pipeline._job_options import job_options
from kcli.commands.shared.command import command, options
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import TOPIC, CountType
from kcli.commands.shared.params import INSTANT


@command(
    "replay",
    changes=True,
    reads=(
        "KCLI_IMPL",
        "JAVA_HOME",
    ),
    outputs=("table", "plain", "wide", "tsv", "csv", "json", "ndjson", "yaml"),
    examples=(
        ("kcli pipeline replay orders.dlq --to orders --dry-run", "what would be sent, by reason and hour"),
        (
            "kcli pipeline replay orders.dlq --to header:original-topic",
            "each record to the topic it came from",
        ),
        (
            "kcli pipeline replay orders.dlq --to orders --since 2d "
            "--where \"value:type = 'invoice' and value:amount::int > 0\"",
            "only some records, chosen by SQL",
        ),
        ("kcli pipeline replay orders.dlq --to orders --dedupe key --yes", "the last record of each key"),
    ),
)
@click.argument("topic", type=TOPIC)
@options(
    "What to send again",
    click.option(
        "--where", metavar="SQL", help="Only records that meet this condition, as in `kcli pipeline query`."
    ),
    click.option(
        "--dedupe", type=click.Choice(["key"]), help="Of the records of a key, send the last one only."
    ),
    click.option(
        "--max-replays",
        type=CountType(1),
        default=3,
        metavar="N",
        help="Skip records that were replayed N times.  [default: 3]",
    ),
    click.option(
        "--since", type=INSTANT, metavar="TIME", help="Records from this time on: 3h (ago), yesterday."
    ),
    click.option("--until", type=INSTANT, metavar="TIME", help="Records up to this time."),
)
@options(
    "Where to, and how",
    click.option(
        "--to",
        "target",
        required=True,
        metavar="TOPIC|header:NAME",
        help="Send to this topic, or to the topic that the record's header NAME names.",
    ),
    click.option(
        "--timestamps",
        type=click.Choice(["keep", "now"]),
        default="keep",
        help="Send records with their timestamps, or with the present time.  [default: keep]",
    ),
    click.option(
        "--job", metavar="NAME", help="Name of the job.  [default: from TOPIC, --to, --where and --dedupe]"
    ),
)
@job_options
@pass_invocation
def replay(inv: Invocation, /, topic: str, target: str, **flags: Any) -> int:
    """Send records of a dead-letter topic to where they belong, once more.

    Key, value, headers and, unless --timestamps now, the timestamp stay as they are; the partition is that of the key.
    Two headers are added: kcli-replays counts how often a record was replayed, so that one that fails again and again is
    skipped in the end, and kcli-replayed-from says where it was.

    A job that is started again continues where it ended: it sends each record once, in transactions that contain its
    position, the offsets of the group __kcli.replay.JOB. Another --job NAME begins anew.
    """
    from kcli.commands.pipeline._replay_run import run  # not for --help

    return run(inv, topic, target, flags)
