"""``groups export`` against a stand-in for the admin client: what is written, what is reported, which exit code."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kcli.cli import cli
from kcli.commands.groups import export as module
from kcli.commands.shared.global_values import GlobalValues
from kcli.core.admin.brokers import ClusterDescription
from kcli.core.admin.committed import Committed
from kcli.core.admin.groups import GroupListing, ListedGroup
from kcli.core.admin.share_offsets import ShareOffset
from kcli.core.admin.topics import TopicInfo
from kcli.core.errors import BrokerError, ConnectError, KcliError, NotFoundError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.transfer import exporting
from kcli.flows.transfer.exporting import DRAINED, Unread
from tests.unit.at_once import AtOnce

NO_TOPIC = "topic refunds does not exist"


class StandIn(AtOnce):
    """Groups of all kinds: ``orders`` of one id, a topic that has been deleted, a share group."""

    def __init__(self) -> None:
        self.committed: dict[str, Committed | KcliError] = {
            "b": {
                TopicPartition("orders", 10): OffsetAndMetadata(12, "mine", 3),
                TopicPartition("orders", 9): OffsetAndMetadata(1),
                TopicPartition("orders", 11): None,
                TopicPartition("refunds", 0): OffsetAndMetadata(5),
            },
            "a": {TopicPartition("orders", 0): OffsetAndMetadata(7)},
            "nothing": {},
            "sharing": {},
        }
        self.broker_errors: dict[int, KcliError] = {}

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_exc: object) -> None: ...

    def describe_cluster(self, **_options: object) -> ClusterDescription:
        return ClusterDescription("Qx3", 1, ())

    def list_groups(self) -> GroupListing:
        kinds = {"sharing": "share"}
        rows = [ListedGroup(name, "", "Empty", kinds.get(name, "classic"), 1) for name in self.committed]
        return GroupListing(tuple(rows), self.broker_errors)

    def share_offsets(self, names: Sequence[str]) -> dict[str, dict[TopicPartition, ShareOffset]]:
        started = {
            TopicPartition("orders", 0): ShareOffset(3, 0, 2),
            TopicPartition("orders", 1): ShareOffset(None),
        }
        return {name: started if name == "sharing" else {} for name in names}

    def fetch_offsets(self, wanted: Mapping[str, object]) -> dict[str, Committed | KcliError]:
        return {name: self.committed.get(name, {}) for name in wanted}

    def describe_topics(
        self, names: Sequence[str], _partitions: object = (), **_how: object
    ) -> dict[str, TopicInfo | KcliError]:
        gone = NotFoundError("topic refunds does not exist")
        return {name: gone if name == "refunds" else TopicInfo(name, "id", False, ()) for name in names}


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(module, "open_admin", lambda _inv: stand_in)
    monkeypatch.setattr(module, "connect", lambda _inv, _admin: "Qx3")
    return stand_in


def kcli(*arguments: str) -> Result:
    done = CliRunner().invoke(
        cli, ["groups", "export", *arguments], obj=GlobalValues(), standalone_mode=False
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def items(*arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kcli(*arguments, "--format", "ndjson").stdout.splitlines()]


def test_csv_of_one_group_has_three_columns_in_order(admin: StandIn) -> None:
    done = kcli("b")
    assert (done.return_value, done.stdout) == (0, "orders,9,1\norders,10,12\nrefunds,0,5\n")


def test_csv_of_several_groups_has_the_group_in_front(admin: StandIn) -> None:
    lines = "a,orders,0,7\nb,orders,9,1\nb,orders,10,12\nb,refunds,0,5\n"
    assert kcli("b", "a").stdout == lines
    assert kcli("--all").stdout == lines
    assert kcli("--all", "-t", "orders:0,10").stdout == "a,orders,0,7\nb,orders,10,12\n"


def test_lines_of_the_old_tools_leave_out_groups_that_no_node_can_be(admin: StandIn) -> None:
    assert kcli("a", "--format", "zookeeper").stdout == "/consumers/a/offsets/orders/0:7\n"
    admin.committed["a/b"] = {TopicPartition("orders", 0): OffsetAndMetadata(9)}
    done = kcli("a", "a/b", "--format", "zookeeper")
    assert (done.return_value, done.stdout) == (
        6,
        "# not complete: 1 offset of group a/b left out: ZooKeeper has no node with that name\n"
        "/consumers/a/offsets/orders/0:7\n",
    )
    assert "1 offset of group a/b left out" in done.stderr


def test_ndjson_has_all_that_is_known(admin: StandIn) -> None:
    (item,) = items("b", "-t", "orders:10")
    assert item.pop("at")
    assert item == {
        "kind": "OffsetExport",
        "api": "kcli/v1",
        "cluster": "Qx3",
        "group": "b",
        "group_type": None,
        "topic": "orders",
        "topic_id": "id",
        "partition": 10,
        "offset": 12,
        "leader_epoch": 3,
        "metadata": "mine",
        "timestamp": None,
        "drained": None,
    }
    assert items("b", "-t", "orders:9")[0]["leader_epoch"] is None


def test_a_topic_whose_id_is_not_known_is_written_without_and_reported(admin: StandIn) -> None:
    done = kcli("b", "-o", "ndjson")
    assert done.return_value == 6
    assert "topic refunds does not exist" in done.stderr
    head, *told = map(json.loads, done.stdout.splitlines())
    assert (head["kind"], head["complete"]) == ("OffsetExportHead", False)
    assert [part["what"] for part in head["missing"]] == ["the id of topic refunds"]
    assert [item["topic_id"] for item in told] == ["id", "id", None]


def test_groups_that_are_missing_or_empty(admin: StandIn) -> None:
    done = kcli("a", "bb", "nothing")
    comment, offsets = done.stdout.splitlines()
    assert (done.return_value, offsets) == (6, "a,orders,0,7")
    assert comment.startswith("# not complete: group bb: no group of that name")
    assert "group bb does not exist" in done.stderr
    assert "did you mean b?" in done.stderr
    assert "group nothing has no committed offsets" in done.stderr
    alone = kcli("bb")
    assert (alone.return_value, alone.stdout) == (1, "")
    assert kcli("nothing").return_value == 0


def test_start_offsets_of_share_groups_are_written_where_a_file_says_so(admin: StandIn) -> None:
    done = kcli("sharing")
    assert (done.return_value, done.stdout) == (0, "orders,0,3\n")
    (item,) = items("sharing")
    assert (item["group_type"], item["offset"], item["metadata"]) == ("share", 3, "")
    every = kcli("--all")
    assert "sharing" not in every.stdout
    assert "1 share group left out, since csv has no types of groups" in every.stderr
    assert {item["group"]: item["group_type"] for item in items("--all", "-t", "orders")} == {
        "a": "classic", "b": "classic", "sharing": "share",
    }  # fmt: skip


def test_nothing_that_cannot_be_read_is_left_out_silently(admin: StandIn) -> None:
    admin.broker_errors = {2: ConnectError("broker 2 does not answer")}
    admin.committed["a"] = {TopicPartition("orders", 0): BrokerError(14, "orders-0 of group a")}
    admin.committed["b"] = BrokerError(30, "offsets of group b")
    done = kcli("--all")
    assert done.return_value == 6  # two groups were read, and have none
    comments = done.stdout.splitlines()
    assert all(line.startswith("# not complete: ") for line in comments)
    for what, part, line in zip(
        ("broker 2 does not answer", "offsets of group b", "orders-0 of group a"),
        ("broker 2 does not answer", "group b: ", "the commit of orders-0 of group a: "),
        comments,
        strict=True,
    ):
        assert what in done.stderr
        assert part in line
    assert kcli("nothing").return_value == 0
    assert "broker 2 does not answer" in kcli("unseen").stderr


def test_a_scope_of_which_nothing_is_committed_is_a_failure(admin: StandIn) -> None:
    done = kcli("a", "b", "-t", "orders:0", "-t", "ordesr")
    assert (done.return_value, done.stdout.splitlines()[1:]) == (6, ["a,orders,0,7"])
    assert "no committed offset of ordesr" in done.stderr


def test_each_partition_that_is_named_is_exported_or_missing_once(admin: StandIn) -> None:
    admin.committed["a"] = {
        TopicPartition("orders", 0): OffsetAndMetadata(7),
        TopicPartition("orders", 1): BrokerError(14, "orders-1 of group a"),
        TopicPartition("orders", 2): None,
    }
    done = kcli("a", "-t", "orders:0-3")
    assert (done.return_value, done.stdout.splitlines()[-1]) == (6, "orders,0,7")
    missing = [line for line in done.stdout.splitlines() if line.startswith("# not complete: ")]
    assert [number for line in missing for number in re.findall(r"orders[:-](\d)", line)] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "words",
    [(), ("a", "--all"), ("a", "--with-time", "--format", "csv"), ("a", "--format", "csv", "-o", "ndjson")],
)
def test_an_unsuitable_value_is_a_usage_error(admin: StandIn, words: tuple[str, ...]) -> None:
    with pytest.raises(Exception, match="groups export: "):
        kcli(*words)


def test_times_are_added_and_what_is_not_known_is_reported(
    admin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[TopicPartition, Unread | KcliError] = {
        TopicPartition("orders", 9): Unread(1_700, drained=False),
        TopicPartition("orders", 10): DRAINED,
        TopicPartition("refunds", 0): NotFoundError("topic refunds does not exist"),
    }
    monkeypatch.setattr(
        exporting, "first_unread", lambda _admin, offsets: {(tp, at): answers[tp] for tp, at in offsets}
    )
    done = kcli("b", "--with-time")
    assert done.return_value == 6
    head, *told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [part["why"] for part in head["missing"]] == [NO_TOPIC, NO_TOPIC]
    assert [(item["timestamp"], item["drained"]) for item in told] == [
        (1_700, False),
        (None, True),
        (None, None),
    ]


def test_a_topic_without_commits_leaves_the_file_unchanged(admin: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    path.write_text("old")
    assert kcli("a", "--topic", "nosuch", "--file", str(path)).return_value == 1
    assert path.read_text() == "old"


def test_a_file_is_replaced_whole_or_not_at_all(admin: StandIn, tmp_path: Path) -> None:
    path, link = tmp_path / "all.csv", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path)
    assert kcli("bb", "--file", str(path)).return_value == 1
    assert kcli("a", "--file", str(path), "--dry-run").return_value == 0
    assert path.read_text() == "old"
    done = kcli("a", "--file", str(link))
    assert (done.return_value, done.stdout, path.read_text()) == (0, "", "orders,0,7\n")
    assert "wrote 1 committed offset of 1 group" in done.stderr
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [path, link]
    with pytest.raises(KcliError, match="cannot write"):
        kcli("a", "--file", str(tmp_path / "no" / "folder"))
    with pytest.raises(KcliError, match="is not a regular file"):
        kcli("a", "--file", "/dev/null")
