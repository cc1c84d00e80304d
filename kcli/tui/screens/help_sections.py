"""What the help lists: every class with keys that work here, and the columns of every table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kcli.tui.facts import REPLAY_ONLY, Facts, offered
from kcli.tui.help_lines import Section, columns_section, keys_section, meaning_sections
from kcli.tui.screens.listing import Listing
from kcli.tui.screens.record import RecordView
from kcli.tui.screens.rewind import Rewind
from kcli.tui.widgets.table import Table


def help_sections(app: type[Any], facts: Facts) -> list[Section]:
    """Keys first: those that work everywhere, those of a recording, those of tables, those of one screen only."""

    def here(action: str) -> bool:
        return offered(action, facts)

    def of_replays(action: str) -> bool:
        return action.partition("(")[0] in REPLAY_ONLY

    listings = list(_below(Listing))
    sections = [keys_section("Keys", [app], lambda action: here(action) and not of_replays(action))]
    if facts.replay is not None:
        sections.append(keys_section("Keys of the recording", [app], of_replays))
    sections.append(keys_section("Keys of tables", [Listing, Table], here))
    sections += [keys_section(f"Keys of {_name(one)}", [one], here) for one in listings]
    if facts.replay is None:
        sections.append(keys_section("Keys of a record", [RecordView], here))
    if facts.read_only is None:
        sections.append(keys_section("Keys of a rewind", [Rewind], here))
    sections += meaning_sections()
    sections += [
        columns_section(f"Columns of {one.NAME}", one.COLUMNS)
        for one in listings
        if "COLUMNS" in one.__dict__
    ]
    return sections


def _name(listing: type[Listing[Any]]) -> str:
    own = listing.__dict__
    return str(own.get("NAME") or own.get("SHARED_BY", ""))


def _below(cls: type[Listing[Any]]) -> Iterator[type[Listing[Any]]]:
    for one in cls.__subclasses__():
        yield one
        yield from _below(one)
