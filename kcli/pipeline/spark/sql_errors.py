"""Errors of Spark's SQL as kcli's: what is wrong, where in the user's text, and what there is instead."""

import re
from collections.abc import Sequence

from pyspark.errors import AnalysisException, ParseException, PySparkException

from kcli.core.errors import ConfigError, KcliError
from kcli.core.near_names import near_names
from kcli.pipeline.spark.errors import carried, cause_of, message_of
from kcli.pipeline.sql_text import Rewritten

_POSITION = re.compile(r"line (\d+),? pos (\d+)")
_NOISE = re.compile(r"^\[[A-Z_.0-9]+\]\s*|\s*SQLSTATE: \w+.*$", re.DOTALL)


def sql_error(error: Exception, query: Rewritten, columns: Sequence[str]) -> KcliError | None:
    """The error of a statement that Spark does not accept; None for errors of other kinds."""
    found = carried(message_of(error))
    if found is not None:
        return found.error()
    if not isinstance(error, AnalysisException | ParseException):
        return None
    condition = error.getCondition() or ""
    message = _message(error)
    where = _where(str(error), query)
    if condition.startswith("UNRESOLVED_COLUMN"):
        name = str((error.getMessageParameters() or {}).get("objectName", "")).replace("`", "")
        near = near_names(name, columns)
        path = _path_of(name, query)
        if path:
            return ConfigError(
                f"there is no column {name}{where}",
                why=f"{path} leads into it, and a subquery or view in between does not have it",
                do=f"select {name.rpartition('.')[2]} there too",
            )
        return ConfigError(
            f"there is no column {name}{where}",
            why=f"source has the columns {', '.join(columns)}",
            do=f"did you mean {near[0]}? value:{name} is that field of the value's JSON"
            if near
            else f"value:{name} is that field of the value's JSON",
        )
    if condition == "TABLE_OR_VIEW_NOT_FOUND":
        name = str((error.getMessageParameters() or {}).get("relationName", "")).replace("`", "")
        return ConfigError(
            f"there is no table {name.rpartition('.')[2]}{where}",
            why="each TOPIC of the command line is a table, and the records of all of them are the table source",
            do="select … from source where topic = 'orders'",
        )
    if condition.startswith("PARSE_"):
        return ConfigError(
            f"the SQL is wrong{where}", why=message, do="see Spark's SQL reference for its syntax"
        )
    return ConfigError(
        f"the SQL is wrong{where}",
        why=message,
        do="correct it; `kcli pipeline query --help` lists the columns",
    )


def _path_of(name: str, query: Rewritten) -> str:
    """The user's path into JSON of which this column was made; empty if it was typed."""
    call = f"get_json_object({name},"
    plain = (piece for piece in query.pieces if piece.sql.replace("`", "").startswith(call))
    return next((query.original[piece.start : piece.end] for piece in plain), "")


def _message(error: PySparkException) -> str:
    return _NOISE.sub("", cause_of(str(error))).rstrip(". \n") or "Spark does not accept it"


def _where(text: str, query: Rewritten) -> str:
    """The place in the user's own text; empty if Spark does not say it."""
    match = _POSITION.search(text)
    if match is None:
        return ""
    line, column = int(match[1]), int(match[2])
    lines = query.sql.split("\n")
    if not 1 <= line <= len(lines):
        return ""
    place = query.original_position(sum(len(each) + 1 for each in lines[: line - 1]) + column)
    before = query.original[:place]
    at = f"character {place - (before.rfind(chr(10)) + 1) + 1}"
    piece = query.original[place : place + 20].split("\n")[0]
    several = "\n" in query.original
    return (
        f" at {f'line {before.count(chr(10)) + 1}, ' if several else ''}{at}{f': {piece}' if piece else ''}"
    )
