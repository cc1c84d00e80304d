"""The plots of the documentation, and what is written beside them, are of the stored reports."""

import json

from kcli.commands.perf.result import summary
from kcli.docgen.pictures import FOLDER
from kcli.docgen.plots import PERF, PROFILE, perf_pictures, profile_pictures

REPORT = json.loads((FOLDER / "perf.json").read_text(encoding="utf-8"))


def test_the_page_on_perf_quotes_the_run_that_is_drawn() -> None:
    page = (FOLDER.parent / "perf.md").read_text(encoding="utf-8")
    quoted = "\n".join(summary(REPORT["items"][0])[:3])
    assert f"```text\n{quoted}\n```" in page
    assert all(f"](pictures/{name})" in page for name in PERF)


def test_every_picture_is_shown_on_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in FOLDER.parent.glob("**/*.md"))
    shown = {path.name: path.name.replace("-light.svg", ".svg") for path in FOLDER.glob("*.svg")}
    assert [name for name, dark in shown.items() if f"pictures/{dark})" not in pages] == []


def test_a_picture_stands_alone() -> None:
    """It has its size and its style; a stall is a gap in the line of the latencies."""
    pictures = perf_pictures(REPORT)
    assert set(pictures) == set(PERF)
    for svg in pictures.values():
        assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 -10 920 280" width="920"')
        assert "prefers-color-scheme: dark" in svg
    lines = pictures["perf-latency.svg"].split('class="line')[1:]
    assert len(lines) == 3
    assert all(line.split(' d="')[1].split('"')[0].count("M") > 1 for line in lines)


def test_the_largest_partition_is_drawn_in_another_colour() -> None:
    report = json.loads((FOLDER / "profile.json").read_text(encoding="utf-8"))
    pictures = profile_pictures(report)
    assert set(pictures) == set(PROFILE)
    assert pictures["profile-partitions.svg"].count('class="high"') == 1
    assert "<text" in pictures["profile-times.svg"]
