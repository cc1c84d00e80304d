"""What is on the screen, in a file."""

import csv
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from kcli.core.errors import KcliError
from kcli.tui import export
from kcli.tui.export import FORMATS, Contents, default_name, rendered, write
from kcli.tui.screens.export_name import ExportName
from kcli.tui.screens.listing import Listing
from tests.printed_json import check_printed
from tests.tui.made_up import BEGIN
from tests.tui.screens import picture, playing, recording_in, run


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recording_in(tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def contents(recorded: Path) -> Contents:
    found: list[Contents] = []

    async def script() -> None:
        async with playing(recorded, size=(140, 30)) as (app, _pilot):
            assert isinstance(app.screen, Listing)
            assert app.snapshot is not None
            found.append(app.screen.contents(app.snapshot))

    run(script)
    return found[0]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def test_json_has_the_keys_of_groups_lag_and_exact_values(contents: Contents) -> None:
    document = json.loads(rendered("json", contents))
    assert document["kind"] == "TopGroupList"
    assert document["api"] == "kcli/v1"
    assert document["at"] == "2026-11-23T08:11:00.000Z"
    assert [item["group"] for item in document["items"]] == [
        "audit",
        "clickstream",
        "search-index",
        "billing",
    ]
    first = document["items"][2]
    assert isinstance(first["lag_records"], int)
    assert first["lag_seconds"] == 67.0
    assert (first["lag_method"], first["verdict"]) == ("interpolated", "slow")
    assert {"state", "members", "topics", "consumed_per_second", "eta_seconds", "net_per_second"} <= set(
        first
    )


def test_a_document_says_what_is_missing_on_the_screen(recorded: Path) -> None:
    async def script() -> None:
        async with playing(recorded, size=(140, 30)) as (app, _pilot):
            assert isinstance(app.screen, Listing)
            assert app.snapshot is not None
            lacking = replace(app.snapshot.reading, problems=[KcliError("broker 2 did not answer")])
            for snapshot, complete in (
                (app.snapshot, True),
                (replace(app.snapshot, reading=lacking), False),
            ):
                document = json.loads(rendered("json", app.screen.contents(snapshot)))
                assert (document["complete"], not document["missing"]) == (complete, complete)

    run(script)


def test_all_formats_have_the_same_rows(contents: Contents) -> None:
    items = json.loads(rendered("json", contents))["items"]
    lines = [json.loads(line) for line in rendered("ndjson", contents).splitlines()]
    assert [{key: line[key] for key in line if key != "kind"} for line in lines] == items
    assert {line["kind"] for line in lines} == {"TopGroup"}
    for form, sign in (("csv", ","), ("tsv", "\t")):
        rows = list(csv.DictReader(rendered(form, contents).decode().splitlines(), delimiter=sign))
        assert [row["group"] for row in rows] == [item["group"] for item in items]
        assert [int(row["lag_records"]) for row in rows] == [item["lag_records"] for item in items]


def test_text_is_the_screen(recorded: Path, contents: Contents) -> None:
    text = rendered("txt", contents).decode()
    assert text.startswith(" kcli top  shop")
    assert "GROUP" in text
    assert "▲ slow" in text


def test_an_empty_table_has_its_header(contents: Contents) -> None:
    empty = contents._replace(rows=())
    assert rendered("csv", empty).decode().startswith("verdict,group,")
    assert json.loads(rendered("json", empty))["items"] == []


def test_the_mode_of_the_file_is_by_umask(contents: Contents, here: Path) -> None:
    before = os.umask(0o027)
    try:
        write("out.csv", contents)
    finally:
        os.umask(before)
    assert stat.S_IMODE((here / "out.csv").stat().st_mode) == 0o640
    assert [one.name for one in here.iterdir()] == ["out.csv"]


def test_a_file_that_exists_stays(contents: Contents, here: Path) -> None:
    (here / "out.csv").write_text("mine")
    (here / "link.csv").symlink_to("nowhere")
    for name in ("out.csv", "link.csv", " out.csv "):
        with pytest.raises(KcliError, match="exists already"):
            write(name, contents)
    assert (here / "out.csv").read_text() == "mine"


@pytest.mark.parametrize(
    "name",
    ["", "  ", "csv", ".csv", "missing/.csv", "out", "out.xlsx", "missing/out.csv", "out.csv/", "a\0.csv"],
)
def test_other_names_are_refused(contents: Contents, here: Path, name: str) -> None:
    with pytest.raises(KcliError):
        write(name, contents)
    assert not list(here.iterdir())


def test_why_an_ending_is_refused_fits_in_the_dialog(contents: Contents) -> None:
    with pytest.raises(KcliError) as refused:
        write("out.xlsx", contents)
    assert str(refused.value) == "the name must end with one of .csv .tsv .json .ndjson .txt"
    assert len(str(refused.value)) <= 66


def test_a_full_disk_leaves_nothing(contents: Contents, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_fd: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(KcliError, match="cannot write") as caught:
        write("out.json", contents)
    assert "no space left" in caught.value.why
    assert not list(here.iterdir())


def test_names_that_are_suggested_have_the_time_on_the_screen() -> None:
    assert default_name("groups", BEGIN, 3600) == "kcli-top-groups-20261123-090500.csv"
    assert set(FORMATS) == {"csv", "tsv", "json", "ndjson", "txt"}


def test_e_asks_and_writes_what_is_filtered_and_sorted(recorded: Path, here: Path) -> None:
    async def script() -> None:
        async with playing(recorded) as (app, pilot):
            await pilot.press("slash", "i", "enter", "less_than_sign", "e")
            await pilot.pause()
            line = app.screen.query_one(Input)
            assert line.value == "kcli-top-groups-20261123-091100.csv"
            await pilot.press("ctrl+u", *"x.csv", "enter")
            await pilot.pause()
            assert isinstance(app.screen, Listing)
            assert app.screen.wanted == "i"

    run(script)
    rows = list(csv.DictReader((here / "x.csv").read_text().splitlines()))
    assert sorted(row["group"] for row in rows) == ["audit", "billing", "clickstream", "search-index"]


def test_a_name_that_cannot_be_written_is_asked_again(recorded: Path, here: Path) -> None:
    (here / "mine.csv").write_text("mine")

    async def script() -> None:
        async with playing(recorded) as (app, pilot):
            await pilot.press("e")
            await pilot.pause()
            await pilot.press("ctrl+u", *"mine.csv", "enter")
            await pilot.pause()
            assert isinstance(app.screen, ExportName)
            assert "mine.csv exists already" in picture(app)
            await pilot.press("escape")
            await pilot.pause()
            assert isinstance(app.screen, Listing)

    run(script)
    assert (here / "mine.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("key", "item"),
    [
        ("1", "TopGroup"), ("2", "TopTopic"), ("3", "TopBroker"), ("4", "TopReplica"), ("5", "TopTransaction"),
        ("6", "TopMirror"), ("7", "TopEvent"),
    ],
)  # fmt: skip
def test_every_list_is_exported(recorded: Path, key: str, item: str) -> None:
    async def script() -> None:
        async with playing(recorded) as (app, pilot):
            await pilot.press(key)
            assert isinstance(app.screen, Listing)
            app.screen.repaint()
            assert app.snapshot is not None
            found = app.screen.contents(app.snapshot)
            assert found.item == item
            assert found.rows
            for form in FORMATS:
                assert rendered(form, found)
            check_printed(rendered("json", found), rendered("ndjson", found))

    run(script)


def test_the_screens_of_a_topic_are_exported(recorded: Path) -> None:
    async def script() -> None:
        async with playing(recorded) as (app, pilot):
            app.open_topic("orders")
            await pilot.pause()
            for item in ("TopTopicPartition", "TopReader", "TopConfig"):
                assert isinstance(app.screen, Listing)
                app.screen.repaint()
                assert app.snapshot is not None
                found = app.screen.contents(app.snapshot)
                assert found.item == item
                assert found.rows
                check_printed(rendered("json", found), rendered("ndjson", found))
                await pilot.press("tab")
                await pilot.pause()

    run(script)


def test_partitions_and_members_are_exported(recorded: Path) -> None:
    async def script() -> None:
        async with playing(recorded) as (app, pilot):
            app.open_group("billing")
            await pilot.pause()
            for item in ("TopPartition", "TopMember"):
                assert isinstance(app.screen, Listing)
                app.screen.repaint()
                assert app.snapshot is not None
                found = app.screen.contents(app.snapshot)
                check_printed(export.rendered("json", found))
                rows = json.loads(export.rendered("json", found))["items"]
                assert found.item == item
                assert all(isinstance(row["lag_records"], int) for row in rows)
                assert all("client_id" in row for row in rows)
                await pilot.press("tab")
                await pilot.pause()

    run(script)
