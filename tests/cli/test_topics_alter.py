"""``kcli topics alter``: the plan, what is changed and read back, what is refused, and the exit codes."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from kcli.core.permissions import AclOperation
from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kcli.flows.configs import key_changes as config_changes
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code, RefusedError
from tests.fake.script import FOREVER
from tests.printed_json import check_printed
from tests.run import Noun

INTERNAL = "__consumer_offsets"
CHECKS = 2
"""How often brokers are asked before the act: for the plan, and right before it."""


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={INTERNAL: 1}) as made:
        yield made


@pytest.fixture
def cluster(shared: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    monkeypatch.delenv("KCLI_TIMEOUT", raising=False)
    shared.create_topic("orders", 3, configs={"retention.ms": "1000"})
    yield shared
    shared.heal()
    for name in ("orders", "huge"):
        with suppress(RefusedError):
            shared.delete_topic(name)


@pytest.fixture
def topics(cluster: FakeCluster) -> Noun:
    return Noun("topics", cluster)


def described(topics: Noun) -> tuple[int, dict[str, Any]]:
    (topic,) = topics("describe orders -o json").items
    return len(topic["partitions"]), topic["configs"]


def changed(cluster: FakeCluster) -> list[Any]:
    """The requests that changed something, not only validated."""
    kinds = (IncrementalAlterConfigsRequest, CreatePartitionsRequest)
    return [
        seen.request for seen in cluster.requests if seen.kind in kinds and not seen.request.validate_only
    ]


EVERYTHING = (
    "alter orders --set max.message.bytes=5000 --unset retention.ms "
    "--append cleanup.policy=compact --partitions 5"
)


def test_every_change_is_made_and_read_back(topics: Noun) -> None:
    done = topics(f"{EVERYTHING} --yes -o json")
    rows = [
        (row["key"], row["change"], row["old"], row["old_source"], row["new"], row["status"])
        for row in done.items
    ]
    assert rows == [
        ("max.message.bytes", "set", "1048588", "default", "5000", "done"),
        ("retention.ms", "unset", "1000", "topic", "604800000", "done"),
        ("cleanup.policy", "append", "delete", "default", "delete,compact", "done"),
        ("partitions", "increase", "3", None, "5", "done"),
    ]
    assert described(topics) == (5, {"max.message.bytes": "5000", "cleanup.policy": "delete,compact"})
    assert "altered topic orders: 4 changes, read back" in done.err
    topics("alter orders --remove cleanup.policy=delete --yes")
    assert described(topics)[1]["cleanup.policy"] == "compact"


def test_a_dry_run_shows_the_plan_and_changes_nothing(topics: Noun) -> None:
    before = described(topics), len(changed(topics.cluster))
    done = topics(f"{EVERYTHING} --dry-run")
    assert "\nAlter topic orders: 4 changes.\n" in done.out
    assert done.out.endswith("and records with the same key may go to another partition than before.\n")
    assert "same key" not in topics("alter orders --set retention.ms=5 --dry-run").out
    rows = topics(f"{EVERYTHING} --dry-run -o json").items
    assert [row["new"] for row in rows] == ["5000", "604800000", "delete,compact", "5"]
    assert (described(topics), len(changed(topics.cluster))) == before


@pytest.mark.parametrize(
    ("line", "api"),
    [("alter orders --partitions", "CreatePartitions"), ("create huge --partitions", "CreateTopics")],
)
def test_brokers_are_not_asked_for_very_many_partitions_before_the_name_is_given(
    topics: Noun, line: str, api: str
) -> None:
    since = len(topics.cluster.requests)
    done = topics(f"{line} 100000000 --yes", 2)
    assert "can exhaust the memory" in done.err
    assert f"give --confirm {line.split()[1]}" in done.err
    assert "100,000,000" in topics(f"{line} 100000000 --dry-run").out
    shown = topics(f"{line} 100000000 --dry-run")
    assert "check" in shown.out + shown.err
    assert api not in {seen.api for seen in topics.cluster.requests[since:]}
    topics(f"{line} 10003 --yes --confirm {line.split()[1]}")
    assert api in {seen.api for seen in topics.cluster.requests[since:]}


@pytest.fixture
def forbidden(cluster: FakeCluster) -> Iterator[FakeCluster]:
    """A client that may describe only."""
    settings = cluster.settings
    before = settings.topic_operations, settings.cluster_operations
    settings.topic_operations = settings.cluster_operations = 1 << AclOperation.DESCRIBE
    yield cluster
    settings.topic_operations, settings.cluster_operations = before


MANY = "--partitions 10004"


def test_a_dry_run_of_very_many_partitions_sees_what_exists(topics: Noun) -> None:
    done = topics(f"create orders {MANY} --dry-run", 7)
    assert "TOPIC_ALREADY_EXISTS" in done.err
    assert "--if-not-exists" in done.err
    assert (done.out, "did not check" in done.err) == ("", False)
    some = topics(f"create orders huge {MANY} --dry-run", 7)
    assert ("huge: 10,004 partitions" in some.out, "orders:" in some.out) == (True, False)


def test_very_many_partitions_of_a_topic_that_exists_need_no_confirmation(topics: Noun) -> None:
    done = topics(f"create orders {MANY} --if-not-exists", 7)
    assert "differs from what was requested: partitions 3, not 10004" in done.err
    assert "confirmation" not in done.err
    topics.cluster.create_topic("huge", 10004)
    done = topics(f"create huge {MANY} --if-not-exists -o json", 0)
    assert "topic huge already exists" in done.err
    assert [row["created"] for row in done.items] == [False]


@pytest.mark.parametrize("line", ["create huge", "alter orders"])
def test_a_dry_run_of_very_many_partitions_sees_a_missing_permission(
    topics: Noun, forbidden: FakeCluster, line: str
) -> None:
    done = topics(f"{line} {MANY} --dry-run", 4)
    verb, name = line.split()
    operation = "create" if verb == "create" else "alter"
    assert f"kcli acls create --principal User:NAME --operation {operation} --topic {name}" in done.err


@pytest.mark.parametrize("how", ["--dry-run", "--yes", "--confirm p1"])
def test_very_many_partitions_of_several_topics_are_created_one_topic_at_a_time(
    topics: Noun, how: str
) -> None:
    since = len(topics.cluster.requests)
    done = topics(f"create p1 p2 --partitions 6000 {how}", 2)
    assert "12,000 partitions of 2 topics" in done.err
    assert "one at a time" in done.err
    assert "--confirm p1" not in done.err
    assert "CreateTopics" not in {seen.api for seen in topics.cluster.requests[since:]}


def test_a_connection_that_is_lost_in_the_check_has_changed_nothing(topics: Noun) -> None:
    topics.cluster.drop(CreatePartitionsRequest, "close", times=FOREVER)
    done = topics("alter orders --partitions 5 --yes --timeout 1s", 3)
    assert "this was a check, and nothing was changed" in done.err


def test_a_change_that_the_broker_rejects_has_no_plan_but_in_a_dry_run(topics: Noun) -> None:
    line = "alter orders --set retention.ms=x"
    assert "Alter topic orders" not in topics(f"{line} --yes", 2).err
    assert "Alter topic orders" in topics(f"{line} --dry-run", 2).out


def test_without_a_terminal_the_plan_is_shown_and_nothing_done(topics: Noun) -> None:
    before = len(changed(topics.cluster))
    done = topics("alter orders --set retention.ms=5", 2)
    assert "Alter topic orders: 1 change." in done.err
    assert "give --yes to confirm" in done.err
    assert (done.out, len(changed(topics.cluster))) == ("", before)


def test_what_is_set_already_is_not_sent_again(topics: Noun) -> None:
    before = len(changed(topics.cluster))
    line = (
        "alter orders --set retention.ms=1000 --append cleanup.policy=delete --remove cleanup.policy=compact"
    )
    assert "is changed twice" in topics(line, 2).err
    done = topics(
        "alter orders --set retention.ms=01000 --unset segment.bytes --append cleanup.policy=delete "
        "--partitions 3 -o json"
    )
    assert {row["status"] for row in done.items} == {"unchanged"}
    assert "nothing is to be changed" in done.err
    assert len(changed(topics.cluster)) == before


def test_elements_of_a_list_may_be_given_one_by_one(topics: Noun) -> None:
    topics("alter orders --append cleanup.policy=compact --append cleanup.policy=x --yes")
    assert described(topics)[1]["cleanup.policy"] == "delete,compact,x"


@pytest.mark.parametrize(
    ("line", "code", "what", "do"),
    [
        ("orders --partitions 2", 7, "has 3 partitions, it cannot have 2", "create another topic"),
        (
            "orders --set retention.mss=5",
            2,
            "has no configuration key 'retention.mss'",
            "did you mean retention.ms",
        ),
        (
            "orders --unset retention.mss",
            2,
            "has no configuration key 'retention.mss'",
            "did you mean retention.ms",
        ),
        ("orders --set zzzzzz=5", 2, "has no configuration key 'zzzzzz'", "--all` lists the keys"),
        ("orders --append retention.ms=5", 2, "retention.ms is not a list", "--set retention.ms=VALUE"),
        (
            "orders --set retention.ms=1_000",
            2,
            "INVALID_CONFIG (40): Invalid value 1_000",
            "correct the value",
        ),
        ("ordrs --set retention.ms=5", 1, "topic ordrs does not exist", "did you mean orders?"),
        ("ord* --set retention.ms=5", 2, "looks like a pattern", "name one topic"),
        ("^ord --set retention.ms=5", 2, "looks like a pattern", "name one topic"),
        ("orders", 2, "no change is given", "--partitions 12"),
        ("orders --set retention.ms", 2, "there is no = in it", "--unset retention.ms restores"),
        ("orders --set =5", 2, "no key before the =", "--set retention.ms"),
        ("orders --append cleanup.policy=", 2, "names no element", "--append cleanup.policy=compact"),
        ("orders --unset retention.ms=5", 2, "needs no value", "--unset retention.ms"),
        ("orders --set a=1 --set a=2", 2, "a is changed twice", "leave one of them out"),
        ("orders --partitions 0", 2, "at least 1", "--help"),
        ("orders --partitions 5G", 2, "at most 2,147,483,647", "--help"),
        (
            f"{INTERNAL} --set retention.ms=5 --yes",
            2,
            "the committed offsets of all groups",
            f"--confirm {INTERNAL}",
        ),
        (
            "orders --set retention.ms=5 --confirm other",
            2,
            "does not name what would be changed",
            "--confirm orders",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_sent(
    topics: Noun, line: str, code: int, what: str, do: str
) -> None:
    before = len(changed(topics.cluster))
    for more in ("", " --dry-run") if "confirm" not in do else ("",):
        done = topics(f"alter {line}{more}", code)
        assert what in done.err
        assert do in done.err
    assert len(changed(topics.cluster)) == before


def test_one_refused_change_holds_back_the_others(topics: Noun) -> None:
    before = described(topics)
    done = topics("alter orders --set retention.ms=5 --partitions 2 --yes", 7)
    assert "Kafka cannot remove partitions" in done.err
    assert described(topics) == before


def test_an_internal_topic_is_altered_by_its_confirmed_name(topics: Noun) -> None:
    topics(f"alter {INTERNAL} --set retention.ms=5 --confirm {INTERNAL}")
    topics("alter orders --set retention.ms=5 --confirm orders")
    assert described(topics)[1]["retention.ms"] == "5"


def test_a_missing_permission_is_4(topics: Noun) -> None:
    topics.cluster.fail(DescribeConfigsRequest, Code.TOPIC_AUTHORIZATION_FAILED)
    assert (
        "--operation describe_configs --topic orders"
        in topics("alter orders --set retention.ms=5 --yes", 4).err
    )


def test_added_partitions_that_fail_after_the_configuration_are_6(topics: Noun) -> None:
    topics.cluster.fail(CreatePartitionsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, after=CHECKS)
    done = topics("alter orders --set retention.ms=5 --partitions 4 --yes -o json", 6)
    assert [row["status"] for row in done.items] == ["done", "failed"]
    assert "could not add partitions to topic orders" in done.err
    assert described(topics) == (3, {"retention.ms": "5"})


def test_no_partition_is_added_after_the_configuration_failed(topics: Noun) -> None:
    topics.cluster.fail(IncrementalAlterConfigsRequest, Code.POLICY_VIOLATION, after=CHECKS)
    done = topics("alter orders --set retention.ms=5 --partitions 4 --yes -o json", 7)
    assert [row["status"] for row in done.items] == ["failed", "failed"]
    assert "no partitions were added" in done.err
    assert described(topics) == (3, {"retention.ms": "1000"})


def test_a_change_whose_response_is_lost_is_made(topics: Noun) -> None:
    topics.cluster.swallow(IncrementalAlterConfigsRequest, "reset", nth=CHECKS + 1)
    topics.cluster.swallow(CreatePartitionsRequest, "reset", nth=CHECKS + 1)
    done = topics("alter orders --set retention.ms=5 --partitions 4 --yes -o json")
    assert [row["status"] for row in done.items] == ["done", "done"]
    assert described(topics) == (4, {"retention.ms": "5"})


def test_a_broker_that_receives_the_change_late_is_waited_for(topics: Noun) -> None:
    def stale(_request: Any, answer: Any) -> None:
        for row in answer.results[0].configs:
            if row.name == "retention.ms":
                row.value = "1000"

    late = topics.cluster.replace(DescribeConfigsRequest, stale, after=CHECKS, times=2)
    done = topics("alter orders --set retention.ms=5 --yes -o json")
    assert late.count == 2
    assert [row["status"] for row in done.items] == ["done"]


def test_a_change_that_another_client_overwrites_is_7(topics: Noun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_changes, "VISIBLE_WITHIN", 0.1)
    topics.cluster.intercept(
        DescribeConfigsRequest,
        lambda _request: topics.cluster.configure("orders", retention_ms="9"),
        after=CHECKS,
    )
    done = topics("alter orders --set retention.ms=5 --yes -o json", 7)
    assert "retention.ms of topic orders was changed, but reads 9 (topic)" in done.err
    assert [row["status"] for row in done.items] == ["unknown"]


def test_a_change_that_cannot_be_read_back_is_6(topics: Noun) -> None:
    topics.cluster.fail(DescribeConfigsRequest, Code.TOPIC_AUTHORIZATION_FAILED, after=CHECKS)
    done = topics("alter orders --set retention.ms=5 --yes -o json", 6)
    assert "topic orders was changed, but not read back" in done.err
    type_remedy("`kcli configs describe topics orders` shows what is set", done.err, topics.cluster.bootstrap)
    assert [row["status"] for row in done.items] == ["unknown"]


def forbid(api: type[Request]) -> Callable[[FakeCluster], None]:
    def prepare(cluster: FakeCluster) -> None:
        cluster.fail(api, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)

    return prepare


BOTH = "orders --set retention.ms=5 --partitions 4"


@pytest.mark.parametrize(
    ("line", "prepare", "code", "ends"),
    [
        (BOTH, None, 0, ["", ""]),
        ("orders --set retention.ms=1000 --partitions 4", None, 0, ["unchanged", ""]),
        ("orders --set retention.ms=1000 --partitions 3", None, 0, ["unchanged", "unchanged"]),
        ("orders --set retention.ms=5 --partitions 2", None, 7, ["refused", "refused"]),
        ("orders --set retention.ms=1000 --partitions 2", None, 7, ["unchanged", "refused"]),
        ("orders --set retention.ms=x --partitions 4", None, 2, ["refused", "refused"]),
        ("ordrs --set retention.ms=5 --partitions 4", None, 1, ["refused", "refused"]),
        (BOTH, forbid(DescribeConfigsRequest), 4, ["refused", "refused"]),
        (BOTH, forbid(IncrementalAlterConfigsRequest), 4, ["refused", "refused"]),
        (BOTH, forbid(CreatePartitionsRequest), 4, ["refused", "refused"]),
    ],
)
def test_a_dry_run_ends_as_the_act(
    topics: Noun, line: str, prepare: Callable[[FakeCluster], None] | None, code: int, ends: list[str]
) -> None:
    if prepare is not None:
        prepare(topics.cluster)
    for how, otherwise in (("--dry-run", "planned"), ("--yes", "done")):
        done = topics(f"alter {line} {how} -o json", code)
        check_printed(done.out)
        assert [row["status"] for row in done.items] == [end or otherwise for end in ends], done


def test_what_another_client_has_changed_since_the_plan_is_refused_with_the_rest(topics: Noun) -> None:
    topics.cluster.intercept(
        DescribeConfigsRequest, lambda _request: topics.cluster.configure("orders", retention_ms="9"), after=1
    )
    before = len(changed(topics.cluster))
    done = topics(f"alter {BOTH} --yes -o json", 7)
    assert "retention.ms of topic orders has changed since the plan was shown" in done.err
    assert [row["status"] for row in done.items] == ["refused", "refused"]
    assert len(changed(topics.cluster)) == before


def test_partitions_whose_answer_is_lost_are_counted(topics: Noun) -> None:
    topics.cluster.swallow(CreatePartitionsRequest, nth=CHECKS + 1)
    done = topics("alter orders --partitions 4 --yes --timeout 1s -o json")
    assert [row["status"] for row in done.items] == ["done"]


def test_partitions_that_are_not_there_after_a_lost_answer_are_unknown(topics: Noun) -> None:
    topics.cluster.drop(CreatePartitionsRequest, after=CHECKS, times=FOREVER)
    done = topics(f"alter {BOTH} --yes --timeout 1s -o json", 6)
    assert [row["status"] for row in done.items] == ["done", "unknown"]
    assert "partitions may have been added" in done.err


# --- several topics, and units ----------------------------------------------------------------------------------


@pytest.fixture
def many() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"a": 2, "b": 3, INTERNAL: 1}) as made:
        yield made


def partitions(topics: Noun) -> dict[str, int]:
    return {item["name"]: len(item["partitions"]) for item in topics.items("describe a b")}


def test_several_topics_are_altered_by_one_plan(many: FakeCluster) -> None:
    topics = Noun("topics", many)
    line = "alter a b --set retention.ms=7d --set segment.bytes=1GiB --partitions 3"
    planned = topics(f"{line} --dry-run")
    assert (
        "Alter topic a: 3 changes.\n  retention.ms: 604800000 (7 d) (default) → 604800000 (7 d) (topic)"
        in planned.out
    )
    assert "Alter topic b: 2 changes." in planned.out
    assert planned.out.count("Added partitions cannot be removed") == 1
    done = topics(f"{line} --yes -o tsv")
    rows = [row.split("\t") for row in done.out.splitlines()[1:]]
    assert [(row[0], row[1], row[5], row[7]) for row in rows] == [
        ("a", "retention.ms", "604800000", "done"),
        ("a", "segment.bytes", "1073741824", "done"),
        ("a", "partitions", "3", "done"),
        ("b", "retention.ms", "604800000", "done"),
        ("b", "segment.bytes", "1073741824", "done"),
        ("b", "partitions", "3", "unchanged"),
    ]
    assert partitions(topics) == {"a": 3, "b": 3}


def test_a_topic_that_is_missing_does_not_stop_the_others(many: FakeCluster) -> None:
    done = Noun("topics", many)("alter a none b --set retention.ms=1h --partitions 4 --yes -o json", 6)
    check_printed(done.out)
    found = [(item["topic"], item["status"]) for item in json.loads(done.out)["items"]]
    assert found == [
        (name, "refused" if name == "none" else "done") for name in ("a", "a", "none", "none", "b", "b")
    ]
    assert "topic none does not exist" in done.err


@pytest.mark.parametrize("how", ["--dry-run", "--yes"])
def test_a_topic_that_is_refused_has_its_own_exit_code(many: FakeCluster, how: str) -> None:
    done = Noun("topics", many)(f"alter a b --partitions 2 --set retention.ms=1h {how} -o json", 7)
    ends = ["planned" if how == "--dry-run" else "done", "unchanged", "refused", "refused"]
    assert [item["status"] for item in json.loads(done.out)["items"]] == ends
    assert '"code": 7' in done.err


def test_no_topic_gets_partitions_after_its_configuration_failed(many: FakeCluster) -> None:
    topics = Noun("topics", many)
    many.fail(IncrementalAlterConfigsRequest, Code.POLICY_VIOLATION, after=CHECKS)
    done = topics("alter a b --set retention.ms=5 --partitions 4 --yes -o json", 7)
    assert [row["status"] for row in done.items] == ["failed"] * 4
    assert "no partitions were added to topic b" in done.err
    assert partitions(topics) == {"a": 2, "b": 3}


def test_several_topics_ask_for_the_internal_one_by_name(many: FakeCluster) -> None:
    done = Noun("topics", many)(f"alter a {INTERNAL} --set retention.ms=1h --yes", 2)
    assert INTERNAL in done.err


def test_ambiguous_units_are_refused_before_any_contact(many: FakeCluster) -> None:
    for command in ("alter a --set segment.bytes=1G", "create new --config segment.bytes=1G"):
        done = Noun("topics", many)(command, 2)
        assert "why: '1G' is ambiguous: write 1GB (powers of 1000) or 1GiB (powers of 1024)" in done.err
