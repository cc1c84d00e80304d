"""The pictures of the documentation are what the screen shows."""

import html
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kcli.docgen.pictures import FOLDER, PICTURES, RECORDING, plots, render
from tests.tui.made_up import write

FAULT = "stale: run make pictures"


@pytest.fixture(scope="module")
def pictures() -> dict[str, str]:
    return render()


def words(svg: str) -> list[str]:
    """What can be read in a picture; how it is drawn may differ between releases of Textual."""
    return [html.unescape(text) for text in re.findall(r">([^<]+)</text>", svg)]


def test_the_recording_is_the_made_up_one(tmp_path: Path) -> None:
    assert write(tmp_path / "file").read_bytes() == RECORDING.read_bytes(), FAULT


def test_the_stored_pictures_show_the_screen(pictures: dict[str, str]) -> None:
    assert sorted(path.name for path in FOLDER.glob("*.svg")) == sorted(pictures)
    for name in PICTURES:
        assert words((FOLDER / name).read_text(encoding="utf-8")) == words(pictures[name]), FAULT


def test_the_stored_plots_are_those_of_the_reports(pictures: dict[str, str]) -> None:
    drawn = plots()
    assert sorted([*PICTURES, *drawn]) == sorted(pictures)
    for name, svg in drawn.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == svg, FAULT
        assert ElementTree.fromstring(svg).attrib["width"] == "920"


def test_the_same_recording_gives_the_same_bytes(pictures: dict[str, str]) -> None:
    assert render() == pictures


def test_the_pictures_show_what_they_are_for(pictures: dict[str, str]) -> None:
    seen = {name: " ".join(words(svg)).replace("\xa0", " ") for name, svg in pictures.items()}
    for verdict in ("● ok", "▲ slow", "✖ stalled", "▲ rebalancing"):
        assert verdict in seen["top-groups.svg"]
    assert "search-index-0" in seen["top-group.svg"]
    assert "WORST LAG" in seen["top-topics.svg"]
    for name, text in (
        ("topic", "topic orders"),
        ("quorum", "1 behind: voter 3"),
        ("transactions", "✖ Hanging"),
        ("mirrors", "▲ waiting"),
    ):
        assert text in seen[f"top-{name}.svg"]
