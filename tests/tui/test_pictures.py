"""The pictures of the documentation are what the screen shows."""

import html
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pyte
import pytest

from kcli.docgen.pictures import FOLDER, PICTURES, RECORDING, plots, render
from tests.tui.incident import write

MOVING = ("top-incident-light.svg", "top-incident.cast", "top-incident.svg")
MOST_BYTES = 400_000
FAULT = "stale: run make pictures"


@pytest.fixture(scope="module")
def pictures() -> dict[str, str]:
    return render()


def words(svg: str) -> list[str]:
    """What can be read in a picture; how it is drawn may differ between releases of Textual."""
    return [html.unescape(text) for text in re.findall(r">([^<]+)</text>", svg)]


def test_the_recording_is_the_made_up_one(tmp_path: Path) -> None:
    assert write(tmp_path / "file").read_bytes() == RECORDING.read_bytes(), FAULT


@pytest.mark.long
def test_the_stored_pictures_show_the_screen(pictures: dict[str, str]) -> None:
    assert sorted(one.name for one in FOLDER.iterdir() if one.suffix in (".svg", ".cast")) == sorted(pictures)
    for name in PICTURES:
        assert words((FOLDER / name).read_text(encoding="utf-8")) == words(pictures[name]), FAULT


def test_the_stored_plots_are_those_of_the_reports(pictures: dict[str, str]) -> None:
    drawn = plots()
    assert sorted([*PICTURES, *MOVING, *drawn]) == sorted(pictures)
    for name, svg in drawn.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == svg, FAULT
        assert ElementTree.fromstring(svg).attrib["width"] == "920"


@pytest.mark.long
@pytest.mark.long
def test_the_same_recording_gives_the_same_bytes(pictures: dict[str, str]) -> None:
    assert render() == pictures


def test_the_pictures_show_what_they_are_for(pictures: dict[str, str]) -> None:
    seen = {name: " ".join(words(svg)).replace("\xa0", " ") for name, svg in pictures.items()}
    for verdict in ("● ok", "▲ slow", "✖ stalled", "▲ rebalancing"):
        assert verdict in seen["top-groups.svg"]
    assert "billing-1" in seen["top-group.svg"]
    assert "WORST LAG" in seen["top-topics.svg"]
    for name, text in (
        ("topic", "topic orders"),
        ("quorum", "1 behind: voter 3"),
        ("transactions", "✖ Hanging"),
        ("mirrors", "▲ waiting"),
    ):
        assert text in seen[f"top-{name}.svg"]


def test_the_moving_picture_tells_the_incident_and_stays_small(pictures: dict[str, str]) -> None:
    for name in MOVING:
        assert len(pictures[name].encode()) < MOST_BYTES
        assert words(pictures[name]) == words((FOLDER / name).read_text(encoding="utf-8")), FAULT
    for name in MOVING[::2]:
        seen = " ".join(words(pictures[name])).replace("\xa0", " ")
        for text in (
            "✖ stalled",
            "orders-7 no commit for",
            "Rewind group billing",
            "+1",
            "set and held",
            "6 ok",
        ):
            assert text in seen, (name, text)
        ElementTree.fromstring(pictures[name])
        assert "prefers-reduced-motion" in pictures[name]
        assert "http" not in pictures[name].replace("http://www.w3.org/2000/svg", "")


def test_the_session_is_an_asciicast_whose_last_screen_is_calm(pictures: dict[str, str]) -> None:
    head, *rest = map(json.loads, pictures["top-incident.cast"].splitlines())
    assert head["version"] == 2
    screen = pyte.Screen(head["width"], head["height"])
    stream = pyte.Stream(screen)
    times = [at for at, _, _ in rest]
    assert times == sorted(times)
    kinds = set()
    for _, kind, data in rest:
        kinds.add(kind)
        if kind == "o":
            stream.feed(data)
    assert kinds == {"o", "m"}
    text = "\n".join(screen.display)
    assert "stalled" not in text.split("billing")[0]
    assert "● ok" in text
