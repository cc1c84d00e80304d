"""Which engine runs a query: DuckDB in this process, or Spark. Decided before anything is started."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kcli.core.errors import ConfigError
from kcli.core.extras import installation, library
from kcli.output.progress import counted
from kcli.pipeline.duckdb.typed import LacksError
from kcli.pipeline.sql_text import Rewritten

if TYPE_CHECKING:
    from kcli.pipeline.duckdb.following import Followed

AUTO, DUCKDB, SPARK = "auto", "duckdb", "spark"
FITS = 200_000_000
"""Offsets up to which DuckDB reads a range by itself where Spark is installed: some minutes."""
_LIBRARIES = ("duckdb", "sqlglot")


def _has_spark() -> bool:
    from kcli.pipeline.spark.libraries import missing_library  # looks for libraries: 50 ms

    return missing_library() is None


def chosen_engine(
    asked: str, query: Rewritten, decoded: Sequence[str], folder: str | None, note: Callable[[str], object]
) -> str:
    """``duckdb`` or ``spark``. ``decoded``: ``key_json`` and ``value_json``, as far as there are serdes; ``folder``:
    where the result goes.

    ConfigError where the engine that was asked for is not installed, or is DuckDB, and the query has what that lacks; for
    ``auto`` only where the other one is not installed either.
    """
    if asked == SPARK:
        return SPARK
    if asked == AUTO and not all(map(find_spec, _LIBRARIES)) and _has_spark():
        return SPARK
    _need_libraries("a query without Spark")
    # sqlglot: an extra.
    from kcli.pipeline.duckdb.statement import translate

    try:
        if folder is not None and "://" in folder:
            raise LacksError("a folder that is a URL")
        translate(query, decoded)
    except LacksError as lacks:
        has_spark = _has_spark()
        if asked == AUTO and has_spark:
            note(f"the query runs on Spark: DuckDB lacks {lacks}, or has it with other results")
            return SPARK
        raise ConfigError(
            f"DuckDB does not run this query: {lacks}",
            why="DuckDB has it not, or with other results than Spark",
            do="choose the other engine: --engine spark"
            if has_spark
            else f"add Spark: {installation('spark')}",
        ) from None
    return DUCKDB


def followed_query(query: Rewritten, decoded: Sequence[str]) -> "Followed":
    """The query as one that DuckDB follows; ConfigError for what cannot be followed."""
    _need_libraries("--follow")
    # sqlglot: an extra.
    from kcli.pipeline.duckdb.following import NO_FOLLOW, followed

    try:
        return followed(query, decoded)
    except LacksError as lacks:
        raise ConfigError(
            f"DuckDB does not run this query, and --follow is on DuckDB only: {lacks}",
            why="DuckDB has it not, or with other results than Spark",
            do=NO_FOLLOW,
        ) from None


def _need_libraries(wanted_by: str) -> None:
    for name in _LIBRARIES:
        if find_spec(name) is None:
            library(name, extra="sql", wanted_by=wanted_by)


def fitting_engine(asked: str, chosen: str, offsets: int, note: Callable[[str], object]) -> str:
    """The engine that was chosen, but for a range that is too large for one process, where Spark is installed."""
    if asked == AUTO and chosen == DUCKDB and offsets > FITS and _has_spark():
        note(
            f"the query runs on Spark: it reads {counted(offsets, 'record')} (--engine duckdb reads them here)"
        )
        return SPARK
    return chosen
