"""Checks before a copy: every conflict of every route is found, permissions too, and new topics are like the source's."""

from collections.abc import Mapping

import pytest

from kcli.core.permissions import AclOperation
from kcli.core.types import TopicSpec
from kcli.flows.mirror.topics.configs import ConfigSync
from kcli.flows.mirror.topics.preflight import NO_TOPICS, Findings, TopicFacts, check_routes
from kcli.flows.mirror.topics.routes import Route

ROUTE = Route("orders", "copy")
CONFIGS = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "compression.type": "producer",
}


def topic(
    partitions: int = 4, operations: int | None = None, replicas: int = 3, **configs: str
) -> TopicFacts:
    own = {key.replace("_", "."): value for key, value in configs.items()}
    return TopicFacts("id", partitions, replicas, {**CONFIGS, **own}, own, operations)


def check(
    source: TopicFacts,
    target: TopicFacts | None,
    *,
    by_key: bool = False,
    allowed: int | None = None,
    given: Mapping[str, str] = NO_TOPICS,
) -> Findings:
    targets = {} if target is None else {"copy": target}
    return check_routes(
        [ROUTE],
        {"orders": source},
        targets,
        by_key=by_key,
        brokers=2,
        cluster_operations=allowed,
        sync=ConfigSync(given=given),
    )


def test_equal_topics_have_no_finding() -> None:
    assert check(topic(), topic()) == Findings([], [], [], [], {}, {}, [], {"copy": CONFIGS})


@pytest.mark.parametrize(
    ("source", "target", "what", "do"),
    [
        (topic(4), topic(3), "the target has 3 partitions, the source 4", "--partitions by-key"),
        (topic(), topic(message_timestamp_type="LogAppendTime"), "replaces timestamps", "CreateTime"),
        (topic(cleanup_policy="compact"), topic(), "cleanup.policy=delete", "set cleanup.policy=compact"),
        (topic(), topic(cleanup_policy="compact"), "cleanup.policy=compact", "set cleanup.policy=delete"),
        (topic(), topic(cleanup_policy="compact,delete"), "cleanup.policy=compact,delete", "=delete on"),
        (
            topic(),
            topic(max_message_bytes="1000"),
            "accepts batches of 1000 bytes",
            "max.message.bytes=1048588",
        ),
        (
            topic(),
            topic(message_format_version="0.10.2-IV0"),
            "a format without headers and producer ids (message.format.version=0.10.2-IV0)",
            "message.format.version=0.11.0 or later on topic copy",
        ),
        (topic(), topic(message_format_version="0.9.0"), "message.format.version=0.9.0", "0.11.0 or later"),
    ],
)
def test_conflicts_name_the_remedy(source: TopicFacts, target: TopicFacts, what: str, do: str) -> None:
    (found,) = check(source, target).conflicts
    assert what in found.what
    assert do in found.do


@pytest.mark.parametrize(
    ("key", "value"),
    [("message.timestamp.type", "LogAppendTime"), ("cleanup.policy", "compact"), ("max.message.bytes", "9")],
)
@pytest.mark.parametrize("target", [None, topic()])
def test_a_conflict_that_an_option_makes_is_mended_by_leaving_it_out(
    key: str, value: str, target: TopicFacts | None
) -> None:
    (found,) = check(topic(), target, given={key: value}).conflicts
    assert found.do == f"leave --config {key} out"


def test_all_conflicts_of_a_route_are_listed() -> None:
    target = topic(1, cleanup_policy="compact", max_message_bytes="9", message_timestamp_type="LogAppendTime")
    assert len(check(topic(), target).conflicts) == 4


@pytest.mark.parametrize("version", ["0.11.0-IV2", "1.0-IV0", "2.8-IV1", "3.0-IV1"])
def test_a_format_with_headers_is_no_conflict(version: str) -> None:
    assert not check(topic(), topic(message_format_version=version)).conflicts


def test_partitions_by_key_need_no_equal_number() -> None:
    assert not check(topic(4), topic(3), by_key=True).conflicts


@pytest.mark.parametrize(
    ("target", "what"),
    [
        (topic(6), "partitions 4 to 5 of the target stay empty"),
        (topic(compression_type="zstd"), "compress all batches again (compression.type=zstd)"),
    ],
)
def test_warnings(target: TopicFacts, what: str) -> None:
    found = check(topic(), target)
    assert what in found.warnings[0].what
    assert not found.conflicts


def test_a_new_topic_has_the_partitions_and_configs_of_the_source() -> None:
    source = topic(7, retention_ms="5", cleanup_policy="compact", min_insync_replicas="2", segment_bytes="9")
    (spec,) = check(source, None).create
    assert spec == TopicSpec(
        "copy",
        7,
        2,
        {
            "retention.ms": "5",
            "segment.bytes": "9",
            "cleanup.policy": "compact",
            "max.message.bytes": "1048588",
        },
    )


@pytest.mark.parametrize(
    ("own", "copied"),
    [("9223372036854775807", {"message.timestamp.after.max.ms": "9223372036854775807"}), ("9", {})],
    ids=["wider than the default", "narrower"],
)
def test_a_new_topic_accepts_the_timestamps_of_the_source(own: str, copied: dict[str, str]) -> None:
    (spec,) = check(topic(message_timestamp_after_max_ms=own), None).create
    assert {key: value for key, value in spec.configs.items() if "timestamp" in key} == copied


def test_a_new_topic_has_no_setting_that_only_old_brokers_have() -> None:
    source = topic(
        message_timestamp_before_max_ms="9",
        message_timestamp_difference_max_ms="9",
        message_format_version="0.10.2-IV0",
        message_downconversion_enable="false",
    )
    (spec,) = check(source, None).create
    assert spec.configs == {
        "cleanup.policy": "delete",
        "max.message.bytes": "1048588",
    }


@pytest.mark.parametrize(
    ("source", "target", "allowed", "what"),
    [
        (topic(operations=1 << AclOperation.WRITE), topic(), None, "READ on topic orders of the source"),
        (topic(), topic(operations=1 << AclOperation.READ), None, "WRITE on topic copy of the target"),
        (topic(), None, 1 << AclOperation.READ, "CREATE on the target cluster, for topic copy"),
    ],
)
def test_missing_permissions_are_listed(
    source: TopicFacts, target: TopicFacts | None, allowed: int | None, what: str
) -> None:
    assert [finding.what for finding in check(source, target, allowed=allowed).denied] == [what]


def test_permissions_that_are_granted_or_not_reported_are_no_finding() -> None:
    source, target = topic(operations=1 << AclOperation.READ), topic(operations=1 << AclOperation.WRITE)
    assert not check(source, target).denied
    assert not check(source, None, allowed=1 << AclOperation.CREATE).denied
