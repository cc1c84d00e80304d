"""What is written to the target, and what a difference of the values in force does to the records."""

from collections.abc import Mapping

import pytest

from kcli.flows.mirror.topics.configs import (
    ConfigSync,
    Difference,
    Values,
    differences,
    followed_changes,
    own_settings_left,
    values_of_new_topics,
    written_to_existing,
    written_to_new,
)

DAY = 86_400_000
NEVER = "9223372036854775807"
BASE = {
    "cleanup.policy": "delete",
    "retention.ms": f"{7 * DAY}",
    "retention.bytes": "-1",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": NEVER,
    "delete.retention.ms": "86400000",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": NEVER,
    "min.insync.replicas": "1",
    "compression.type": "producer",
    "segment.ms": "604800000",
    "segment.bytes": "1073741824",
}
TOPIC, EFFECTIVE, OFF = ConfigSync(), ConfigSync("effective"), ConfigSync("off")


def values(**own: str) -> dict[str, str]:
    return BASE | {key.replace("_", "."): value for key, value in own.items()}


def found(source: Values, target: Values, written: Mapping[str, str] | None = None) -> list[Difference]:
    return differences(("t", "copy"), source, target, written or {})


def test_equal_values_are_no_difference() -> None:
    assert found(BASE, BASE) == []
    assert found(values(cleanup_policy="compact,delete"), values(cleanup_policy="delete,compact")) == []


@pytest.mark.parametrize(
    ("key", "source", "target", "effect", "loses"),
    [
        ("retention_ms", "-1", f"{7 * DAY}", "deletes records older than 7d, the source keeps them for ever", True),
        ("retention_ms", f"{DAY}", f"{7 * DAY}", "the target keeps records for 7d, the source for 1d", False),
        ("retention_ms", f"{DAY}", "-1", "the target keeps records for ever, the source for 1d", False),
        ("retention_bytes", "-1", "1000000000", "keeps 1.0 GB of a partition, the source all", True),
        ("retention_bytes", "1000", "-1", "keeps all of a partition, the source 1.0 kB", False),
        ("cleanup_policy", "delete", "compact,delete", "removes records that the source keeps", True),
        ("cleanup_policy", "compact,delete", "delete", "keeps records that the source removes", False),
        ("max_message_bytes", "2000000", "1048588", "refuses batches that the source accepts", True),
        ("max_message_bytes", "1048588", "2000000", "accepts larger batches", False),
        ("message_timestamp_type", "CreateTime", "LogAppendTime", "replaces timestamps", True),
        ("message_timestamp_type", "LogAppendTime", "CreateTime", "keeps the times that readers", False),
        ("message_timestamp_after_max_ms", NEVER, "3600000", "up to 1h after its own, the source ever", True),
        ("message_timestamp_after_max_ms", "3600000", NEVER, "up to ever after its own, the source 1h", False),
        ("message_timestamp_before_max_ms", NEVER, f"{DAY}", "up to 1d before its own, the source ever", True),
        ("min_insync_replicas", "1", "2", "need 2 replicas in sync, to the source 1", False),
        ("compression_type", "producer", "zstd", "compress again, with zstd", False),
        ("compression_type", "zstd", "producer", "keeps the compression", False),
        ("segment_ms", f"{DAY}", f"{7 * DAY}", "last 7d on the target, 1d on the source", False),
        ("segment_bytes", "1000000", "2000000", "have 2.0 MB on the target, 1.0 MB on the source", False),
    ],
)  # fmt: skip
def test_each_difference_says_what_it_does_to_the_records(
    key: str, source: str, target: str, effect: str, loses: bool
) -> None:
    (one,) = found(values(**{key: source}), values(**{key: target}))
    assert (one.key, one.source_value, one.target_value) == (key.replace("_", "."), source, target)
    assert effect in one.effect
    assert (one.loses, one.is_set) == (loses, False)


@pytest.mark.parametrize("key", ["delete_retention_ms", "min_compaction_lag_ms", "max_compaction_lag_ms"])
def test_settings_of_compaction_count_where_the_target_compacts(key: str) -> None:
    assert found(values(**{key: "5"}), values(**{key: "7000"})) == []
    compacted = {"cleanup_policy": "compact"}
    (one,) = found(values(**{key: "5"}, **compacted), values(**{key: "7000"}, **compacted))
    assert "7s" in one.effect


def test_retention_says_nothing_of_topics_that_are_only_compacted() -> None:
    """They keep the latest value of each key, however old."""
    one, two = (
        values(cleanup_policy="compact", retention_ms=f"{DAY}"),
        values(cleanup_policy="compact", retention_ms="5"),
    )
    assert found(one, two) == []


def test_a_value_that_is_not_known_is_no_difference() -> None:
    """Brokers before 3.6 have no limits to both sides, and others may not say anything."""
    assert found(BASE, {}) == []
    assert found({}, BASE) == []


def test_a_broker_before_3_6_has_one_limit_to_both_sides() -> None:
    old = {
        "message.timestamp.difference.max.ms": NEVER,
        "retention.ms": f"{7 * DAY}",
        "cleanup.policy": "delete",
    }
    (one,) = found(old, BASE)
    assert (one.key, one.source_value, one.loses) == ("message.timestamp.after.max.ms", NEVER, True)
    assert written_to_existing(EFFECTIVE, old, {}, BASE, 1) == {"message.timestamp.after.max.ms": NEVER}


@pytest.mark.parametrize(
    ("broker", "key", "value"),
    [
        ({"log.retention.hours": "168"}, "retention.ms", f"{7 * DAY}"),
        ({"log.retention.hours": "-1"}, "retention.ms", "-1"),
        ({"log.retention.minutes": "5", "log.retention.hours": "168"}, "retention.ms", "300000"),
        ({"log.retention.ms": "-1", "log.retention.minutes": "5"}, "retention.ms", "-1"),
        ({"log.roll.hours": "168"}, "segment.ms", f"{7 * DAY}"),
        ({"message.max.bytes": "5"}, "max.message.bytes", "5"),
        ({"compression.type": "zstd"}, "compression.type", "zstd"),
        ({"log.message.timestamp.type": "LogAppendTime"}, "message.timestamp.type", "LogAppendTime"),
    ],
)
def test_a_topic_that_sets_nothing_has_what_brokers_have(broker: Values, key: str, value: str) -> None:
    assert values_of_new_topics(broker) == {key: value}


# --- what is written -------------------------------------------------------------------------------------


def test_a_new_topic_gets_what_the_source_topic_sets_and_what_an_exact_copy_needs() -> None:
    own = {
        "retention.ms": "5",
        "segment.bytes": "9",
        "min.insync.replicas": "2",
        "remote.storage.enable": "true",
    }
    source = BASE | own
    needed = {"cleanup.policy": "delete", "max.message.bytes": "1048588"}
    assert written_to_new(TOPIC, source, own, BASE, 3) == needed | {"retention.ms": "5", "segment.bytes": "9"}
    assert written_to_new(OFF, source, own, BASE, 3) == needed


def test_a_new_topic_does_not_replace_timestamps_though_its_brokers_do() -> None:
    defaults = values(message_timestamp_type="LogAppendTime")
    for sync in (OFF, TOPIC, EFFECTIVE):
        assert written_to_new(sync, BASE, {}, defaults, 1)["message.timestamp.type"] == "CreateTime"


def test_effective_writes_what_differs_wherever_it_is_set() -> None:
    source = values(retention_ms="-1", min_insync_replicas="2", message_timestamp_type="LogAppendTime")
    written = written_to_new(EFFECTIVE, source, {}, BASE, 3)
    assert written["retention.ms"] == "-1"
    assert written["min.insync.replicas"] == "2"
    assert "message.timestamp.type" not in written
    assert "segment.ms" not in written, "it does not differ"
    assert written_to_existing(EFFECTIVE, source, {}, BASE, 3) == {
        "retention.ms": "-1",
        "min.insync.replicas": "2",
    }
    for sync in (TOPIC, OFF):
        assert written_to_existing(sync, source, {"retention.ms": "-1"}, BASE, 3) == {}


def test_an_older_target_gets_no_limit_that_it_does_not_have() -> None:
    own = {"message.timestamp.after.max.ms": NEVER}
    older = {key: value for key, value in BASE.items() if "timestamp.after" not in key}
    for sync in (TOPIC, EFFECTIVE):
        assert not own.keys() & written_to_new(sync, BASE | own, own, older, 1).keys()
        assert own.items() <= written_to_new(sync, BASE | own, own, BASE, 1).items()
        assert own.items() <= written_to_new(sync, BASE | own, own, {}, 1).items()


def test_effective_writes_nothing_that_would_stop_the_copy() -> None:
    """More replicas in sync than there are, and limits that refuse what the source has."""
    source = values(min_insync_replicas="3", message_timestamp_after_max_ms="5")
    assert written_to_existing(EFFECTIVE, source, {}, BASE, 2) == {}


def test_what_belongs_to_one_cluster_is_never_written() -> None:
    own = {
        "follower.replication.throttled.replicas": "0:1",
        "leader.replication.throttled.replicas": "*",
        "remote.storage.enable": "true",
        "local.retention.ms": "5",
        "unclean.leader.election.enable": "true",
        "message.format.version": "2.8",
    }
    for sync in (TOPIC, EFFECTIVE):
        assert not own.keys() & written_to_new(sync, BASE | own, own, BASE, 3).keys()
        assert written_to_existing(sync, BASE | own, own, BASE, 3) == {}
        assert followed_changes(sync, (BASE, {}), (BASE | own, own), BASE, 3) == {}
    assert own_settings_left(own, BASE) == sorted(own)


def test_what_the_target_does_not_have_is_left_and_said() -> None:
    """Of brokers before 3.8 and 4.4; where the values of the target are not known, it is tried."""
    own = {"compression.zstd.level": "7", "errors.deadletterqueue.group.enable": "true", "segment.ms": "8"}
    newer = {
        **BASE,
        "compression.zstd.level": "3",
        "errors.deadletterqueue.topic.name.prefix": "",
        "log.segment.bytes": "1073741824",
    }
    defaults = values_of_new_topics(newer)
    assert defaults["errors.deadletterqueue.group.enable"] == "false"
    assert defaults["compression.zstd.level"] == "3"
    for sync in (TOPIC, EFFECTIVE):
        changes = (BASE, {}), (BASE | own, own)
        assert own.items() <= written_to_new(sync, BASE | own, own, defaults, 1).items()
        assert own.items() <= written_to_new(sync, BASE | own, own, {}, 1).items()
        assert followed_changes(sync, *changes, BASE | defaults, 1) == own
        assert followed_changes(sync, *changes, {}, 1) == own
        assert not own.keys() & written_to_new(sync, BASE | own, own, BASE, 1).keys() - {"segment.ms"}
        assert followed_changes(sync, *changes, BASE, 1) == {"segment.ms": "8"}
    assert written_to_existing(EFFECTIVE, BASE | own, own, BASE, 1) == {"segment.ms": "8"}
    assert written_to_existing(EFFECTIVE, BASE | own, own, BASE | defaults, 1) == own
    assert own_settings_left(own, BASE) == ["compression.zstd.level", "errors.deadletterqueue.group.enable"]
    assert own_settings_left(own, BASE | defaults) == []


def test_given_values_go_before_everything() -> None:
    given = {"retention.ms": "7", "cleanup.policy": "compact"}
    source = values(retention_ms="-1")
    for mode in ("off", "topic", "effective"):
        sync = ConfigSync(mode, given)
        assert given.items() <= written_to_new(sync, source, {"retention.ms": "-1"}, BASE, 1).items()
        assert written_to_existing(sync, source, {}, BASE, 1) == given
        assert written_to_existing(sync, source, {}, BASE | given, 1) == {}
        changed = followed_changes(sync, (source, {}), (BASE, {"retention.ms": "9"}), BASE, 1)
        assert not given.keys() & changed.keys()


def test_what_is_set_says_what_it_does_where_it_still_differs() -> None:
    source = values(retention_ms="-1")
    (one,) = found(source, BASE, {"retention.ms": "-1"})
    assert (one.effect, one.loses, one.is_set) == ("retention.ms is set to -1 (never)", False, True)
    (one,) = found(source, BASE, {"retention.ms": f"{DAY}"})
    assert one.effect.startswith(
        f"retention.ms is set to {DAY} (1 d): the target deletes records older than 1d"
    )
    assert (one.loses, one.is_set) == (True, True)


# --- changes at the source -------------------------------------------------------------------------------


def test_changes_of_the_source_topic_are_followed() -> None:
    before, after = {"retention.ms": "5", "segment.ms": "8"}, {"retention.ms": "6", "max.message.bytes": "9"}
    for sync in (OFF, TOPIC):
        assert followed_changes(sync, (BASE | before, before), (BASE | after, after), BASE, 1) == {
            "max.message.bytes": "9",
            "retention.ms": "6",
            "segment.ms": None,
        }


def test_effective_also_follows_changes_of_the_brokers() -> None:
    before, after = values(retention_ms="5"), values(retention_ms="6")
    target = values(retention_ms="5")
    assert followed_changes(EFFECTIVE, (before, {}), (after, {}), target, 1) == {"retention.ms": "6"}
    assert followed_changes(TOPIC, (before, {}), (after, {}), target, 1) == {}
    assert followed_changes(EFFECTIVE, (before, {}), (before, {}), BASE, 1) == {}, "nothing has changed there"


def test_effective_sets_what_is_in_force_after_a_key_was_unset() -> None:
    own = {"retention.ms": "5"}
    changes = followed_changes(EFFECTIVE, (BASE | own, own), (BASE, {}), BASE | own, 1)
    assert changes == {"retention.ms": BASE["retention.ms"]}
