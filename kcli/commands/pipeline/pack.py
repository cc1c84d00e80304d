"""``kcli pipeline pack``: its option. What it does is in ``_pack_run.py``."""

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation


@command(
    "pack",
    outputs=("plain",),
    examples=(
        ("kcli pipeline pack", "where is the archive that jobs bring along? it is made if it is missing"),
        (
            "kcli pipeline pack --file deps.tar.gz",
            "for executors of another platform: run it on a machine like them",
        ),
    ),
)
@click.option(
    "--file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="write the archive to this file (default: kcli's cache)",
)
@pass_invocation
def pack(inv: Invocation, /, file: str | None) -> int:
    """Write kcli and the libraries that its tasks import to an archive for the executors of a cluster.

    Jobs on a cluster (--master) make this archive by themselves and bring it along. It fits executors with the same
    minor version of Python on the same platform.

    For any others, run this command on a machine like them, and name the file, or its copy in a file system that
    executors can read, with --spark-conf spark.archives=FILE#deps.

    The path of the archive is printed on stdout.
    """
    from kcli.commands.pipeline._pack_run import write  # what it needs is loaded when it runs

    return write(inv, file)
