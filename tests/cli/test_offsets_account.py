"""What sets committed offsets: its dry run ends with the code of the act, and plan and report are documents."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.permissions import AclOperation
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, offsets, put
from tests.fake.cluster import FakeCluster
from tests.run import Done, kcli

DESCRIBE = 1 << AclOperation.DESCRIBE
LINES = {
    "rewind": "rewind g --to earliest",
    "rewind two": "rewind g h --to 1 --topic t",
    "create": "create new -t t --from 1",
    "copy": "copy g h",
    "import": "import FILE",
}
Run = Callable[..., Done]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2}) as made:
        for partition in range(2):
            put(made, "t", partition)
        for group in ("g", "h"):
            commit(made, group, {TopicPartition("t", n): OffsetAndMetadata(9 + n) for n in range(2)})
        commit(made, "h", {TopicPartition("t", 0): OffsetAndMetadata(3)})
        yield made


@pytest.fixture
def act(cluster: FakeCluster, tmp_path: Path) -> Run:
    file = tmp_path / "offsets.csv"
    file.write_text("g,t,0,4\ng,t,1,5\n")

    def run(line: str, *more: str) -> Done:
        words = [word.replace("FILE", str(file)) for word in shlex.split(line)]
        state = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path)}
        return kcli("groups", *words, *more, bootstrap=cluster.bootstrap, **state)

    return run


def commits(cluster: FakeCluster) -> int:
    return len(cluster.seen(OffsetCommitRequest))


def without_read(_request: Any, answer: Any) -> None:
    for group in answer.groups:
        group.authorized_operations = DESCRIBE


@pytest.mark.parametrize("verb", sorted(LINES))
def test_a_topic_whose_offsets_may_not_be_committed_is_refused_in_the_plan(
    cluster: FakeCluster, act: Run, verb: str
) -> None:
    cluster.settings.topic_operations = DESCRIBE
    before = commits(cluster)
    dry, done = act(LINES[verb], "--dry-run", "-o", "json"), act(LINES[verb], "--yes", "-o", "json")
    assert (dry.code, done.code) == (4, 4), dry.err + done.err
    assert "TOPIC_AUTHORIZATION_FAILED (29): no READ permission on topic t" in dry.err
    for one in (dry, done):
        assert {item["status"] for item in json.loads(one.out)["items"]} == {"refused"}
    assert commits(cluster) == before


@pytest.mark.parametrize("verb", ["rewind", "rewind two", "copy", "import"])
def test_a_group_whose_offsets_may_not_be_committed_is_refused_in_the_plan(
    cluster: FakeCluster, act: Run, verb: str
) -> None:
    cluster.replace(DescribeGroupsRequest, without_read)
    dry, done = act(LINES[verb], "--dry-run", "-o", "json"), act(LINES[verb], "--yes", "-o", "json")
    assert (dry.code, done.code) == (4, 4), dry.err + done.err
    assert "GROUP_AUTHORIZATION_FAILED (30): no READ permission on group" in dry.err
    assert {item["status"] for item in json.loads(dry.out)["items"]} == {"refused"}
    assert "no READ permission" in json.loads(dry.out)["items"][0]["note"]


def test_the_refusal_of_a_group_is_an_error_beside_a_group_that_can_be_set(
    cluster: FakeCluster, act: Run, tmp_path: Path
) -> None:
    """Also where its partitions would be refused anyway."""
    (tmp_path / "offsets.csv").write_text("g,t,7,1\nh,t,0,1\n")

    def without_read_of_g(_request: Any, answer: Any) -> None:
        for group in answer.groups:
            if group.group_id == "g":
                group.authorized_operations = DESCRIBE

    cluster.replace(DescribeGroupsRequest, without_read_of_g)
    codes = [act("rewind g h --from-file FILE", more) for more in ("--dry-run", "--yes")]
    assert [done.code for done in codes] == [4, 4], codes
    assert all("no READ permission on group g" in done.err for done in codes)


def test_a_commit_that_may_not_be_deleted_is_refused_in_the_plan(cluster: FakeCluster, act: Run) -> None:
    """An undo deletes commits that were not there before."""
    act(LINES["create"], "--yes")

    def without_delete(_request: Any, answer: Any) -> None:
        for group in answer.groups:
            group.authorized_operations = DESCRIBE | 1 << AclOperation.READ

    cluster.replace(DescribeGroupsRequest, without_delete)
    dry, done = act("rewind new --undo", "--dry-run"), act("rewind new --undo", "--yes")
    assert (dry.code, done.code) == (4, 4)
    assert "no DELETE permission on group new" in dry.err
    assert offsets(cluster, "new") == [1, 1]


@pytest.mark.parametrize(
    ("line", "code", "statuses"),
    [
        ("rewind gone --to 1 --topic t", 1, ["refused"]),
        ("rewind g gone h --to 1 --topic t", 6, ["planned", "planned", "refused", "planned", "planned"]),
        ("rewind g --to 1 --topic t:0-2", 6, ["planned", "planned", "refused"]),
        ("rewind g --to 9 --topic t", 0, ["unchanged", "planned"]),
        ("rewind g --to 1 --topic nowhere", 1, ["refused"]),
        ("rewind gone --to 1 --wait=1s --topic t", 1, ["refused"]),
        ("create g -t t --from 1", 7, ["refused", "refused"]),
        ("create new -t t -t nowhere --from 1", 6, ["refused", "planned", "planned"]),
    ],
)
def test_the_dry_run_ends_with_the_code_of_the_act(
    cluster: FakeCluster, act: Run, line: str, code: int, statuses: list[str]
) -> None:
    """The items of both are the same ones."""
    dry = act(line, "--dry-run", "-o", "json")
    done = act(line, "--yes", "-o", "json")
    assert (dry.code, done.code) == (code, code), dry.err + done.err
    plan, report = json.loads(dry.out), json.loads(done.out)
    assert sorted(item["status"] for item in plan["items"]) == sorted(statuses)
    ended = {"planned": "done"}
    assert [item["status"] for item in report["items"]] == [
        ended.get(item["status"], item["status"]) for item in plan["items"]
    ]
    keys = ("group", "topic", "partition", "committed", "new")
    assert [[item[key] for key in keys] for item in report["items"]] == [
        [item[key] for key in keys] for item in plan["items"]
    ]


def test_groups_are_in_the_order_of_the_command(act: Run) -> None:
    items = json.loads(act("rewind h gone g --to 1 --topic t", "--dry-run", "-o", "json").out)["items"]
    assert list(dict.fromkeys(item["group"] for item in items)) == ["h", "gone", "g"]
    (gone,) = (item for item in items if item["group"] == "gone")
    assert (gone["topic"], gone["partition"], gone["note"][:25]) == (None, None, "group gone does not exist")


def test_warnings_of_the_plan_are_in_its_document(act: Run) -> None:
    dry = act("rewind g --to 1 --topic t:0-2", "--dry-run", "-o", "json")
    (warning,) = json.loads(dry.out)["warnings"]
    assert warning.startswith("t-2 refused: the topic has 2 partitions")
    assert f"warning: {warning}" in dry.err


@pytest.mark.parametrize("verb", sorted(LINES))
def test_columns_of_plan_and_report(act: Run, verb: str) -> None:
    plan = act(LINES[verb], "--dry-run", "-o", "csv").out.splitlines()
    report = act(LINES[verb], "--yes", "-o", "csv").out.splitlines()
    assert plan[0] == "group,topic,partition,committed,new,change,records,note,status"
    assert report[0] == "group,topic,partition,committed,new,found,status,note"
    assert len(plan) == len(report)


def test_offsets_that_are_as_requested_are_committed_again_with_yes_only(
    cluster: FakeCluster, act: Run
) -> None:
    before = commits(cluster)
    done = act("rewind g --to current", "-o", "json")
    assert (done.code, commits(cluster)) == (0, before)
    assert [item["status"] for item in json.loads(done.out)["items"]] == ["unchanged", "unchanged"]
    again = act("rewind g --to current", "--yes", "-o", "json")
    assert (again.code, commits(cluster)) == (0, before + 1)
    assert [item["status"] for item in json.loads(again.out)["items"]] == ["unchanged", "unchanged"]


def test_an_export_of_the_plan_is_all_of_stdout(cluster: FakeCluster, act: Run) -> None:
    before = commits(cluster)
    for more in ((), ("--dry-run",)):
        done = act("rewind g --to 1 --topic t --export", *more)
        assert (done.code, done.out, commits(cluster)) == (0, "t,0,1\nt,1,1\n", before)
    done = act("rewind g gone --to 1 --topic t --export")
    assert (done.code, done.out) == (6, "t,0,1\nt,1,1\n")
    assert "group gone does not exist" in done.err
    done = act("rewind g --to 1 --topic t --export", "--yes")
    assert (done.code, done.out, offsets(cluster)) == (0, "t,0,1\nt,1,1\n", [1, 1])
