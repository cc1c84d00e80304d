"""Runs the tasks of a job on Spark."""

from collections.abc import Callable, Mapping

from kcli.core.errors import ConfigError
from kcli.pipeline.runners.runner import Runner


def open_runner(
    *,
    master: str | None,  # noqa: ARG001
    local: int | None,  # noqa: ARG001
    conf: Mapping[str, str],  # noqa: ARG001
    java_home: str | None,  # noqa: ARG001
    note: Callable[[str], None],  # noqa: ARG001
) -> Runner:
    """A runner with a session of its own; ConfigError without pyspark or Java."""
    raise ConfigError(
        "jobs do not run on Spark yet", why="this version has no runner for it", do="--runner processes"
    )
