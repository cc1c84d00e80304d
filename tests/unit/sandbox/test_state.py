"""The state file: round trip, damage, one-step replacement."""

import json
from pathlib import Path

import pytest

from kcli.sandbox.errors import RefusedError, SandboxError, UsageError
from kcli.sandbox.paths import cache_root, home_of, state_root
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.state import FILE_NAME, from_json, read_state, to_json, write_state
from tests.unit.sandbox.states import ENDED, make_state


@pytest.mark.parametrize("zookeeper", [False, True])
def test_round_trip(zookeeper: bool) -> None:
    state = make_state(brokers=3, process=ENDED, zookeeper=zookeeper)
    assert from_json(to_json(state)) == state


def test_processes_have_brokers_before_zookeeper() -> None:
    assert len(make_state(brokers=2, process=ENDED, zookeeper=True).processes) == 3
    assert make_state().processes == []


def test_ports_are_all_that_it_listens_on() -> None:
    assert make_state(brokers=2).ports == {9092, 9093, 29000, 29001}
    assert make_state(zookeeper=True).ports == {9092, 2181}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 0}', '{"format": "x"}', "null"])
def test_a_damaged_file_is_no_state(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert read_state(tmp_path) is None


def test_a_state_of_the_format_before_security_is_of_a_sandbox_without_it() -> None:
    document = json.loads(to_json(make_state()))
    del document["secure"]
    assert from_json(json.dumps({**document, "format": 1})) == make_state()


def test_a_state_of_a_newer_kcli_is_refused_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('{"format": 99, "name": "dev"}')
    with pytest.raises(RefusedError, match="sandbox dev was made by a newer kcli") as caught:
        read_state(tmp_path)
    assert caught.value.exit_code == 7


def test_write_leaves_one_file(tmp_path: Path) -> None:
    write_state(tmp_path / "s", make_state())
    write_state(tmp_path / "s", make_state(brokers=3))
    assert [path.name for path in (tmp_path / "s").iterdir()] == [FILE_NAME]
    found = read_state(tmp_path / "s")
    assert found is not None
    assert len(found.nodes) == 3


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".locks", "x" * 65, "a b", "a\n"])
def test_a_name_that_is_no_folder_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        home_of(name)


def test_folders_follow_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative-is-ignored")
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.delenv("KCLI_CACHE", raising=False)
    assert state_root() == Path("/s/kcli/sandboxes")
    assert cache_root() == Path("/h/.cache/kcli")
    monkeypatch.setenv("KCLI_CACHE", "/c")
    assert cache_root() == Path("/c")


def test_a_state_folder_that_cannot_be_made_is_named_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(SandboxError, match=r"cannot create the directory .*/file/kcli/sandboxes") as caught:
        Sandbox("one").up()
    assert caught.value.do == "set XDG_STATE_HOME to a writable directory"
