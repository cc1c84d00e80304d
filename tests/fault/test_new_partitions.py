"""New topics and partitions count as created when all brokers show them with leaders."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcli.core import Admin
from kcli.core.admin import new_partitions
from kcli.core.admin.new_partitions import NotKnownError
from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.types import TopicSpec
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.lasting import Moment, lasted
from tests.run import Done, kcli

CREATE, GROW = "topics create new --partitions 3", "topics alter old --partitions 3 --yes"
NAMES = {CREATE: "new", GROW: "old"}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"old": 1}) as made:
        yield made


def run(cluster: FakeCluster, line: str, *more: str) -> Done:
    return kcli(*line.split(), *more, bootstrap=cluster.bootstrap)


def hide(name: str) -> Callable[[MetadataResponse], object]:
    """The broker does not know the topic yet, or only its first partition."""

    def edit(answer: MetadataResponse) -> None:
        for row in answer.topics:
            if row.name == name and name == "new":
                row.error_code, row.partitions = Code.UNKNOWN_TOPIC_OR_PARTITION, []
            elif row.name == name:
                row.partitions = row.partitions[:1]

    return edit


def lead(name: str) -> Callable[[MetadataResponse], object]:
    """The broker knows no leader of the last partition yet."""

    def edit(answer: MetadataResponse) -> None:
        for row in answer.topics:
            if row.name == name:
                row.partitions[-1].leader_id = -1
                row.partitions[-1].error_code = Code.LEADER_NOT_AVAILABLE

    return edit


LATE = [(line, edit) for line in (CREATE, GROW) for edit in (hide, lead)]


@pytest.mark.parametrize(("line", "edit"), LATE)
@pytest.mark.parametrize("node", [1, 2, 3])
def test_a_broker_that_is_late_is_waited_for(
    cluster: FakeCluster, line: str, edit: Callable, node: int
) -> None:
    before = len(cluster.requests)
    made = CreateTopicsRequest if line is CREATE else CreatePartitionsRequest
    late = cluster.lie(edit(NAMES[line]), node=node, times=2, when=by_name)
    assert run(cluster, line).code == 0
    assert late.count == 2
    after = [one for one in cluster.requests[before:] if one.kind is MetadataRequest and by_name(one.request)]
    assert {one.node for one in after if one.number > cluster.seen(made)[-1].number} == {1, 2, 3}


def by_name(request: MetadataRequest) -> bool:
    """Whether it is about the topics that were made, by name and without permissions."""
    return bool(request.topics) and not request.include_topic_authorized_operations


@pytest.mark.parametrize(("line", "edit"), LATE)
def test_what_is_missing_in_the_end_is_6(cluster: FakeCluster, line: str, edit: Callable) -> None:
    name = NAMES[line]
    cluster.lie(edit(name), node=2)
    began = Moment.now()
    done = run(cluster, line, "--timeout", "0.5s")
    assert (done.code, time.monotonic() - began > 0.4, lasted(began) < 5) == (6, True, True), done.err
    lacks = "does not know it" if (line, edit) == (CREATE, hide) else f"has no leader of {name}-"
    assert f"broker 2 {lacks}" in done.err
    assert "broker 1" not in done.err
    assert f"topic {name}, but not all brokers showed it" in done.err
    cluster.heal()
    type_remedy(
        f"`kcli topics describe {name}` shows the leaders of its partitions: wait for them",
        done.err,
        cluster.bootstrap,
    )


@pytest.mark.parametrize("line", [CREATE, GROW])
def test_a_broker_that_cannot_be_connected_to_does_not_count(cluster: FakeCluster, line: str) -> None:
    """It has not left metadata yet."""
    cluster.move_leader("old", 0, 1)
    cluster.stop(3)
    began = Moment.now()
    with Admin(bootstrap_servers=cluster.address(1)) as admin:
        if line is CREATE:
            assert admin.create_topics([TopicSpec("new", 2, 1)]) == {"new": None}
        else:
            assert admin.create_partitions({"old": 2}) == {"old": None}
    assert lasted(began) < 5


def test_a_broker_that_does_not_respond_is_missing_until_it_leaves(cluster: FakeCluster) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap, timeout=0.5) as admin:
        admin.describe_cluster()
        cluster.drop(MetadataRequest, node=3, times=100, when=lambda request: request.topics)
        error = admin.create_topics([TopicSpec("new", 2, 1)])["new"]
    assert isinstance(error, NotKnownError)
    assert "broker 3 did not respond" in error.why


def test_a_topic_that_the_client_may_not_describe_is_not_waited_for(cluster: FakeCluster) -> None:
    cluster.settings.hidden_topics = frozenset({"new"})
    began = Moment.now()
    done = run(cluster, CREATE, "--timeout", "20s")
    assert (done.code, lasted(began) < 5) == (6, True)
    assert "created topic new, but not all brokers showed it" in done.err
    assert "--operation describe --topic new" in done.err


def test_a_topic_without_a_given_number_of_partitions_has_one_at_least(cluster: FakeCluster) -> None:
    late = cluster.lie(hide("new"), times=2, when=by_name)
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        assert admin.create_topics([TopicSpec("new")]) == {"new": None}
    assert late.count == 2


def test_a_check_waits_for_nothing(cluster: FakeCluster) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        assert admin.create_topics([TopicSpec("new")], validate_only=True) == {"new": None}
        assert admin.create_partitions({"old": 5}, validate_only=True) == {"old": None}
    assert not [one for one in cluster.seen(MetadataRequest) if one.request.topics]


def test_the_next_command_finds_the_topic_at_any_broker(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "line").write_text("one\n")
    cluster.lie(hide("new"), node=2, times=3, when=by_name)
    assert run(cluster, CREATE).code == 0
    done = kcli("produce", "new", str(tmp_path / "line"), bootstrap=cluster.address(2))
    assert done.code == 0, done.err


def showing_one_more(hidden: list[str]) -> Callable[[MetadataResponse], object]:
    """The broker learns of these topics one after the other."""

    def edit(answer: MetadataResponse) -> None:
        for row in answer.topics:
            if row.name in hidden:
                row.error_code, row.partitions = Code.UNKNOWN_TOPIC_OR_PARTITION, []
        del hidden[:1]

    return edit


def test_brokers_that_learn_of_one_topic_after_the_other_are_waited_for(cluster: FakeCluster) -> None:
    """Longer than a call may take, as long as they show more and more of them."""
    hidden = [f"new-{number}" for number in range(6)]
    specs = [TopicSpec(name, 1, 1) for name in hidden]
    cluster.lie(showing_one_more(hidden), node=2, when=by_name)
    began = Moment.now()
    with Admin(bootstrap_servers=cluster.bootstrap, timeout=0.3) as admin:
        assert admin.create_topics(specs) == dict.fromkeys(spec.name for spec in specs)
    assert not hidden
    assert time.monotonic() - began > 0.3, "it would have been over"


def test_that_wait_ends(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no more of them are shown, and in the end even so."""
    monkeypatch.setattr(new_partitions, "PATIENCE", 0.2)
    monkeypatch.setattr(new_partitions, "LONGEST", 0.5)
    hidden = [f"new-{number}" for number in range(40)]
    specs = [TopicSpec(name, 1, 1) for name in hidden]
    cluster.lie(showing_one_more(hidden), node=2, when=by_name)
    began = Moment.now()
    with Admin(bootstrap_servers=cluster.bootstrap, timeout=0.3) as admin:
        found = admin.create_topics(specs)
    assert isinstance(found["new-39"], NotKnownError)
    assert lasted(began) < 5
