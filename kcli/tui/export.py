"""What is on a screen as a file: the format by the ending of its name."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

from kcli.account.survey import Missing
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, KcliError
from kcli.files.atomic import FileError, replace_file
from kcli.output.listing import list_rows
from kcli.output.stdout import Output
from kcli.output.tables import row_of, time_text
from kcli.tui import figures
from kcli.tui.columns import Column, fields_of

FORMATS = ("csv", "tsv", "json", "ndjson", "txt")


class Contents(NamedTuple):
    """``item`` is the kind of a row; ``rows`` are those of the table in its order, ``text`` the lines of the screen,
    ``missing`` what could not be read of what it shows.
    """

    item: str
    cluster: str
    at_ms: int
    columns: Sequence[Column[Any]]
    rows: Sequence[Any]
    text: Sequence[str]
    missing: Sequence[Missing] = ()


def default_name(screen: str, at_ms: int, utc_offset: int | None) -> str:
    """``kcli-top-groups-20261121-091403.csv``."""
    return f"kcli-top-{screen}-{figures.moment(at_ms, utc_offset):%Y%m%d-%H%M%S}.csv"


def write(path: str, contents: Contents) -> None:
    """A new file in the format of its ending. Raises KcliError; nothing is written then."""
    path = os.path.expanduser(path.strip())
    stem, _, ending = os.path.basename(path).rpartition(".")
    form = ending.lower()
    if form not in FORMATS:
        raise ConfigError(f"the name must end with one of .{' .'.join(FORMATS)}")
    if not stem:
        raise ConfigError(f"{path} has an ending only", do="give a name before it")
    if os.path.lexists(path):
        raise ConfigError(f"{path} exists already", do="give another name")
    try:
        replace_file(path, rendered(form, contents), mode=0o666)
    except (OSError, ValueError) as error:
        raise _failed(path, error) from None


def rendered(form: str, contents: Contents) -> bytes:
    """The bytes of the file. Rows have the values of the columns for programs, by key."""
    if form == "txt":
        return ("\n".join(line.rstrip() for line in contents.text) + "\n").encode("utf-8", "backslashreplace")
    fields = fields_of(contents.columns)
    rows = [row_of(fields, row) for row in contents.rows]
    file = io.BytesIO()
    out = Output(file, kind=form, isatty=False)
    head = {"at": time_text(contents.at_ms)}
    with list_rows(
        out,
        f"{contents.item}List",
        contents.item,
        fields,
        cluster=contents.cluster or None,
        missing=[part.entry() for part in contents.missing],
        head=head,
    ) as lines:
        for row in rows:
            lines.add(row)
    return file.getvalue()


def _failed(path: str, error: OSError | ValueError) -> KcliError:
    why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return FileError(f"cannot write {path}", why=why.lower())
