"""``kcli groups describe`` against a stand-in for the admin client: what is printed in which form, which exit code."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kcli.cli import cli
from kcli.commands.groups import _describing as module
from kcli.commands.shared import record_consumer
from kcli.commands.shared.global_values import GlobalValues
from kcli.core.admin.brokers import ClusterDescription
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.groups import GroupListing, ListedGroup
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import ClusterView, PartitionView, unknown_topic
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import BrokerError, KcliError, NotFoundError, UnsupportedError
from kcli.core.types import Node, OffsetAndMetadata, Record, TopicPartition
from tests.log_reader import LogReader
from tests.unit.at_once import AtOnce

T0, T1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
PAY = TopicPartition("pay", 0)


def member(name: str, *partitions: TopicPartition, **more: Any) -> MemberDescription:
    known = {"instance_id": None, "client_id": f"c-{name}", "client_host": "/10.0.0.1"}
    return MemberDescription(name, **{**known, "assignment": partitions, "subscription": ("orders",), **more})


IDLE = GroupDescription("idle", "classic", "Empty", "consumer", "", 1)
OLD = GroupDescription(
    "old", "classic", "Stable", "consumer", "range", 1, (member("a", T0), member("b", T1, instance_id="i"))
)
NEW = GroupDescription(
    "new", "consumer", "Reconciling", "consumer", "uniform", 2,
    (member("m", T0, target=(T0, T1), epoch=4, rack="r", protocol="consumer"),), 5, 5,
)  # fmt: skip
GROUPS = {group.group_id: group for group in (IDLE, OLD, NEW)}
COMMITS: dict[str, Committed] = {
    "idle": {T0: OffsetAndMetadata(60, "m", 3), PAY: OffsetAndMetadata(120)},
    "old": {T0: OffsetAndMetadata(100), TopicPartition("gone", 2): OffsetAndMetadata(1)},
    "new": {},
}


class StandIn(AtOnce):
    """Two topics from 10 to 110, and four groups."""

    def __init__(self) -> None:
        self.commits: dict[str, Committed | KcliError] = dict(COMMITS)
        self.shared = ListedGroup("shared", "share", "Stable", "share", 2)
        self.listing_errors: dict[int, KcliError] = {}

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_exc: object) -> None: ...

    def cluster_id(self) -> str:
        return "Qx3"

    def connect(self) -> ClusterView:
        return ClusterView({1: Node(1, "one", 9092), 2: Node(2, "two", 9092)})

    def describe_cluster(self, **_options: object) -> ClusterDescription:
        return ClusterDescription("Qx3", 1, ())

    def list_groups(self, **_filters: object) -> GroupListing:
        rows = [ListedGroup(g.group_id, g.protocol_type, g.state, g.type, 1) for g in GROUPS.values()]
        gone = ListedGroup("vanished", "consumer", "Empty", "classic", 1)
        return GroupListing((*rows, self.shared, gone), self.listing_errors)

    def describe_groups(
        self, names: Sequence[str], *, all_types: bool
    ) -> dict[str, GroupDescription | KcliError]:
        assert all_types
        other: dict[str, KcliError] = {
            "shared": UnsupportedError(
                "group shared cannot be described", why="two is too old", do="update it"
            )
        }
        missing = {name: NotFoundError(f"group {name} does not exist") for name in names}
        return {name: GROUPS.get(name) or other.get(name) or missing[name] for name in names}

    def fetch_offsets(self, wanted: Mapping[str, None]) -> dict[str, Committed | KcliError]:
        return {name: self.commits[name] for name in wanted}

    def describe_topics(
        self, names: Sequence[str], _partitions: object = (), **_how: object
    ) -> dict[str, TopicInfo | KcliError]:
        counts = {"orders": 2, "pay": 1, "__consumer_offsets": 1}
        return {
            name: TopicInfo(name, "", False, tuple(PartitionView(n, 1) for n in range(counts[name])))
            if name in counts
            else unknown_topic(name, counts)
            for name in names
        }

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], **_patience: float
    ) -> dict[TopicPartition, OffsetInfo]:
        return {tp: OffsetInfo(10 if place == -2 else 110, -1) for tp, place in wanted.items()}


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(module, "open_admin", lambda _inv: stand_in)
    monkeypatch.setattr(module, "connect", lambda _inv, found: found.cluster_id())
    return stand_in


def describe(*arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(
        cli, ["groups", "describe", *arguments], obj=GlobalValues(), standalone_mode=False
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.return_value == code, done.output
    return done


def items(*arguments: str, code: int = 0) -> list[dict[str, Any]]:
    document = json.loads(describe(*arguments, "-o", "json", code=code).stdout)
    assert (document["kind"], document["cluster"]) == ("GroupDescriptionList", "Qx3")
    found: list[dict[str, Any]] = document["items"]
    return found


def cells(*arguments: str) -> list[list[str]]:
    return [line.split() for line in describe(*arguments).stdout.splitlines()]


# --- forms -------------------------------------------------------------------------------------------


def test_a_pipe_gets_a_heading_for_each_group_as_a_table_does(admin: StandIn) -> None:
    lines = describe("idle", "old").stdout.splitlines()
    assert [line.split(":")[0] for line in lines if ": classic, " in line] == ["idle", "old"]
    assert lines[0] == "idle: classic, Empty, coordinator one:9092 (node 1), 0 members"
    assert (lines[1], lines[2].split()[:2]) == ("", ["GROUP", "TOPIC"])
    headings = [line.split()[:9] for line in lines if line.startswith("GROUP")]
    assert headings == [[
        "GROUP", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG-RECORDS", "LOG-START", "LEADER-EPOCH", "METADATA",
    ]] * 2  # fmt: skip


def test_a_pipe_without_headers_gets_a_line_per_partition(admin: StandIn) -> None:
    rows = cells("idle", "old", "--no-headers")
    assert [row[:9] for row in rows] == [
        ["idle", "orders", "0", "60", "110", "50", "10", "3", "m"],
        ["idle", "orders", "1", "-", "110", "-", "10", "-", "-"],
        ["idle", "pay", "0", "120", "110", "-10", "10", "-", "-"],
        ["old", "gone", "2", "1", "-", "-", "-", "-", "-"],
        ["old", "orders", "0", "100", "110", "10", "10", "-", "-"],
        ["old", "orders", "1", "-", "110", "-", "10", "-", "-"],
    ]
    assert rows[3][-4:] == ["topic", "does", "not", "exist"]
    assert rows[4][9:12] == ["a", "c-a", "10.0.0.1"]


def test_people_get_a_heading_for_each_group(admin: StandIn) -> None:
    shown = describe("idle", "new", "-o", "table").stdout
    assert "idle: classic, Empty, coordinator one:9092 (node 1), 0 members\n\nTOPIC" in shown
    assert (
        "new: consumer, Reconciling, coordinator two:9092 (node 2), assignor uniform, epoch 5,"
        " assignment epoch 5, 1 member\n" in shown
    )


def test_a_table_of_one_group_leaves_out_what_nothing_is_known_of(admin: StandIn) -> None:
    idle = describe("idle", "-o", "table").stdout.splitlines()[2].split()
    assert idle == [
        "TOPIC",
        "PARTITION",
        "COMMITTED",
        "END",
        "LAG-RECORDS",
        "LOG-START",
        "LEADER-EPOCH",
        "METADATA",
    ]
    assert "MEMBER-ID" in describe("old", "-o", "table").stdout
    assert "MEMBER-ID" in describe("idle", "-o", "wide").stdout


def test_json_has_an_item_for_each_group_with_members_and_partitions(admin: StandIn) -> None:
    idle, new = items("idle", "new")
    assert [place["committed"] for place in idle["partitions"]] == [60, None, 120]
    assert idle["partitions"][0]["commit_time"] is None
    assert (new["state"], new["epoch"], new["assignment_epoch"], new["member_count"]) == (
        "Reconciling",
        5,
        5,
        1,
    )
    (told,) = new["members"]
    assert told["assignment"] == [{"topic": "orders", "partition": 0}]
    assert told["target_assignment"] == [{"topic": "orders", "partition": n} for n in (0, 1)]
    assert (told["rack"], told["subscription"], told["epoch"]) == ("r", ["orders"], 4)
    assert new["partitions"][0]["member_id"] == "m"


@pytest.mark.parametrize(
    ("section", "there", "not_there"),
    [("--members", "members", "partitions"), ("--offsets", "partitions", "members")],
)
def test_json_has_only_the_part_that_is_requested(
    admin: StandIn, section: str, there: str, not_there: str
) -> None:
    (item,) = items("old", section)
    assert there in item
    assert not_there not in item
    assert not {"members", "partitions"} & set(items("old", "--state")[0])


def test_members_are_a_line_each(admin: StandIn) -> None:
    head, *rows = cells("old", "--members")
    assert head == [
        "GROUP",
        "MEMBER-ID",
        "INSTANCE-ID",
        "CLIENT-ID",
        "HOST",
        "PARTITIONS",
        "ASSIGNMENT",
        "EPOCH",
    ]
    assert rows == [
        ["old", "a", "-", "c-a", "10.0.0.1", "1", "orders:0", "-"],
        ["old", "b", "i", "c-b", "10.0.0.1", "1", "orders:1", "-"],
    ]


def test_state_is_a_line_for_each_group(admin: StandIn) -> None:
    assert cells("old", "new", "--state")[1:] == [
        ["old", "classic", "Stable", "1", "range", "-", "-", "2", "-"],
        ["new", "consumer", "Reconciling", "2", "uniform", "5", "5", "1", "-"],
    ]


def test_offsets_have_no_heading(admin: StandIn) -> None:
    assert describe("idle", "--offsets", "-o", "table").stdout.startswith("GROUP")


def test_names(admin: StandIn) -> None:
    assert describe("old", "idle", "-o", "name").stdout == "old\nidle\n"


# --- which groups ------------------------------------------------------------------------------------


def test_missing_groups(admin: StandIn) -> None:
    assert "group nosuch does not exist" in describe("idle", "nosuch", code=6).stderr
    done = describe("nosuch", code=1)
    assert done.stdout == ""


def test_all_and_match(admin: StandIn) -> None:
    done = describe("--all", "-o", "name", code=6)
    assert done.stdout.split() == ["idle", "old", "new", "shared"]
    assert "group vanished has been deleted meanwhile" in done.stderr
    assert describe("old", "--match", "i*", "-o", "name").stdout.split() == ["old", "idle"]
    assert items("--match", "nothing*") == []


def test_a_broker_that_does_not_list_its_groups_is_a_failure(admin: StandIn) -> None:
    admin.listing_errors = {3: BrokerError(30, "listing the groups of broker 3")}
    assert "GROUP_AUTHORIZATION_FAILED" in describe("--all", "-o", "name", code=6).stderr


def test_what_the_list_has_is_shown_of_a_group_that_its_coordinator_does_not_describe(admin: StandIn) -> None:
    done = describe("shared", "--state", code=6)
    assert done.stdout.splitlines()[1].split()[:4] == ["shared", "share", "Stable", "2"]
    assert "group shared cannot be described" in done.stderr
    assert "two is too old" in done.stderr
    document = json.loads(describe("shared", "-o", "json", code=6).stdout)
    (item,) = document["items"]
    assert (item["type"], item["members"], item["partitions"]) == ("share", None, None)
    assert [part["what"] for part in document["missing"]] == ["group shared"]
    assert "shared: share, Stable, coordinator two:9092" in describe("shared", "-o", "table", code=6).stdout


def test_a_group_whose_offsets_may_not_be_read_is_shown_without_and_is_a_failure(admin: StandIn) -> None:
    admin.commits["old"] = BrokerError(30, "asking for the offsets of group old")
    done = describe("old", "idle", "-o", "json", code=6)
    assert "GROUP_AUTHORIZATION_FAILED" in done.stderr
    document = json.loads(done.stdout)
    assert (document["complete"], [part["what"] for part in document["missing"]]) == (False, ["group old"])
    old, idle = document["items"]
    assert (old["partitions"], old["note"]) == (None, "its offsets could not be read")
    assert [place["topic"] for place in idle["partitions"]] == ["orders", "orders", "pay"]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("old", "--members", "--state"),
        ("old", "--peek", "2", "--members"),
        ("old", "--peek", "2", "-o", "tsv"),
        ("old", "--peek", "0"),
    ],
)
def test_usage_errors(admin: StandIn, arguments: Sequence[str]) -> None:
    import click

    with pytest.raises(click.UsageError):
        describe(*arguments)


# --- as Kafka's script -------------------------------------------------------------------------------


def test_kafka_columns_of_members_precede_those_of_unread_partitions(admin: StandIn) -> None:
    done = describe("old", "-o", "kafka")
    assert [line.split() for line in done.stdout.splitlines()] == [
        [],
        [
            "GROUP",
            "TOPIC",
            "PARTITION",
            "CURRENT-OFFSET",
            "LOG-END-OFFSET",
            "LAG",
            "CONSUMER-ID",
            "HOST",
            "CLIENT-ID",
        ],
        ["old", "orders", "0", "100", "110", "10", "a", "/10.0.0.1", "c-a"],
        ["old", "orders", "1", "-", "110", "-", "b", "/10.0.0.1", "c-b"],
        ["old", "gone", "2", "1", "-", "-", "-", "-", "-"],
    ]
    assert done.stderr == ""


def test_kafka_messages(admin: StandIn) -> None:
    assert describe("idle", "-o", "kafka").stderr == "\nConsumer group 'idle' has no active members.\n"
    assert describe("new", "-o", "kafka").stderr == "\nWarning: Consumer group 'new' is rebalancing.\n"
    assert describe("--all", "-o", "kafka").stdout.count("GROUP ") == 3


def test_kafka_verbose_columns(admin: StandIn) -> None:
    assert "LEADER-EPOCH    CURRENT-OFFSET" in describe("idle", "-o", "kafka", "-v").stdout
    line = describe("new", "-o", "kafka", "--members", "-v").stdout.splitlines()[2]
    assert line.split() == ["new", "m", "/10.0.0.1", "c-m", "1", "4", "orders:0", "5", "orders:0,1"]
    line = describe("new", "-o", "kafka", "--state", "-v").stdout.splitlines()[2]
    assert line.split() == ["new", "two:9092", "(2)", "uniform", "Reconciling", "5", "5", "1"]


# --- records and times -------------------------------------------------------------------------------


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> LogReader:
    def some(tp: TopicPartition) -> list[Record]:
        return [Record(*tp, n, 1_000 * n, 0, None, b"v%d\x1b" % n) for n in range(10, 110)]

    stand_in = LogReader({T0: some(T0), PAY: [Record(*PAY, 109, 1, 0, b"\xff", b"w" * 500)]})
    monkeypatch.setattr(record_consumer, "record_consumer", lambda _inv: stand_in)
    return stand_in


def test_peek_shows_the_last_read_and_the_next(admin: StandIn, reader: LogReader) -> None:
    shown = describe("idle", "--peek", "2").stdout
    assert "59  read  1970-01-01T00:00:59.000Z  -     v59\\x1b" in shown
    assert "60  next  1970-01-01T00:01:00.000Z  -     v60\\x1b" in shown
    assert "w" * 199 + "…\n" in shown
    (item,) = items("idle", "--peek", "2")
    first, uncommitted, second = item["partitions"]
    assert (uncommitted["read"], uncommitted["next"]) == (None, None)
    assert [record["value"] for record in first["next"]] == ["v60\x1b"]
    assert (second["read"][0]["key"], second["read"][0]["key_encoding"]) == ("/w==", "base64")
    assert second["next"] == []


def test_records_that_cannot_be_read_are_a_warning(
    admin: StandIn, reader: LogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise BrokerError(29, "reading orders-0")

    monkeypatch.setattr(reader, "poll", refuse)
    done = describe("idle", "--peek", "2")
    assert "records around the commits of group idle are not shown" in done.stderr
    assert len(done.stdout.splitlines()) == 6


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [(("-o", "wide"), True), (("-o", "json", "-v"), True), (("-o", "json"), False), (("-v",), False)],
)
def test_times_of_commits_are_looked_up_only_where_they_are_shown(
    admin: StandIn, monkeypatch: pytest.MonkeyPatch, arguments: Sequence[str], asked: bool
) -> None:
    stand_in = LogReader({TopicPartition("__consumer_offsets", 0): []})
    monkeypatch.setattr(record_consumer, "record_consumer", lambda _inv: stand_in)
    looked: list[object] = []
    monkeypatch.setattr(stand_in, "list_offsets", lambda *given: looked.append(given) or {})
    describe("idle", *arguments)
    assert bool(looked) == asked
