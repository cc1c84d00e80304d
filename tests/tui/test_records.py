"""The records at the committed offset, the configuration of a group, and commands that are copied."""

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core import Admin
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from kcli.tui.screens.group_config import GroupConfig
from kcli.tui.screens.record import RecordView
from kcli.tui.screens.rewind import Stage
from tests.batches import batch_of
from tests.committing import STAMP, commit
from tests.fake.cluster import FakeCluster
from tests.fake.sasl import Sasl
from tests.run import kcli
from tests.tui.driving import Driver, drive

TP = TopicPartition("t", 0)
GROUP = "it's \x1b]52;c;AAAA\x07"


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    values = [b"first", b"\x1b[31mred[/red]", b'{"a": [1, 2]}', b"\x00\x00\x00\x00\x07{}", b"x" * 300_000]
    rows = [Record("t", 0, n, STAMP, 0, b"k%d" % n, value, (("h", b"1"),)) for n, value in enumerate(values)]
    with FakeCluster(1, topics={"t": 1}) as made:
        made.append("t", 0, bytes(batch_of(rows).raw))
        commit(made, GROUP, {TP: OffsetAndMetadata(2)})
        yield made


@pytest.mark.case("T1", "T2", "T7")
def test_records_around_the_commit_as_text_json_and_hex(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        await screen.press("enter")
        await screen.shows("group it's \\x1b]52;c;AAAA\\x07")
        await screen.until(lambda: screen.app.listing.table.rows)
        await screen.press("enter")
        await screen.until(lambda: isinstance(screen.app.screen, RecordView) and screen.app.screen.record)
        await screen.shows("record of t-0   committed 2   log 0 to 5   not read yet   as text")
        assert "key: 2 bytes" in screen.text
        assert "header h: 1 byte" in screen.text
        await screen.press("v")
        await screen.shows('"a": [')
        await screen.press("v")
        await screen.shows("00000000  7b 22 61 22 3a 20 5b 31")
        await screen.press("c")
        assert screen.app.clipboard == f"kcli consume t -p 0 --offset 2 -n 1 -b {cluster.bootstrap}"
        await screen.press("v", "p")
        await screen.shows("\\x1b[31mred[/red]")
        await screen.press("p", "p")
        await screen.shows("no earlier record")
        await screen.press("n", "n", "n")
        await screen.shows("perhaps of schema 7 in a registry")
        await screen.press("n")
        await screen.shows("234,464 of 300,000 bytes are not shown")
        await screen.press("n")
        await screen.shows("no later record")
        await screen.press("escape", "tab", "tab")
        await screen.until(lambda: isinstance(screen.app.screen, GroupConfig))
        await screen.until(lambda: screen.app.listing.table.rows)
        await screen.press("l")
        await screen.shows("lag over the last 5 minutes")

    drive(cluster.bootstrap, use)


def test_the_clipboard_is_written_only_when_the_key_is_pressed_and_its_commands_work(
    cluster: FakeCluster,
) -> None:
    written: list[str] = []

    async def use(screen: Driver) -> None:
        driver = screen.app._driver
        assert driver is not None
        driver.write = written.append
        await screen.press("j", "k", "enter")
        await screen.until(lambda: len(screen.app.screen_stack) > 2 and screen.app.listing.table.rows)
        assert "\x1b]52" not in "".join(written)
        await screen.press("c")
        await screen.shows("copied, if the terminal allows it: kcli groups lag")
        await screen.press("enter")
        await screen.until(lambda: isinstance(screen.app.screen, RecordView) and screen.app.screen.record)
        await screen.press("c", "escape")
        for _ in range(2):
            await screen.press("tab")
            await screen.until(
                lambda: screen.app.listing.table.rows or "no members" in screen.app.listing.NOTHING
            )
            await screen.press("c")
        for number in "23":
            await screen.press(number)
            await screen.until(lambda: screen.app.listing.table.rows)
            await screen.press("c")

    drive(cluster.bootstrap, use)
    commands = [base64.b64decode(text[7:-1]).decode() for text in written if text.startswith("\x1b]52;c;")]
    group = "$'it\\'s \\x1b]52;c;AAAA\\x07'"
    assert commands == [
        f"kcli {words} -b {cluster.bootstrap}"
        for words in (
            f"groups lag {group} --topic t", "consume t -p 0 --offset 2 -n 1", f"groups describe {group} --members",
            f"configs describe groups {group} --all", "topics describe t", "cluster describe",
        )
    ]  # fmt: skip
    for one in commands:
        words = subprocess.run(
            ["bash", "-c", f"printf '%s\\0' {one}"], capture_output=True, check=True
        ).stdout
        done = kcli(*words.decode().split("\0")[1:-1])
        assert done.code == 0, (one, done)


@pytest.mark.case("T9")
def test_secrets_of_the_command_line_are_neither_shown_nor_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    given = (
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=SCRAM-SHA-256",
        "sasl.username=alice",
        "sasl.password=canary",
    )
    options = {name.replace(".", "_"): value for name, value in (pair.split("=") for pair in given)}
    seen: list[str] = []

    async def use(screen: Driver) -> None:
        await screen.press("c")
        seen.append(screen.app.clipboard)
        await screen.press("u")
        await screen.shows("no rewind of group g is in the journal")
        seen.append(screen.text)
        await screen.press("c")
        seen.append(screen.app.clipboard)
        seen.append(screen.app.export_screenshot())

    with FakeCluster(1, topics={"t": 1}, sasl=Sasl(users={"alice": "canary"})) as cluster:
        with Admin(bootstrap_servers=cluster.bootstrap, **options) as admin:
            assert not any(admin.commit_offsets({"g": {TP: OffsetAndMetadata(0)}})["g"].values())
        drive(cluster.bootstrap, use, values={"command_property": given, "allow_plaintext_secrets": True})
    assert "-X sasl.username=alice" in seen[0]
    assert not [text for text in seen if "canary" in text]


@pytest.mark.case("T3")
def test_records_and_dialogs_survive_any_size(cluster: FakeCluster) -> None:
    sizes = ((20, 5), (1, 1), (300, 100), (2, 30), (80, 24))

    async def use(screen: Driver) -> None:
        await screen.press("enter")
        await screen.until(lambda: len(screen.app.screen_stack) > 2 and screen.app.listing.table.rows)
        await screen.press("l")
        await screen.resize(*sizes)
        await screen.press("tab", "tab")
        await screen.resize(*sizes)
        await screen.press("w")
        await screen.resize(*sizes)
        await screen.press("enter")
        await screen.until_stage(Stage.REVIEW)
        await screen.resize(*sizes)
        await screen.press("escape", "escape", "tab")
        await screen.until(lambda: screen.app.listing.table.rows)
        await screen.press("enter")
        await screen.until(lambda: isinstance(screen.app.screen, RecordView) and screen.app.screen.record)
        await screen.resize(*sizes)
        await screen.shows("key: 2 bytes")

    drive(cluster.bootstrap, use)
