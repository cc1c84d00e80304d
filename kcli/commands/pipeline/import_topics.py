"""``kcli pipeline import``: its options. What it does is in ``_import_run.py``."""

from typing import Any

import click

from kcli.commands.pipeline._job_options import job_options
from kcli.commands.pipeline._outputs import REPORTS
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "import",
    reads=(
        "KCLI_IMPL",
        "JAVA_HOME",
    ),
    outputs=REPORTS,
    examples=(
        ("kcli pipeline import exports/orders -b new:9092", "restore a topic in another cluster"),
        ("kcli pipeline import exports/orders --dry-run", "check all files, and show what would be done"),
        (
            r"kcli pipeline import exports/all --map-topic '^(.*)$=restored.\1'",
            "all topics of an export, under other names",
        ),
        (
            "kcli pipeline import exports/orders --map-topic orders=orders-12 --partitions by-key",
            "into a topic with another number of partitions",
        ),
    ),
)
@click.argument("folder", metavar="DIR")
@click.option(
    "--map-topic",
    "renames",
    multiple=True,
    metavar="A=B",
    help=r"restore topic A as B; '^REGEX=NAME' renames by a pattern, with \1 for its groups; repeatable",
)
@click.option(
    "--partitions",
    type=click.Choice(["keep", "by-key"]),
    default="keep",
    help="restore to the same partition, or to that of the key (default: keep)",
)
@job_options
@pass_invocation
def import_topics(inv: Invocation, /, folder: str, **flags: Any) -> int:
    """Restore the topics of an export, each record once.

    DIR is the folder of `kcli pipeline export`, as Parquet, ndjson or csv. Only files that its manifest names are
    read, after their sizes and digests are checked.

    Topics that are missing are created with the partitions and the configuration of the export. Keys, values,
    headers, timestamps, order and partitions are restored exactly; offsets are assigned by the brokers.

    An import that was interrupted goes on when it is run again, without storing anything twice. A topic that has records
    of something else is confirmed first. If the export has grown, what is new is added.
    """
    from kcli.commands.pipeline._import_run import run  # not for --help

    return run(inv, folder, flags)
