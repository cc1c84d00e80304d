"""What the help lists: every class with keys, and the columns of every table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kcli.tui.help_lines import Section, columns_section, keys_section, meaning_sections
from kcli.tui.keys import own_bindings
from kcli.tui.screens.listing import Listing
from kcli.tui.screens.record import RecordView
from kcli.tui.screens.rewind import Rewind
from kcli.tui.widgets.table import Table


def help_sections(app: type[Any]) -> list[Section]:
    """Keys first: those that work everywhere, those of tables, those of one screen only."""
    listings = list(_below(Listing))
    sections = [keys_section("Keys", [app]), keys_section("Keys of tables", [Listing, Table])]
    sections += [keys_section(f"Keys of {_name(one)}", [one]) for one in listings if any(own_bindings(one))]
    sections += [keys_section("Keys of a record", [RecordView]), keys_section("Keys of a rewind", [Rewind])]
    sections += meaning_sections()
    sections += [
        columns_section(f"Columns of {one.NAME}", one.COLUMNS)
        for one in listings
        if "COLUMNS" in one.__dict__
    ]
    return sections


def _name(listing: type[Listing[Any]]) -> str:
    return str(listing.__dict__.get("NAME", "a group"))


def _below(cls: type[Listing[Any]]) -> Iterator[type[Listing[Any]]]:
    for one in cls.__subclasses__():
        yield one
        yield from _below(one)
