"""``kcli topics`` against a stand-in for the admin client: what is asked, what is printed, which exit code."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kcli.cli import cli
from kcli.commands.shared import changing
from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.usage import Refused
from kcli.commands.topics import _describing, _offset_tables, _tables
from kcli.core.admin.brokers import ClusterDescription, LogDir, ReplicaSize
from kcli.core.admin.configs import ConfigEntry
from kcli.core.admin.topic_changes import CreatedTopic
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import ClusterView, PartitionView, unknown_topic
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import BrokerError, KcliError, TimedOutError
from kcli.core.types import Node, TopicPartition, TopicSpec
from tests.unit.at_once import AtOnce


def topic(
    name: str, partitions: int = 2, *, internal: bool = False, isr: tuple[int, ...] = (1, 2)
) -> TopicInfo:
    parts = tuple(PartitionView(n, 1, 4, (1, 2), isr) for n in range(partitions))
    return TopicInfo(name, "id", internal, parts)


class StandIn(AtOnce):
    """Three topics; remembers what it was told to change."""

    def __init__(self) -> None:
        known = (topic("orders"), topic("pay", 1, isr=(1,)), topic("__consumer_offsets", 1, internal=True))
        self.topics = {info.name: info for info in known}
        self.created: list[tuple[TopicSpec, bool]] = []
        self.deleted: list[str] = []
        self.broken = TopicPartition("", -1)
        self.second_broker: KcliError | None = None

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_exc: object) -> None: ...

    def cluster_id(self) -> str:
        return "Qx3"

    def describe_cluster(self, **_options: object) -> ClusterDescription:
        return ClusterDescription("Qx3", 1, ())

    def list_topics(self) -> list[TopicInfo]:
        return list(self.topics.values())

    def describe_topics(
        self, names: Sequence[str], _partitions: object = (), **_how: object
    ) -> dict[str, TopicInfo | KcliError]:
        return {name: self.topics.get(name) or unknown_topic(name, self.topics) for name in names}

    def describe_partitions(self, names: Sequence[str] | None = None) -> dict[str, TopicInfo | KcliError]:
        return self.describe_topics(list(self.topics) if names is None else names)

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], **_patience: float
    ) -> dict[TopicPartition, OffsetInfo | KcliError]:
        answers = {-2: OffsetInfo(10, -1, -1), -1: OffsetInfo(1_010, -1, 4)}
        return {
            tp: BrokerError(6, str(tp)) if tp == self.broken else answers.get(time, OffsetInfo(-1, -1))
            for tp, time in wanted.items()
        }

    def describe_topic_configs(self, names: Sequence[str]) -> dict[str, list[ConfigEntry] | KcliError]:
        entries = [
            ConfigEntry("retention.ms", "5", "topic", False),
            ConfigEntry("cleanup.policy", "delete", "default", False),
        ]
        return dict.fromkeys(names, entries)

    def create_topics(
        self, specs: Sequence[TopicSpec], *, validate_only: bool = False, made: dict[str, CreatedTopic]
    ) -> dict[str, KcliError | None]:
        self.created += [(spec, validate_only) for spec in specs]
        topic_id = "" if validate_only else "new-id"
        for spec in specs:
            made[spec.name] = CreatedTopic(spec.name, topic_id, 3, 2, dict(spec.configs))
        return {spec.name: BrokerError(36, spec.name) if spec.name in self.topics else None for spec in specs}

    def connect(self) -> ClusterView:
        return ClusterView({1: Node(1, "one", 9092)})

    def describe_log_dirs(
        self, *, partitions: Sequence[TopicPartition]
    ) -> dict[int, list[LogDir] | KcliError]:
        """Broker 1 has everything but one partition, and a copy that is being made; broker 2 does not answer."""
        kept = {tp: ReplicaSize(1_500 + tp.partition, 0, False) for tp in partitions if tp.topic == "orders"}
        copy = {TopicPartition("orders", 0): ReplicaSize(7, 0, True)}
        return {
            1: [LogDir("/a", None, kept), LogDir("/b", None, copy)],
            2: self.second_broker or [LogDir("/a", None, kept)],
        }

    def delete_topics(self, names: Sequence[str]) -> dict[str, KcliError | None]:
        self.deleted += names
        self.topics = {name: info for name, info in self.topics.items() if name not in names}
        return dict.fromkeys(names)

    def topic_operations(self, names: Sequence[str]) -> dict[str, int | KcliError | None]:
        return dict.fromkeys(names)


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    for module in (_tables, _offset_tables, _describing, changing):
        monkeypatch.setattr(module, "open_admin", lambda _inv: stand_in)
        monkeypatch.setattr(module, "connect", lambda _inv, found: found.cluster_id())
    return stand_in


def kcli(*arguments: str) -> Result:
    done = CliRunner().invoke(cli, ["topics", *arguments], obj=GlobalValues(), standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, KcliError | SystemExit):
        raise done.exception
    return done


def rows(*arguments: str, codes: int = 0) -> list[str]:
    """The partitions in tsv."""
    done = kcli(*arguments, "-o", "tsv", "--no-headers")
    assert done.return_value == codes
    return done.stdout.splitlines()


def items(*arguments: str) -> list[dict[str, Any]]:
    document = json.loads(kcli(*arguments, "-o", "json").stdout)
    assert document["cluster"] == "Qx3"
    found: list[dict[str, Any]] = document["items"]
    return found


def test_list_hides_internal_topics(admin: StandIn) -> None:
    assert kcli("list", "-o", "name").stdout == "orders\npay\n"
    assert kcli("list", "-o", "name", "--internal").stdout == "orders\npay\n__consumer_offsets\n"
    assert kcli("list", "-o", "name", "--match", "o*").stdout == "orders\n"


def test_list_counts(admin: StandIn) -> None:
    assert items("list")[1] == {
        "name": "pay",
        "partitions": 1,
        "replication_factor": 2,
        "under_replicated": 1,
        "internal": False,
        "topic_id": "id",
    }


def test_describe_is_a_line_per_partition_for_people_and_an_item_per_topic_in_json(admin: StandIn) -> None:
    done = kcli("describe", "orders", "--no-headers")
    assert done.stdout.splitlines()[0].split() == ["orders", "0", "1", "4", "1,2", "1,2", "10", "1010"]
    assert len(done.stdout.splitlines()) == 2
    (item,) = items("describe", "orders")
    assert item["configs"] == {"retention.ms": "5"}
    assert item["partitions"][1]["end"] == 1010
    assert "retention.ms = 5" in kcli("describe", "orders", "-o", "table").stdout


def test_describe_of_unknown_topics(admin: StandIn) -> None:
    alone = kcli("describe", "ordesr")
    assert (alone.return_value, alone.stdout) == (1, "")
    assert "topic ordesr does not exist" in alone.stderr
    assert "did you mean orders" in alone.stderr
    assert kcli("describe", "ordesr", "orders").return_value == 6


def test_unknown_offsets_are_null_and_a_warning(admin: StandIn) -> None:
    admin.broken = TopicPartition("orders", 1)
    done = kcli("describe", "orders", "-o", "json")
    assert done.return_value == 6
    document = json.loads(done.stdout)
    assert document["items"][0]["partitions"][1]["end"] is None
    assert any("orders-1" in warning for warning in document["warnings"])


def test_offsets_that_were_requested_and_are_unknown_are_a_failure(admin: StandIn) -> None:
    admin.broken = TopicPartition("orders", 1)
    done = kcli("offsets", "orders", "-o", "csv")
    assert done.stdout.splitlines()[1:] == ["orders,0,10,1010,1000", "orders,1,,,"]
    assert done.return_value == 6
    assert done.stderr.count("NOT_LEADER_OR_FOLLOWER (6)") == 1
    admin.broken = TopicPartition("pay", 0)
    assert kcli("offsets", "pay").return_value == 1


def test_offsets(admin: StandIn) -> None:
    assert kcli("offsets", "orders", "-o", "csv").stdout == (
        "topic,partition,log_start,end,offsets\norders,0,10,1010,1000\norders,1,10,1010,1000\n"
    )
    assert {item["topic"] for item in items("offsets")} == {"orders", "pay"}
    assert items("offsets", "pay", "--time", "latest")[0]["offset"] == 1010
    assert items("offsets", "pay", "--time", "@-1h")[0]["offset"] is None


def test_create(admin: StandIn) -> None:
    arguments = ["create", "new", "--partitions", "3", "--replication-factor", "2", "--config", "a.b=c=d"]
    assert kcli(*arguments).return_value == 0
    wanted = TopicSpec("new", 3, 2, {"a.b": "c=d"})
    assert admin.created == [(wanted, True), (wanted, False)]
    assert kcli("create", "new", "--dry-run").return_value == 0
    assert admin.created[2:] == [(TopicSpec("new", -1, -1, {}), True)]


def test_create_what_exists(admin: StandIn) -> None:
    refused = kcli("create", "orders")
    assert refused.return_value == 7
    assert "--if-not-exists" in refused.stderr
    assert kcli("create", "orders", "--if-not-exists").return_value == 0


def test_delete_asks_for_every_name_before_the_first_is_deleted(admin: StandIn) -> None:
    assert kcli("delete", "orders", "pay", "--dry-run").return_value == 0
    assert admin.deleted == []
    done = kcli("delete", "pay", "--confirm", "pay")
    assert (done.return_value, admin.deleted) == (0, ["pay"])
    assert "Delete topic pay: 1 partition, up to 1,000 records." in done.stderr
    assert kcli("delete", "orders", "gone", "--yes").return_value == 6
    assert admin.deleted == ["pay", "orders"]


def test_delete_without_an_answer_does_nothing(admin: StandIn) -> None:
    with pytest.raises(Exception, match="confirmation required"):
        kcli("delete", "orders", "--no-input")
    with pytest.raises(Exception, match="does not name"):
        kcli("delete", "orders", "pay", "--confirm", "orders")
    assert admin.deleted == []


# --- what --with-size, the filters and -o wide show ---------------------------------------------------


def test_sizes_are_of_the_leaders_and_unknown_where_a_broker_did_not_answer(admin: StandIn) -> None:
    known = {item["name"]: (item["size_bytes"], item["disk_bytes"]) for item in items("list", "--with-size")}
    assert known == {"orders": (3_001, 6_002), "pay": (None, None)}
    assert missing_sizes() == {
        "the sizes of pay-0 on broker 1": "their replicas are being created or deleted there",
        "the sizes of pay-0 on broker 2": "their replicas are being created or deleted there",
    }
    admin.second_broker = TimedOutError("describing the log directories of broker 2")
    done = kcli("list", "--with-size", "-o", "json")
    assert (done.return_value, json.loads(done.stdout)["items"][0]["size_bytes"]) == (6, 3_001)
    assert json.loads(done.stdout)["items"][0]["disk_bytes"] is None
    assert "3.0 kB" in kcli("list", "--with-size", "-o", "table").stdout
    assert " 3001" in kcli("list", "--with-size").stdout


def missing_sizes() -> dict[str, str]:
    """What is missing by what it is, with the reason; nothing that is null is missing without one."""
    done = kcli("list", "--with-size", "-o", "json")
    document = json.loads(done.stdout)
    assert (done.return_value, document["complete"]) == (6, False)
    return {part["what"]: part["why"] for part in document["missing"]}


def test_sizes_on_a_broker_that_is_down_are_missing(admin: StandIn) -> None:
    gone = PartitionView(0, -1, 4, (3,), (3,), (3,))
    admin.topics = {"pay": TopicInfo("pay", "id", False, (gone,))}
    assert items("list", "--with-size")[0]["size_bytes"] is None
    assert missing_sizes() == {"the sizes of pay-0 on broker 3": "broker 3 is down"}


def test_sorted_by_size_the_largest_comes_first_and_what_is_unknown_last(admin: StandIn) -> None:
    assert [item["name"] for item in items("list", "--sort", "size")] == ["orders", "pay"]
    admin.topics = dict(reversed(admin.topics.items()))
    assert [item["name"] for item in items("list", "--sort", "disk")] == ["orders", "pay"]
    assert [item["name"] for item in items("list", "--sort", "under-replicated")] == ["pay", "orders"]
    assert "DISK-BYTES" in kcli("list", "--sort", "disk").stdout
    done = kcli("list", "--sort", "size")
    assert "DISK-BYTES" not in done.stdout
    assert "SIZE-BYTES counts one replica of each partition" in done.stderr


def test_filters_look_at_all_topics_and_show_only_such_partitions(admin: StandIn) -> None:
    assert [row.split()[0:2] for row in rows("describe", "--under-replicated")] == [["pay", "0"]]
    gone = PartitionView(1, -1, 4, (2,), (2,), (2,))
    admin.topics["orders"] = TopicInfo("orders", "id", False, (admin.topics["orders"].partitions[0], gone))
    assert [row.split()[0:2] for row in rows("describe", "--unavailable", codes=6)] == [["orders", "1"]]
    both = rows("describe", "--unavailable", "--under-replicated", codes=6)
    assert [row.split()[0:2] for row in both] == [["orders", "1"], ["pay", "0"]]
    assert kcli("describe", "--unavailable").stdout.startswith("TOPIC"), "no settings before the partitions"
    assert items("describe", "--unavailable")[0]["configs"] is not None


def test_a_filter_that_finds_nothing_says_so(admin: StandIn) -> None:
    done = kcli("describe", "--unavailable")
    assert (done.return_value, done.stdout.split()[0]) == (0, "TOPIC")
    assert done.stderr == "no unavailable partitions in the topics that this client may describe\n"
    assert json.loads(kcli("describe", "--unavailable", "-o", "json").stdout)["items"] == []


def test_match_describes_the_topics_that_match(admin: StandIn) -> None:
    assert [item["name"] for item in items("describe", "--match", "*o*")] == ["orders", "__consumer_offsets"]
    assert [item["name"] for item in items("describe", "pay", "--match", "o*")] == ["pay", "orders"]
    assert (
        kcli("describe", "--match", "x*").stderr
        == "no topic matches x*, or none that this client may describe\n"
    )
    with pytest.raises(Exception, match="missing argument TOPIC"):
        kcli("describe")


def test_wide_names_the_leaders_address(admin: StandIn) -> None:
    assert "1 (one:9092)" in kcli("describe", "orders", "-o", "wide").stdout
    assert items("describe", "orders")[0]["partitions"][0]["leader"] == 1


def test_a_pipe_gets_what_a_terminal_gets(admin: StandIn) -> None:
    shown, piped = kcli("describe", "orders", "-o", "table").stdout, kcli("describe", "orders").stdout
    words = [line.split() for line in shown.replace(",", " ").splitlines() if not line.startswith("─")]
    assert piped.splitlines()[:2] == shown.splitlines()[:2]
    assert len(piped.splitlines()) == len(words)


def test_an_empty_list_says_so_and_stays_a_list(admin: StandIn) -> None:
    admin.topics.clear()
    done = kcli("list")
    assert (done.stdout.split()[0], done.stderr) == (
        "NAME",
        "there are no topics, or internal ones only, or none that this client may describe\n",
    )
    document = json.loads(kcli("list", "-o", "json").stdout)
    assert (document["items"], document["warnings"]) == ([], [done.stderr.strip()])
    assert (
        kcli("list", "--match", "x*").stderr == "no topic matches x*, or none that this client may describe\n"
    )


# --- create ------------------------------------------------------------------------------------------


def test_create_answers_with_what_was_made(admin: StandIn) -> None:
    made = {
        "name": "new",
        "partitions": 3,
        "replication_factor": 2,
        "topic_id": "new-id",
        "configs": {"a.b": "c"},
        "created": True,
        "status": "done",
        "note": None,
    }
    assert items("create", "new", "--config", "a.b=c") == [made]
    (checked,) = items("create", "new", "--config", "a.b=c", "--dry-run")
    assert checked == made | {"topic_id": None, "created": False, "status": "planned"}
    assert kcli("create", "new", "-o", "name").stdout == "new\n"
    assert kcli("create", "new").stdout == ""


def test_a_topic_that_exists_is_shown_as_it_is(admin: StandIn) -> None:
    done = kcli("create", "new", "orders", "--if-not-exists", "-o", "json")
    assert [(item["name"], item["created"]) for item in json.loads(done.stdout)["items"]] == [
        ("new", True),
        ("orders", False),
    ]
    assert [item["status"] for item in json.loads(done.stdout)["items"]] == ["done", "unchanged"]
    assert done.stderr == "topic orders already exists\ncreated topic new\n"
    assert json.loads(done.stdout)["items"][1]["configs"] == {"retention.ms": "5"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--partitions", "6"], "partitions 2, not 6"),
        (["--replication-factor", "3"], "replication factor 2, not 3"),
        (["--config", "retention.ms=6"], "retention.ms=5, not 6"),
        (["--config", "cleanup.policy=compact"], "cleanup.policy=delete, not compact"),
    ],
)
def test_a_topic_that_exists_and_differs_is_refused(admin: StandIn, asked: list[str], said: str) -> None:
    done = kcli("create", "orders", "--if-not-exists", *asked)
    assert done.return_value == 7
    assert said in done.stderr


def test_a_topic_that_exists_as_requested_is_success(admin: StandIn) -> None:
    asked = ["--partitions", "2", "--replication-factor", "2", "--config", "retention.ms=5"]
    done = kcli("create", "orders", "--if-not-exists", *asked, "--config", "cleanup.policy=delete")
    assert (done.return_value, done.stderr) == (0, "topic orders already exists\n")


# --- topics of the cluster's own ---------------------------------------------------------------------


def test_yes_does_not_delete_a_topic_of_the_clusters_own(admin: StandIn) -> None:
    for names in (["__consumer_offsets"], ["orders", "__consumer_offsets"]):
        with pytest.raises(Refused, match="by name required") as refused:
            kcli("delete", *names, "--yes")
        assert "the committed offsets of all groups" in refused.value.why
        assert "--confirm __consumer_offsets" in refused.value.do
    assert admin.deleted == []


def test_a_topic_of_the_clusters_own_is_deleted_when_it_is_named(admin: StandIn) -> None:
    assert (
        kcli(
            "delete", "orders", "__consumer_offsets", "--yes", "--confirm", "__consumer_offsets"
        ).return_value
        == 0
    )
    assert sorted(admin.deleted) == ["__consumer_offsets", "orders"]


@pytest.mark.parametrize(
    "name", ["__transaction_state", "__share_group_state", "__remote_log_metadata", "__new_in_5"]
)
def test_which_topics_are_the_clusters_own(admin: StandIn, name: str) -> None:
    """Brokers before 4.0 do not flag all of them; a new one is known by the flag."""
    admin.topics[name] = topic(name, 1, internal=name == "__new_in_5")
    with pytest.raises(Refused, match="by name required"):
        kcli("delete", name, "--yes")
    assert kcli("delete", name, "--dry-run").return_value == 0
    assert admin.deleted == []
