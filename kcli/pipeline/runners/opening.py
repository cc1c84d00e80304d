"""Opens the runner of ``--runner``."""

import os
from collections.abc import Callable, Mapping

from kcli.pipeline.runners.inline import InlineRunner
from kcli.pipeline.runners.processes import ProcessesRunner
from kcli.pipeline.runners.runner import Runner


def open_runner(
    name: str,
    *,
    master: str | None,
    local: int | None,
    conf: Mapping[str, str],
    java_home: str | None,
    note: Callable[[str], None],
    warn: Callable[[str], None],
) -> Runner:
    """``local``: how many tasks run at a time on this machine; ``master``, ``conf``, ``java_home``: of Spark only."""
    if name == "inline":
        return InlineRunner()
    if name == "processes":
        return ProcessesRunner(local or os.cpu_count() or 1)
    from kcli.pipeline.spark import runner as spark  # pyspark: an extra

    return spark.open_runner(master=master, local=local, conf=conf, java_home=java_home, note=note, warn=warn)
