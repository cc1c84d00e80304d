"""Every screen can be read: each pair of colours on it, and each text at 80 columns. `make gallery` draws them."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.color import Color

from kcli.docgen.frames import Ink
from kcli.tui.palette import LEAST_CONTRAST, contrast
from kcli.tui.screens import record
from tests.tui.gallery import SCREENS, Shown, page, recordings, shown, shown_in, text_of

SMALL, USUAL = (80, 24), (120, 40)
CUT = re.compile(r"\S…")
ONLY_DRAWN = frozenset("─━│▌╭╮╰╯┌┐└┘▁▂▃▄▅▆▇█▔▕▎▏▊ ")
"""What is no text: lines and bars."""
NAMES_ARE_LONG = ("groups-many", "palette")
"""The names of one have 40 characters, the other is Textual's and says "Search for commands…"."""
EVENT = re.compile(r"\W*\d\d:\d\d:\d\d ")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "read_page", page)
        yield recordings(tmp_path_factory.mktemp("gallery"))


def taken(made: dict[str, Path], name: str, look: str, size: tuple[int, int] = SMALL) -> Shown:
    return asyncio.run(shown(made[SCREENS[name][0]], name, size, look))


def unreadable(found: Shown, least: float) -> list[tuple[str, Ink, float]]:
    return [
        (text, ink, ratio)
        for row in found.rows
        for text, ink in row
        if set(text) - ONLY_DRAWN
        and (ratio := contrast(Color.parse(ink.text), Color.parse(ink.ground))) < least
    ]


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_in_dark_and_in_light_can_be_read_and_nothing_is_cut(
    made: dict[str, Path], name: str
) -> None:
    looks = asyncio.run(shown_in(made[SCREENS[name][0]], name, SMALL, "dark", light=True))
    dark, light = ({ink.ground for row in found.frame.rows for _, ink in row} for found in looks)
    assert dark != light
    for found in looks:
        assert not unreadable(found, LEAST_CONTRAST)
    if name not in NAMES_ARE_LONG:
        lines = text_of(looks[0].rows)
        cut = [line for line in lines if CUT.search(line)]
        if name == "events":  # what is too long for its row is below the table
            cut = [line for line in cut if not EVENT.match(line.lstrip("▌"))]
        assert not cut, "\n".join(lines)


@pytest.mark.parametrize("look", ["sixteen", "sixteen-light"])
@pytest.mark.parametrize("name", ["groups", "groups-outage", "partitions", "rewind-confirm", "sort-menu"])
def test_a_screen_in_sixteen_colours_can_be_read(made: dict[str, Path], name: str, look: str) -> None:
    assert not unreadable(taken(made, name, look), 4)


@pytest.mark.parametrize("name", ["groups", "groups-outage", "partitions"])
def test_without_colours_signs_and_weights_are_left(made: dict[str, Path], name: str) -> None:
    found = taken(made, name, "no-colour")
    inks = {ink for row in found.frame.rows for _, ink in row}
    assert len({(ink.text, ink.ground) for ink in inks}) <= 2, "reversed text has them the other way round"
    text = "\n".join(text_of(found.rows))
    assert "✖ stalled" in text
    assert "▌" in text


@pytest.mark.parametrize("look", ["sixteen", "sixteen-light", "no-colour"])
@pytest.mark.parametrize("name", ["palette", "sort-menu"])
def test_what_is_chosen_in_a_list_stands_out(made: dict[str, Path], name: str, look: str) -> None:
    """The other way round than what can be chosen."""
    chosen, other = {
        "palette": ("A longer time between two readings", "A shorter time between two readings"),
        "sort-menu": ("VERDICT", "GROUP"),
    }[name]
    found, grounds = taken(made, name, look), []
    rows = found.frame.rows if name == "palette" else found.rows
    for word in (chosen, other):
        [row] = [row for row in rows if word in text_of([row])[0]]
        letters = [ink for text, ink in row for _ in text]
        grounds.append(Color.parse(letters[text_of([row])[0].index(word)].ground))
    assert contrast(*grounds) >= LEAST_CONTRAST


@pytest.mark.parametrize(
    "name", ["brokers", "topics", "topic", "quorum", "transactions", "partitions", "members"]
)
def test_at_120_columns_no_cell_of_a_table_is_cut(made: dict[str, Path], name: str) -> None:
    lines = text_of(taken(made, name, "dark", USUAL).rows)
    assert not [line for line in lines if CUT.search(line)], "\n".join(lines)


def test_topics_do_not_count_groups_that_could_not_be_read(made: dict[str, Path]) -> None:
    lines = text_of(taken(made, "topics-outage", "dark", USUAL).rows)
    at = next(line.index("GROUPS") for line in lines if "WORST LAG" in line)
    groups = {
        line.split()[0].lstrip("▌"): line[at : at + 6].strip() for line in lines if "not in sync" in line
    }
    assert groups == {"payments": "≥2", "shipments": "–", "audit-log": "–", "ledger": "–"}


def test_a_calm_group_has_calm_partitions(made: dict[str, Path]) -> None:
    lines = text_of(taken(made, "share-partitions", "dark", USUAL).rows)
    rows = [line for line in lines if " ok " in line and " orders " in line]
    assert len(rows) == 4
    assert all("▁▁▁▁▁" in row and not set("▂▃▄▅▆▇█") & set(row) for row in rows), "\n".join(rows)


def test_the_events_below_a_group_say_that_they_are(made: dict[str, Path]) -> None:
    lines = text_of(taken(made, "groups", "dark", USUAL).rows)
    assert [line for line in lines if re.match(r" +events +02:00:30 verdict: stalled", line)], "\n".join(
        lines
    )
