"""Names that are kept for a minute: for whom, how long, and what is wrong with files; and which names are offered."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from kcli.core.options import ClientOptions
from kcli.flows.completion.names import (
    FRESH,
    LONGEST,
    MOST,
    PAUSE,
    Kept,
    names_path,
    offered,
    read_names,
    write_names,
)

HERE = ClientOptions(bootstrap_servers="a:1")


def kept(tmp_path: Path, names: list[str], **settings: bool) -> tuple[str, float]:
    path = names_path(tmp_path, "groups", HERE)
    now = 1e9
    write_names(path, names, now, **settings)
    return path, os.stat(path).st_mtime if settings.get("answered", True) else now


def test_what_was_written_is_read_for_a_minute(tmp_path: Path) -> None:
    path, now = kept(tmp_path, ["b", "a b", "é"])
    assert read_names(path, now) == Kept(["b", "a b", "é"], fresh=True)
    assert read_names(path, now + FRESH - 1).fresh
    assert read_names(path, now + FRESH) == Kept(["b", "a b", "é"], fresh=False)
    assert not read_names(path, now - 1).fresh, "the clock was set back"


def test_no_names_are_an_answer_too(tmp_path: Path) -> None:
    path, now = kept(tmp_path, [])
    assert read_names(path, now) == Kept([], fresh=True)


def test_a_cluster_that_did_not_answer_is_not_asked_again_for_a_moment(tmp_path: Path) -> None:
    path, now = kept(tmp_path, ["old"], answered=False)
    assert read_names(path, now) == Kept(["old"], fresh=True)
    assert read_names(path, now + PAUSE - 0.1).fresh
    assert read_names(path, now + PAUSE + 0.1) == Kept(["old"], fresh=False)


@pytest.mark.case("X18")
def test_only_the_owner_may_read_it_and_no_temporary_file_stays(tmp_path: Path) -> None:
    path, _now = kept(tmp_path, ["a"])
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]


@pytest.mark.case("X20")
def test_it_holds_names_and_nothing_else(tmp_path: Path) -> None:
    path, _now = kept(tmp_path, ["a", "new\nline", "b"])
    assert Path(path).read_text() == "kcli names 2\na\nb"


def test_each_cluster_kind_and_identity_has_its_own(tmp_path: Path) -> None:
    others = [
        replace(HERE, bootstrap_servers="b:1"),
        replace(HERE, client_id="me"),
        replace(HERE, security_protocol="SSL"),
        replace(HERE, ssl_certificate_location="/me.pem"),
    ]
    paths = [names_path(tmp_path, "groups", options) for options in (HERE, *others)]
    paths.append(names_path(tmp_path, "topics", HERE))
    assert len(set(paths)) == len(paths)
    assert names_path(tmp_path, "groups", replace(HERE, request_timeout_ms=1)) == paths[0]
    assert not any(word in path for path in paths for word in ("a:1", "me.pem"))


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"kcli names 3\na", b'{"names": ["a"]}', b"kcli names 2\n\xff", b"a\nb\n"],
)
def test_a_broken_file_is_ignored(tmp_path: Path, content: bytes) -> None:
    path, now = kept(tmp_path, ["a"])
    Path(path).write_bytes(content)
    assert read_names(path, os.stat(path).st_mtime) == Kept([], fresh=False)
    write_names(path, ["a"], now)
    assert read_names(path, os.stat(path).st_mtime) == Kept(["a"], fresh=True)


def test_a_foreign_file_is_ignored(tmp_path: Path) -> None:
    path, now = kept(tmp_path, ["a"])
    nothing = Kept([], fresh=False)
    os.rename(path, path + ".real")
    os.symlink(path + ".real", path)
    assert read_names(path, now) == nothing
    os.unlink(path)
    os.mkfifo(path)
    assert read_names(path, now) == nothing, "and nobody waits for a writer"
    os.unlink(path)
    os.mkdir(path)
    assert read_names(path, now) == nothing
    write_names(path, ["a"], now)
    assert read_names(path + "/gone", now) == nothing


def test_where_nothing_can_be_cached_nothing_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write_names(str(tmp_path / "file" / "completion" / "x"), ["a"], 0.0)
    write_names("/proc/kcli/x", ["a"], 0.0)


def test_names_that_begin_so_sorted_and_once() -> None:
    assert offered(["b2", "a", "b1", "b2"], "b") == ["b1", "b2"]


def test_the_clusters_own_names_only_when_their_first_character_was_typed() -> None:
    names = ["orders", "_mine", "__consumer_offsets"]
    assert offered(names, "", hide="__") == ["_mine", "orders"]
    assert offered(names, "_", hide="__") == ["__consumer_offsets", "_mine"]
    assert offered(names, "__c", hide="__") == ["__consumer_offsets"]
    assert offered(names, "", hide="") == ["__consumer_offsets", "_mine", "orders"]


def test_names_like_options_only_when_the_dash_was_typed() -> None:
    assert offered(["-x", "x"], "") == ["x"]
    assert offered(["-x", "x"], "-") == ["-x"]


def test_names_that_would_act_on_the_terminal_are_left_out() -> None:
    bad = [
        "a\nb",
        "a\tb",
        "a\x1b[31m",
        "a\x9b",
        "a\u202eb",
        "a\u200bb",
        "a\0b",
        "",
        "a" * (LONGEST + 1),
        "a\udc80",
    ]
    rows = [f"{name}\t" for name in bad] + ["a\tnote\x1b[31m", "a\ttwo\tnotes"]
    assert offered([*rows, "a b", "aé", "a" * LONGEST], "") == ["a b", "a" * LONGEST, "aé"]


def test_of_very_many_some_are_offered_that_begin_with_no_more_than_all() -> None:
    names = [f"{letter}-{number}" for letter in "abz" for number in range(20_000)]
    found = offered(names, "")
    assert len(found) == MOST
    assert found == sorted(found)
    assert found[-1] == "z-9999"
    assert offered(names, "b")[-1] == "b-9999"
    assert len(offered([f"a{n}" for n in range(MOST)], "")) == MOST


def test_a_note_is_no_part_of_a_name_and_of_one_name_the_first_counts() -> None:
    rows = ["b\tEmpty", "a-b\tStable", "a\tStable", "a\tEmpty"]
    assert offered(rows, "") == ["a\tStable", "a-b\tStable", "b\tEmpty"]
    assert offered(rows, "a\t") == []
    assert offered(rows, "a-") == ["a-b\tStable"]


def test_fields_of_each_topic_have_a_file(tmp_path: Path) -> None:
    paths = {
        names_path(tmp_path, "fields", HERE, topics) for topics in ((), ("a",), ("b",), ("a", "b"), ("ab",))
    }
    assert len(paths) == 5
