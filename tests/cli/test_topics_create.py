"""``topics create``: what becomes of each topic; a dry run ends with the code of the act."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.admin.topics import TopicInfo
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.printed_json import check_printed
from tests.run import Noun


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"orders": 3}) as made:
        yield made


@pytest.fixture
def topics(cluster: FakeCluster) -> Noun:
    return Noun("topics", cluster)


def statuses(out: str) -> dict[str, str]:
    check_printed(out)
    return {item["name"]: item["status"] for item in json.loads(out)["items"]}


def hidden(cluster: FakeCluster) -> None:
    cluster.fail(CreateTopicsRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)


def forbidden_by_policy(cluster: FakeCluster) -> None:
    cluster.fail(CreateTopicsRequest, Code.POLICY_VIOLATION, times=FOREVER)


@pytest.mark.parametrize(
    ("line", "prepare", "code", "ends"),
    [
        ("orders", None, 7, {"orders": "refused"}),
        ("orders new", None, 7, {"orders": "refused", "new": ""}),
        ("orders new --if-not-exists", None, 0, {"orders": "unchanged", "new": ""}),
        ("orders --if-not-exists --partitions 5", None, 7, {"orders": "refused"}),
        ("new", hidden, 4, {"new": "refused"}),
        ("new", forbidden_by_policy, 7, {"new": "refused"}),
        ("new --replication-factor 9", None, 1, {"new": "refused"}),
    ],
)
def test_a_dry_run_ends_as_the_act(
    topics: Noun, line: str, prepare: Any, code: int, ends: dict[str, str]
) -> None:
    if prepare is not None:
        prepare(topics.cluster)
    planned = topics(f"create {line} --dry-run -o json", code)
    assert statuses(planned.out) == {name: end or "planned" for name, end in ends.items()}
    done = topics(f"create {line} -o json", code)
    assert statuses(done.out) == {name: end or "done" for name, end in ends.items()}
    assert planned.err.replace("created", "") == done.err.replace("created topic new\n", "")


@pytest.mark.parametrize("form", ["json", "ndjson", "yaml", "csv", "tsv", "name"])
def test_each_format_has_every_topic(topics: Noun, form: str) -> None:
    for more in ("--dry-run", ""):
        done = topics(f"create orders new --if-not-exists -o {form} {more}")
        assert all(name in done.out for name in ("orders", "new")), done
        check_printed(done.out)


def test_people_see_the_plan_of_a_dry_run_and_notes_of_the_act(topics: Noun) -> None:
    plan = topics("create new --partitions 2 --config retention.ms=5 --dry-run")
    assert plan.out.endswith("Create topics:\n  new: 2 partitions of 2 replicas, retention.ms=5\n")
    assert plan.err == ""
    done = topics("create new")
    assert (done.out, done.err) == ("", "created topic new\n")


def test_the_difference_is_the_note_of_a_topic_that_exists(topics: Noun) -> None:
    (item,) = topics("create orders --if-not-exists --partitions 5 -o json", 7).items
    assert (item["note"], item["created"]) == ("partitions 3, not 5", False)


@pytest.mark.parametrize(("more", "code", "status"), [("--if-not-exists", 0, "done"), ("", 7, "failed")])
def test_a_topic_that_another_client_creates_meanwhile(
    topics: Noun, more: str, code: int, status: str
) -> None:
    """It is as it is requested, but not created by this command."""
    topics.cluster.intercept(
        CreateTopicsRequest, lambda _request: topics.cluster.create_topic("new", 1), after=1
    )
    done = topics(f"create new {more} -o json", code)
    (item,) = done.items
    assert (item["status"], item["created"]) == (status, False)
    assert ("already exists" in done.err) == (code == 0 or "TOPIC_ALREADY_EXISTS" in done.err)


def test_an_answer_that_is_lost_is_settled_by_what_is_there(topics: Noun) -> None:
    topics.cluster.swallow(CreateTopicsRequest, "silence", nth=2)
    done = topics("create new --timeout 1s -o json")
    assert [(item["status"], item["created"]) for item in done.items] == [("done", None)], done.err


def test_an_answer_that_is_lost_of_what_is_not_there_is_unknown(topics: Noun) -> None:
    topics.cluster.drop(CreateTopicsRequest, after=1, times=FOREVER)
    done = topics("create new --timeout 1s -o json", 3)
    assert [(item["status"], item["created"]) for item in done.items] == [("unknown", None)]
    assert "the controller may have done it nevertheless" in done.err


def test_what_brokers_do_not_show_with_leaders_is_unknown(topics: Noun) -> None:
    def without_leader(answer: Any) -> None:
        for row in answer.topics:
            if row.name == "new":
                row.partitions[-1].leader_id = -1

    topics.cluster.lie(without_leader, node=2, when=lambda request: bool(request.topics))
    done = topics("create new --timeout 500ms -o json", 6)
    assert [(item["status"], item["created"]) for item in done.items] == [("unknown", True)]
    assert topics.cluster.seen(MetadataRequest)


# --- like another topic -------------------------------------------------------------------------------------------


def test_a_topic_is_created_like_another(topics: Noun, cluster: FakeCluster) -> None:
    set_ = (
        "--set retention.ms=1h --set leader.replication.throttled.replicas=0:1 --set cleanup.policy=compact"
    )
    topics(f"alter orders {set_} --yes")
    planned = topics("create copy --like orders --dry-run")
    settings = "3 partitions of 2 replicas, cleanup.policy=compact, retention.ms=3600000 (1 h)"
    assert f"Create topics like orders:\n  copy: {settings}\n" in planned.out
    done = topics("create copy --like orders")
    assert done.err == f"created topic copy like orders: {settings}\n"
    topics("create copy --like orders --if-not-exists")


def test_what_is_given_goes_before_what_the_other_topic_has(topics: Noun) -> None:
    topics("alter orders --set retention.ms=1h --yes")
    line = "create copy --like orders --partitions 5 --replication-factor 1 --config retention.ms=never"
    done = topics(f"{line} --config segment.bytes=1MiB -o json")
    check_printed(done.out)
    (item,) = json.loads(done.out)["items"]
    assert (item["partitions"], item["replication_factor"]) == (5, 1)
    shown = topics("describe copy -o json")
    (topic,) = json.loads(shown.out)["items"]
    assert topic["configs"] == {"retention.ms": "-1", "segment.bytes": "1048576"}


def test_a_topic_that_does_not_exist_is_no_model(topics: Noun) -> None:
    done = topics("create copy --like order", 1)
    assert "topic order does not exist" in done.err
    assert "orders" in done.err
    topics("describe copy", 1)


def test_replicas_are_placed_as_they_are_assigned(topics: Noun, cluster: FakeCluster) -> None:
    line = "create placed --assignment 2:1,1:2"
    (item,) = topics.items(f"{line} --if-not-exists")
    assert (item["partitions"], item["replication_factor"], item["created"]) == (2, 2, True)
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        found = admin.describe_topics(["placed"])["placed"]
    assert isinstance(found, TopicInfo)
    assert [one.replicas for one in found.partitions] == [(2, 1), (1, 2)]
    assert topics.items(f"{line} --if-not-exists")[0]["status"] == "unchanged"
    done = topics("create placed --assignment 1:2,1:2 --if-not-exists", 7)
    assert "replicas 2:1,1:2, not 1:2,1:2" in done.err


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("1:1", "partition 0 has two replicas on one broker: 1:1"),
        ("1:2,2", "partition 1 has not as many replicas as partition 0: 1:2,2"),
        ("1,,2", "'' is not the id of a broker; write 1:2,2:3"),
        ("1:2,2:3 --partitions 2", "--partitions with --assignment"),
        ("1:2,2:3 --replication-factor 2", "--replication-factor with --assignment"),
    ],
)
def test_assignments_that_are_none(topics: Noun, assignment: str, words: str) -> None:
    done = topics(f"create placed --assignment {assignment}", 2)
    assert words in done.err
