"""What ``kcli pipeline pack`` does: writes the archive, and says whom it fits and how to use it."""

import os

from kcli.commands.shared.context import Invocation
from kcli.core.kernels.active import IMPLEMENTATION
from kcli.output.progress import size_text
from kcli.pipeline.spark.libraries import LIBRARIES, check_library, installed
from kcli.pipeline.spark.ship import DEPS, cache_folder, cached_pack, facts, pack_name, write_pack


def write(inv: Invocation, file: str | None) -> int:
    """Writes it to ``file``, or into the cache if it is not there."""
    for library in LIBRARIES:
        if library.name == "pyarrow":
            check_library(library, installed(library.name), otherwise="")
    path = str(cache_folder() / pack_name()) if file is None else os.path.abspath(file)
    if inv.dry_run:
        inv.talk.note(
            "it is there already" if file is None and os.path.exists(path) else "it would be written"
        )
        inv.out.text(path + "\n")
        return 0
    if file is None:
        cached_pack(inv.talk.note)
    else:
        write_pack(path)
    if IMPLEMENTATION != "native":
        inv.talk.warn(
            "this kcli has no compiled kernels, and neither has the archive: tasks are several times slower"
        )
    found = facts()
    inv.talk.note(
        f"{size_text(os.path.getsize(path))}: kcli {found['kcli']} for Python {found['python']} on {found['platform']}; "
        f"use it with --spark-conf spark.archives={path}#{DEPS}"
    )
    inv.out.text(path + "\n")
    return 0
