"""What a read-only profile refuses: every command that changes anything. The table is the command tree's, so that a new
command cannot be forgotten.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from kcli.cli import cli
from kcli.commands.registry import BY_FLAGS, CHANGES, ROWS
from tests.cli.test_every_option import ADMIN
from tests.fake.cluster import FakeCluster
from tests.lines import NO_CLUSTER, PATHS, REGISTRY
from tests.run import Done, kcli
from tests.walked import fill, write_files

OF_TWO = "mirror run"
OTHERS = {
    "produce": "t {dir}/lines.txt",
    "consume": "t -e",
    "mirror accept-gap": "t:0 --to locked",
    "mirror promote": "--from open --to locked",
    "mirror reset": "t --from open --to locked --offset earliest",
    "mirror reverse": "--from locked --to open",
    "pipeline import": "{dir}/export",
    "pipeline mirror": "--from open --to locked -t t --map-topic t=copy",
    "pipeline replay": "t --to other",
    "pipeline perf": "-t t --num-records 1",
    "segments restore": "{dir}/gone-0 --to locked",
    "topics copy": "t copied",
    "perf produce": "-t t --num-records 1",
    "perf e2e": "-t t --num-records 20",
}


def command_of(path: str) -> Any:
    found: Any = cli
    for word in path.split():
        found = found.get_command(click.Context(found), word)
    return found


COMMANDS = {path: command_of(path) for path in PATHS}
CHANGING = {path for path in PATHS if ROWS[path][1] == CHANGES} - REGISTRY
SOMETIMES = {path for path in PATHS if ROWS[path][1] == BY_FLAGS} - REGISTRY


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1) as found:
        fill(found)
        yield found


@pytest.fixture(scope="module")
def folder(cluster: FakeCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("read-only")
    write_files(folder)
    (folder / "kcli").mkdir()
    (folder / "kcli/config.toml").write_text(
        f'[profiles.locked]\nbootstrap.servers = "{cluster.bootstrap}"\nread_only = true\n'
        f'[profiles.open]\nbootstrap.servers = "{cluster.bootstrap}"\n'
    )
    return folder


def run(folder: Path, line: str, *more: str, profile: str = "locked") -> Done:
    words = line.format(dir=folder).split()
    variables = {"XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
    return kcli(*words, *more, **variables, **({"KCLI_PROFILE": profile} if profile else {}))


def test_every_command_says_whether_it_changes_the_cluster() -> None:
    assert {path for path, command in COMMANDS.items() if command.changes is True} - REGISTRY == CHANGING
    assert {path for path, command in COMMANDS.items() if callable(command.changes)} - REGISTRY == SOMETIMES
    assert {"groups rewind", "mirror run", "pipeline verify", "undo"} == SOMETIMES
    assert {"produce", "topics delete", "acls create", "groups import", "configs alter"} <= CHANGING
    assert not CHANGING & NO_CLUSTER


def line_of(path: str) -> str:
    return f"{path} {ADMIN.get(path, OTHERS.get(path, ''))}".replace("--dry-run", "").strip()


@pytest.mark.parametrize("path", sorted(CHANGING | {"groups rewind"}))
def test_what_changes_anything_is_refused_before_a_broker_is_contacted(
    cluster: FakeCluster, folder: Path, path: str
) -> None:
    before = len(cluster.connections)
    done = run(folder, line_of(path), "--yes")
    assert done.code == 7, done.err
    assert f"`kcli {path}` is refused: profile locked is read-only" in done.err
    assert (len(cluster.connections), done.out) == (before, "")


@pytest.mark.parametrize("path", ["topics create", "configs alter", "groups rewind", "produce"])
def test_a_dry_run_shows_its_plan_and_ends_as_refused(folder: Path, path: str) -> None:
    done = run(folder, line_of(path), "--dry-run")
    free = run(folder, line_of(path), "--dry-run", profile="open")
    assert (done.code, free.code) == (7, 0), (done.err, free.err)
    assert done.out.replace("locked", "open") == free.out
    assert "profile locked is read-only" in done.err


READING = sorted(
    ADMIN.keys() - CHANGING - SOMETIMES - {"top"}
)  # which needs a terminal: tests/cli/test_top.py


@pytest.mark.parametrize("path", [*READING, "consume"])
def test_what_only_reads_is_not_refused(folder: Path, path: str) -> None:
    done = run(folder, line_of(path))
    assert done.code in (0, 6, 8), done.err  # 8: no ACL allows it
    assert "read-only" not in done.err


def test_an_import_into_zookeeper_is_refused_too(folder: Path) -> None:
    done = run(folder, "groups import {dir}/offsets.csv --zookeeper 127.0.0.1:1 --yes")
    assert done.code == 7, done.err
    assert "profile locked is read-only" in done.err


def test_reading_in_a_group_changes_the_group(folder: Path) -> None:
    done = run(folder, "consume t -e -g g")
    assert done.code == 7
    assert "joining group g is refused" in done.err
    assert run(folder, "consume t -e -X group.id=g").code == 7


def test_the_source_of_a_mirror_may_be_read_only_and_its_target_not(folder: Path) -> None:
    copied = "mirror --from locked --to open -t t --map-topic t=copy --dry-run"
    assert run(folder, copied, profile="").code == 0
    back = run(
        folder, "mirror --from open --to locked -t t --map-topic t=copy --until-caught-up --yes", profile=""
    )
    assert (back.code, "`kcli mirror run` is refused: profile locked" in back.err) == (7, True)
    both = run(folder, "mirror --from locked --to open -t t --dry-run --profile open", profile="")
    assert "--profile names a third cluster" in both.err
    assert run(folder, "mirror status --to locked", profile="").code == 0


def test_the_target_of_a_mirror_by_address_has_the_marks_of_the_profile_in_use(
    cluster: FakeCluster, folder: Path
) -> None:
    line = f"mirror --from {cluster.bootstrap} --to {cluster.bootstrap} -t t --map-topic t=copy --dry-run"
    locked = run(folder, line, profile="locked")
    assert (locked.code, "`kcli mirror run` is refused: profile locked" in locked.err) == (7, True)
    assert run(folder, line, profile="open").code == 0
