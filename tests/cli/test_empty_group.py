"""The group whose name is empty: brokers store its commits, lists and exports have it, --empty-group names it."""

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core import Admin
from kcli.core.errors import KcliError
from kcli.core.types import GroupMetadata, OffsetAndMetadata, TopicPartition
from tests.committing import Kcli, commit, offsets, put
from tests.fake.cluster import FakeCluster
from tests.run import KCLI, kcli

T0 = TopicPartition("one", 0)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"one": 1}) as made:
        put(made, "one", 0)
        commit(made, "billing", {T0: OffsetAndMetadata(3)})
        set_to(made, 7)
        yield made


@pytest.fixture
def groups(cluster: FakeCluster, tmp_path: Path) -> Kcli:
    return Kcli(cluster, tmp_path / "state", "groups")


def set_to(cluster: FakeCluster, offset: int) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        assert admin.commit_offsets({GroupMetadata(""): {T0: OffsetAndMetadata(offset)}}) == {"": {T0: None}}


def position(cluster: FakeCluster) -> int | None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        commits = admin.fetch_offsets({"": [T0]})[""]
        assert not isinstance(commits, KcliError)
        found = commits[T0]
    return found.offset if isinstance(found, OffsetAndMetadata) else None


def test_it_is_described_and_its_lag_measured(groups: Kcli) -> None:
    done = groups("describe", "--empty-group", "-o", "json")
    assert [row["group"] for row in json.loads(done.out)["items"]] == [""]
    done = groups("lag", "--empty-group", "-o", "json")
    assert [(row["group"], row["committed"]) for row in json.loads(done.out)["items"]] == [("", 7)]
    done = groups("describe", "billing", "--empty-group", "--state", "-o", "json")
    assert [row["group"] for row in json.loads(done.out)["items"]] == ["billing", ""]


def test_it_is_rewound_and_the_undo_that_is_named_works(cluster: FakeCluster, groups: Kcli) -> None:
    done = groups("rewind", "--empty-group", "--to", "earliest", "--yes")
    assert position(cluster) == 0
    (undo,) = {
        line.partition("undo with: kcli groups ")[2] for line in done.err.splitlines() if "undo with" in line
    }
    assert undo.startswith("rewind --empty-group --undo=")
    groups(*undo.split(), "--yes")
    assert position(cluster) == 7


def test_an_undo_says_which_offsets_brokers_do_not_delete(cluster: FakeCluster, groups: Kcli) -> None:
    """OffsetDelete refuses the empty name: what had no commit keeps its own, and the rest is restored."""
    cluster.add_partitions("one", 2)
    groups("rewind", "--empty-group", "--to", "earliest", "--yes")
    for more in ("--dry-run", "--yes"):
        done = groups("rewind", "--empty-group", "--undo", more, code=6)
        assert "brokers delete no single offset of the group whose name is empty" in done.out + done.err
        assert "delete the group with all its offsets" in done.err
    assert position(cluster) == 7


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_an_export_of_all_groups_is_imported_again(
    form: str, cluster: FakeCluster, groups: Kcli, tmp_path: Path
) -> None:
    file = str(tmp_path / "all")
    groups("export", "--all", "--format", form, "--file", file)
    set_to(cluster, 1)
    commit(cluster, "billing", {T0: OffsetAndMetadata(1)})
    groups("import", file, "--yes")
    assert position(cluster) == 7
    assert offsets(cluster, "billing") == [3]


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_file_of_one_group_is_imported_for_it(
    form: str, cluster: FakeCluster, groups: Kcli, tmp_path: Path
) -> None:
    """Also one that names another group."""
    file = str(tmp_path / "one")
    groups("export", "billing", "--format", form, "--file", file)
    groups("import", file, "--empty-group", "--yes")
    assert position(cluster) == 3


def test_its_own_export_goes_to_another_group(cluster: FakeCluster, groups: Kcli, tmp_path: Path) -> None:
    file = str(tmp_path / "one")
    groups("export", "--empty-group", "--format", "ndjson", "--file", file)
    groups("import", file, "--group", "billing", "--yes")
    done = groups("describe", "billing", "-o", "json")
    assert json.loads(done.out)["items"][0]["partitions"][0]["committed"] == 7


def test_two_answers_to_which_group_are_refused(groups: Kcli) -> None:
    done = groups("import", "x", "--empty-group", "--group", "g", code=2)
    assert "--group and --empty-group cannot be used together" in done.err


def test_it_is_deleted(cluster: FakeCluster, groups: Kcli) -> None:
    done = groups("delete", "--empty-group", "--dry-run")
    assert "Delete group ''" in done.out
    groups("delete", "--empty-group", "--confirm", "billing", code=2)
    assert position(cluster) == 7
    groups("delete", "--empty-group", "--confirm", "")
    assert position(cluster) is None
    done = groups("describe", "--empty-group", code=1)
    assert "kcli: group '' does not exist" in done.err


@pytest.mark.parametrize(("answer", "deleted"), [(b"\n", False), (b"y\n", False), (b"''\n", True)])
def test_an_empty_answer_does_not_delete_it(
    answer: bytes, deleted: bool, cluster: FakeCluster, groups: Kcli
) -> None:
    """The name that has to be typed is two quotes."""
    terminal, side = pty.openpty()
    os.write(terminal, answer)
    with subprocess.Popen(
        [*KCLI, "groups", "delete", "--empty-group"],
        stdin=side,
        stdout=side,
        stderr=side,
        env=groups.environment,
    ) as process:
        assert process.wait(120) == (0 if deleted else 1)
    os.close(side)
    os.close(terminal)
    assert (position(cluster) is None) == deleted


@pytest.mark.parametrize(
    "line",
    [("describe", ""), ("lag", ""), ("delete", ""), ("export", ""), ("rewind", "", "--to", "0")],
    ids=" ".join,
)
def test_an_empty_argument_is_a_variable_that_is_not_set(line: tuple[str, ...], groups: Kcli) -> None:
    done = groups(*line, code=2)
    assert "perhaps a variable is not set; --empty-group names the group whose name is empty" in done.err


def test_commands_that_cannot_have_it_do_not_name_the_option(cluster: FakeCluster) -> None:
    done = kcli("consume", "one", "-g", "", bootstrap=cluster.bootstrap)
    assert done.returncode == 2
    assert b"perhaps a variable is not set" in done.stderr
    assert b"--empty-group" not in done.stderr
