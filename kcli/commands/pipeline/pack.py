"""``kcli pipeline pack``: write kcli and its libraries to an archive for executors."""

import os

import click

from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.core.exit_codes import ExitCode
from kcli.core.kernels.active import IMPLEMENTATION
from kcli.output.progress import size_text


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
@option(
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
    from kcli.pipeline.spark import ship  # not for --help: it looks for libraries

    ship.check_packable()
    path = str(ship.cache_folder() / ship.pack_name()) if file is None else os.path.abspath(file)
    if inv.dry_run:
        inv.talk.note(
            "it is there already" if file is None and os.path.exists(path) else "it would be written"
        )
        inv.out.text(path + "\n")
        return ExitCode.DONE
    if file is None:
        ship.cached_pack(inv.talk.note)
    else:
        ship.write_pack(path)
    if IMPLEMENTATION != "native":
        inv.talk.warn(
            "this kcli has no compiled kernels, and neither has the archive: tasks are several times slower"
        )
    found = ship.facts()
    inv.talk.note(
        f"{size_text(os.path.getsize(path))}: kcli {found['kcli']} for Python {found['python']} on {found['platform']}; "
        f"use it with --spark-conf spark.archives={path}#{ship.DEPS}"
    )
    inv.out.text(path + "\n")
    return ExitCode.DONE
