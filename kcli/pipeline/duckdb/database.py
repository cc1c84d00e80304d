"""DuckDB in this process, for one statement: a connection with limited memory that spills, and rows as they are printed.

Used by one thread at a time.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcli.core.errors import ConfigError, KcliError
from kcli.core.extras import library
from kcli.pipeline.duckdb.macros import MACROS
from kcli.pipeline.duckdb.statement import Column
from kcli.pipeline.result_values import HEADERS, ResultColumn, unique_names
from kcli.pipeline.sql_orders import is_number

if TYPE_CHECKING:
    from types import TracebackType

_LEAST_MEMORY = 256 << 20

Row = Sequence[Any]


class Database:
    """``with Database(columns, threads) as database``; ``columns`` are those of the statement's result. ``memory`` is in
    bytes (None: half of what is free); what needs more goes to temporary files.
    """

    def __init__(self, columns: Sequence[Column], threads: int, memory: int | None = None) -> None:
        duckdb = library("duckdb", extra="sql", wanted_by="a query on DuckDB")
        names = unique_names(column.name for column in columns)
        self.columns = [ResultColumn(name, each.kind) for name, each in zip(names, columns, strict=True)]
        self._errors = duckdb.Error
        with ExitStack() as stack:
            spilled = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="kcli-query-", ignore_cleanup_errors=True)
            )
            settings = {
                "threads": threads,
                "memory_limit": f"{memory or _memory()}B",
                "temp_directory": spilled,
                "autoinstall_known_extensions": False,
            }
            self.connection = stack.enter_context(duckdb.connect(config=settings))
            for macro in MACROS:
                self.connection.execute(f"CREATE MACRO {macro}")
            self._stack = stack.pop_all()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def register(self, table: str, stream: object) -> None:
        """Makes a table of an object with ``__arrow_c_stream__``, which is asked for each time that it is read."""
        self.connection.register(table, stream)

    def check(self, sql: str) -> None:
        """Has DuckDB look at all names and types; ConfigError."""
        try:
            self.connection.execute(f"EXPLAIN SELECT * FROM {self.named(sql)}").fetchall()  # noqa: S608 - as below
        except self._errors as error:
            raise ConfigError(
                "the SQL is wrong",
                why=_message(error),
                do="correct it; `kcli pipeline query --help` lists the columns",
            ) from None

    def named(self, sql: str) -> str:
        """The query as a table with the columns c0, c1, …"""
        names = ", ".join(f"c{number}" for number in range(len(self.columns)))
        return f"({sql}) AS result({names})"

    def shown(self, sql: str) -> str:
        """The query for ``printed``: times as ms, since Python's own would need a zone."""
        shown = ", ".join(_shown(number, column) for number, column in enumerate(self.columns))
        return f"SELECT {shown} FROM {self.named(sql)}"  # noqa: S608 - names are quoted

    def printed(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Rows with headers as pairs."""
        places = [number for number, column in enumerate(self.columns) if column.kind == HEADERS]
        if not places:
            return rows
        found = [list(row) for row in rows]
        for row in found:
            for place in places:
                row[place] = row[place] and [(entry["key"], entry["value"]) for entry in row[place]]
        return found

    def failure(self, error: BaseException) -> BaseException:
        """The error of a query that was accepted, as one of kcli's."""
        if not isinstance(error, self._errors):
            return error
        why = _message(error)
        found = re.fullmatch(r"the text '(.*)' is no whole number", why, re.DOTALL)
        fraction = "beside a whole number a path is one; value:a::double > 5 compares with fractions"
        do = ""
        if found is not None or why.startswith("Conversion Error"):
            is_fraction = found is not None and is_number(found[1])
            do = fraction if is_fraction else "try_cast(… AS …) is null where a value does not fit"
        return KcliError("the query failed", why=why, do=do)


def _shown(number: int, column: ResultColumn) -> str:
    if column.kind == "timestamp":
        return f"epoch_ms(c{number})"
    return f"CAST(c{number} AS VARCHAR)" if column.kind == "date" else f"c{number}"


def _message(error: BaseException) -> str:
    """DuckDB's text without the SQL that it was given."""
    lines = str(error).split("\n")
    return lines[0].removeprefix("Invalid Input Error: ").rstrip(". ") or type(error).__name__


def _memory() -> int:
    """Half of the memory that is free."""
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    return max(_LEAST_MEMORY, free // 2)
