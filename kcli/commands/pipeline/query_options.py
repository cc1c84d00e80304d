"""The options of ``kcli query`` and ``kcli pipeline query``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kcli.commands.pipeline.jobs import TaskOptions, job_options
from kcli.commands.shared.command import options
from kcli.commands.shared.from_dir import from_dir_option
from kcli.commands.shared.options import DURATION, POSITIVE_DURATION, CountType, option
from kcli.commands.shared.params import exact_times_option, serde_option, since_option, until_option
from kcli.core.classes import dataclass

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """One field an option of the command line. ``topics``: the arguments, of which the last one may be a folder."""

    topics: tuple[str, ...]
    sql: str
    engine: str
    since: int | None
    until: int | None
    exact_times: bool
    limit: int | None
    follow: bool
    late: float | None
    idle_after: float | None
    idle_timeout: float | None
    serdes: tuple[str, ...]
    tasks: TaskOptions


_FOLLOW = (
    option("--follow", is_flag=True, help="go on with the records that arrive: rows, or windows that close"),
    option(
        "--late",
        type=DURATION,
        metavar="DUR",
        help="keep windows open for records that are so much older than the newest (default: 0s)",
    ),
    option(
        "--idle-after",
        type=POSITIVE_DURATION,
        metavar="DUR",
        help="windows do not wait for a partition in which nothing has arrived for so long (default: 10s)",
    ),
    option(
        "--idle-timeout",
        type=POSITIVE_DURATION,
        metavar="DUR",
        help="end when no record has arrived for so long",
    ),
)


def query_options(function: F) -> F:
    """Decorates a command whose arguments are the fields of ``QueryOptions``, but for topics and SQL."""
    for decorate in reversed(
        (
            from_dir_option(),
            option(
                "--engine",
                type=click.Choice(("auto", "duckdb", "spark")),
                default="auto",
                help="run the query on DuckDB in this process, or on Spark (default: auto, which is DuckDB if it has all "
                "that the query needs, and no option of Spark is given)",
            ),
            since_option("read records from this time on: 3h (ago), yesterday"),
            until_option("read records up to this time"),
            exact_times_option(),
            option("--limit", type=CountType(1), metavar="N", help="at most N rows of the result"),
            serde_option(
                "decode keys and values, for key:PATH, value:PATH, key_json and value_json: {names}"
            ),
            options("Going on with what arrives", *_FOLLOW),
            job_options,
        )
    ):
        function = decorate(function)
    return function
