"""The journal of rewinds: on the disk before anything, whole or not at all, and found again."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.files.journal_folder import JournalError, new_id
from kcli.files.lock import LockedError
from kcli.flows.rewind.journal import Journals, LiveEntry
from kcli.flows.rewind.plan import GroupPlan, RewindItem
from kcli.flows.rewind.targets import TargetError

A, B, C = (TopicPartition("a", number) for number in range(3))
NEW = OffsetAndMetadata(1)
NOW = 1_795_252_443_123


def plan(group: str = "g", journal_id: str = "20261121-091403-3fa9c1", metadata: str = "m") -> GroupPlan:
    items = (
        RewindItem(A, OffsetAndMetadata(7, metadata, 3), NEW),
        RewindItem(B, None, NEW),
        RewindItem(C, OffsetAndMetadata(9), None, refusal=TargetError("no")),
    )
    return GroupPlan(group, journal_id, "earliest", "Empty", items)


@given(metadata=st.text(), group=st.text(min_size=1))
def test_what_was_committed_comes_back(
    metadata: str, group: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    journals = Journals("Qx3", tmp_path_factory.mktemp("j"))
    journals.write(plan(group, metadata=metadata), NOW)
    assert journals.of(group).before == {A: OffsetAndMetadata(7, metadata, 3), B: None}


def test_files_and_folders_are_the_users_own(tmp_path: Path) -> None:
    path = Journals("Qx3", tmp_path / "rewind").write(plan(), NOW)
    assert path == tmp_path / "rewind/Qx3/20261121-091403-3fa9c1.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_it_is_synced_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    real_sync, real_rename = os.fsync, os.rename

    def sync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_sync(descriptor)

    def rename(old: str, new: str) -> None:
        steps.append("rename")
        real_rename(old, new)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", rename)
    Journals("Qx3", tmp_path).write(plan(), NOW)
    assert steps == ["folder", "file", "rename", "folder"]


@pytest.mark.parametrize("cluster", ["Qx3-_9", "../..", "..", "a/b", ""])
def test_a_cluster_id_is_a_folder_below_the_root(cluster: str, tmp_path: Path) -> None:
    folder = Journals(cluster, tmp_path / "rewind").folder
    assert folder.resolve().parent == (tmp_path / "rewind").resolve()


def test_the_newest_of_the_group_or_the_named_one(tmp_path: Path) -> None:
    journals = Journals("Qx3", tmp_path)
    for at, (group, name) in enumerate([("g", "2"), ("g", "1"), ("h", "3")]):
        journals.write(plan(group, name), NOW + at)
    assert journals.of("g").id == "1"
    assert journals.of("g", "2").id == "2"
    with pytest.raises(ConfigError, match="not of group g"):
        journals.of("g", "3")
    with pytest.raises(NotFoundError, match="no journal 4"):
        journals.of("g", "4")
    with pytest.raises(NotFoundError, match="no rewind of group x"):
        journals.of("x")
    with pytest.raises(NotFoundError):
        Journals("other", tmp_path).of("g")
    journals.remove("1")
    assert journals.of("g").id == "2"


@pytest.mark.parametrize("text", [b"", b"{", b'{"kind":"x"}', b"\xff"])
def test_an_invalid_file_is_reported_once(text: bytes, tmp_path: Path) -> None:
    journals = Journals("Qx3", tmp_path)
    path = journals.write(plan(), NOW)
    (path.parent / "broken.json").write_bytes(text)
    listed, broken = journals.listed()
    assert [one.id for one in listed] == [plan().id]
    assert broken == [str(path.parent / "broken.json")]


def test_a_full_disk_is_an_error_before_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError, match="no space left"):
        Journals("Qx3", tmp_path).write(plan(), NOW)
    assert not list(tmp_path.glob("*/*"))


@pytest.mark.case("O16")
def test_one_rewind_of_a_group_at_a_time(tmp_path: Path) -> None:
    journals = Journals("Qx3", tmp_path)
    with journals.locked(["g", "h"]):
        with pytest.raises(LockedError, match="rewinding group h"), journals.locked(["h", "i"]):
            pass
        with journals.locked(["i"]), Journals("other", tmp_path).locked(["g"]):
            pass
    with journals.locked(["h"]):
        pass


def test_ids_are_utc_and_differ() -> None:
    first, second = new_id(NOW), new_id(NOW)
    assert first.startswith("20261121-091403-")
    assert len(first) == 22
    assert first != second


def test_the_keys_of_a_live_rewind_on_disk_stay_as_they_are(tmp_path: Path) -> None:
    """Journals of earlier versions are read with --undo and --check."""
    journals = Journals("Qx3", tmp_path)
    path = journals.write(plan(), NOW)
    journals.update(plan().id, live=LiveEntry(NOW, -12.5, "classic", "range", [], [], [], 3.0), statuses={})
    assert json.loads(path.read_text())["live"] == {
        "let_in": NOW,
        "sent_out_at": -12.5,
        "type": "classic",
        "assignor": "range",
        "members": [],
        "arrivals": [],
        "partitions": [],
        "looked_until": 3.0,
    }
