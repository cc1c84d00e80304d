"""``kcli topics`` against a stand-in for the admin client: what is asked, what is printed, which exit code."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kcli.cli import cli
from kcli.commands import topics as module
from kcli.commands._options import GlobalValues
from kcli.core.admin.configs import ConfigEntry
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView, unknown_topic
from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.errors import BrokerError, KcliError
from kcli.core.types import TopicPartition, TopicSpec


def topic(
    name: str, partitions: int = 2, *, internal: bool = False, isr: tuple[int, ...] = (1, 2)
) -> TopicInfo:
    parts = tuple(PartitionView(n, 1, 4, (1, 2), isr) for n in range(partitions))
    return TopicInfo(name, "id", internal, parts)


class StandIn:
    """Three topics; remembers what it was told to change."""

    def __init__(self) -> None:
        known = (topic("orders"), topic("pay", 1, isr=(1,)), topic("__consumer_offsets", 1, internal=True))
        self.topics = {info.name: info for info in known}
        self.created: list[tuple[TopicSpec, bool]] = []
        self.deleted: list[str] = []
        self.broken = TopicPartition("", -1)

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_exc: object) -> None: ...

    def cluster_id(self) -> str:
        return "Qx3"

    def list_topics(self) -> list[TopicInfo]:
        return list(self.topics.values())

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicInfo | KcliError]:
        return {name: self.topics.get(name) or unknown_topic(name, self.topics) for name in names}

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetInfo | KcliError]:
        answers = {-2: OffsetInfo(10, -1, -1), -1: OffsetInfo(1_010, -1, 4)}
        return {
            place: BrokerError(6, str(place))
            if place == self.broken
            else answers.get(time, OffsetInfo(-1, -1))
            for place, time in wanted.items()
        }

    def describe_topic_configs(self, names: Sequence[str]) -> dict[str, list[ConfigEntry] | KcliError]:
        entries = [
            ConfigEntry("retention.ms", "5", "topic", False),
            ConfigEntry("cleanup.policy", "delete", "default", False),
        ]
        return dict.fromkeys(names, entries)

    def create_topics(
        self, specs: Sequence[TopicSpec], *, validate_only: bool = False
    ) -> dict[str, KcliError | None]:
        self.created += [(spec, validate_only) for spec in specs]
        return {spec.name: BrokerError(36, spec.name) if spec.name in self.topics else None for spec in specs}

    def delete_topics(self, names: Sequence[str]) -> dict[str, KcliError | None]:
        self.deleted += names
        return dict.fromkeys(names)


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(module, "open_admin", lambda _inv: stand_in)
    monkeypatch.setattr(module, "connect", lambda _inv, found: found.cluster_id())
    return stand_in


def kcli(*arguments: str) -> Result:
    done = CliRunner().invoke(cli, ["topics", *arguments], obj=GlobalValues(), standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, KcliError | SystemExit):
        raise done.exception
    return done


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
    done = kcli("describe", "orders")
    assert done.stdout.splitlines()[1].split() == ["orders", "0", "1", "4", "1,2", "1,2", "10", "1010"]
    assert len(done.stdout.splitlines()) == 3
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
    document = json.loads(kcli("describe", "orders", "-o", "json").stdout)
    assert document["items"][0]["partitions"][1]["end"] is None
    assert any("orders-1" in warning for warning in document["warnings"])


def test_offsets_that_were_asked_for_and_are_unknown_are_a_failure(admin: StandIn) -> None:
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
    assert admin.created == [(TopicSpec("new", 3, 2, {"a.b": "c=d"}), False)]
    assert kcli("create", "new", "--dry-run").return_value == 0
    assert admin.created[1] == (TopicSpec("new", -1, -1, {}), True)


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
