"""Topics that are left out, and topics that the source does not have any more: with them the others go on."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import TopicPartition, TopicSpec
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fault.mirror_command import Running, arguments, mirrored, running, until, values
from tests.run import kcli_as_set_up as command

Follow = Callable[..., AbstractContextManager[Running]]
SOON = ("-X", "metadata.max.age.ms=200")
MISSING = "topics of the source are missing and not taken for deleted"


@pytest.fixture
def source() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1, "other": 1}) as made:
        made.append("t", 0, batch(b"1", b"2", timestamp=1_000))
        made.append("other", 0, batch(b"o", timestamp=1_000))
        yield made


@pytest.fixture
def target() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={}, cluster_id="there") as made:
        yield made


@pytest.fixture
def follow(
    monkeypatch: pytest.MonkeyPatch, source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> Follow:
    """Follows all topics; the block begins when what there is has been copied."""
    monkeypatch.setattr("kcli.flows.mirror.follow.deleted._LASTING", 0.5)

    @contextmanager
    def start(*more: str) -> Iterator[Running]:
        words = arguments(source, target, "-t", "*", *SOON, "-o", "json", *delivery, *more)
        with running(monkeypatch, *words) as made:
            until(lambda: copied(target, "t") == [b"1", b"2"] and copied(target, "other") == [b"o"])
            yield made

    return start


def copied(target: FakeCluster, name: str) -> list[bytes | None]:
    try:
        return values(target, name)
    except KeyError:
        return []


def topics(cluster: FakeCluster) -> set[str]:
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        return {topic.name for topic in admin.list_topics() if not topic.name.startswith("__")}


def looks(source: FakeCluster) -> int:
    """How often all topics were listed."""
    return sum(
        type(seen.request).__name__ == "MetadataRequest" and seen.request.topics is None
        for seen in source.requests
    )


def row_of(done: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = done.rows[TopicPartition(name, 0)]
    return found


def test_excluded_topics_are_not_copied_and_an_idle_exclude_is_a_note(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...]
) -> None:
    done = mirrored(source, target, "-t", "*", "-t", "no*", "--exclude", "ot*", "--exclude", "zzz", *delivery)
    assert done.code == 0, done.err
    assert topics(target) == {"t"}
    assert "warning: -t no* selects no topic" in done.err
    assert "--exclude zzz leaves out no topic" in done.err
    assert "--exclude ot*" not in done.err


def test_a_topic_that_is_created_later_is_left_out_too(
    source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    with follow("--exclude", "new-*") as mirror:
        with Admin(bootstrap_servers=source.bootstrap) as admin:
            admin.create_topics([TopicSpec("new-1", 1, 1), TopicSpec("later", 1, 1)])
        until(lambda: "later" in topics(target))
        seen = looks(source)
        until(lambda: looks(source) >= seen + 2)
        mirror.stop()
        assert mirror.done().code == 130
    assert topics(target) == {"t", "other", "later"}


def test_the_copy_of_a_deleted_topic_is_kept_and_the_others_go_on(
    source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    with follow() as mirror:
        source.delete_topic("other")
        seen = looks(source)
        until(lambda: looks(source) >= seen + 6)
        source.append("t", 0, batch(b"3", timestamp=1_000))
        until(lambda: values(target, "t") == [b"1", b"2", b"3"])
        mirror.stop()
        done = mirror.done()
    assert done.err.count("topic other of the source was deleted; its copy other of the target is kept") == 1
    assert values(target, "other") == [b"o"]
    assert MISSING not in done.err


def test_a_copy_is_deleted_where_that_was_asked_for(
    source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    with follow("--on-delete", "delete", "--yes") as mirror:
        source.delete_topic("other")
        until(lambda: topics(target) == {"t"})
        source.append("t", 0, batch(b"3", timestamp=1_000))
        until(lambda: values(target, "t") == [b"1", b"2", b"3"])
        mirror.stop()
        done = mirror.done()
    assert (
        "topic other of the source was deleted, and so was its copy other of the target; undo with: kcli undo "
        in done.err
    )
    assert "a topic that is deleted at the source is deleted on the target" in done.err


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(lambda source: [source.delete_topic(name) for name in ("t", "other")], id="all topics"),
        pytest.param(
            lambda source: setattr(source.settings, "hidden_topics", frozenset({"other"})),
            id="may not be described",
        ),
        pytest.param(
            lambda source: (setattr(source.settings, "cluster_id", "another"), source.delete_topic("other")),
            id="replaced",
        ),
    ],
)
def test_no_copy_is_deleted_for_what_may_be_something_else(
    source: FakeCluster, target: FakeCluster, follow: Follow, loss: Callable[[FakeCluster], object]
) -> None:
    with follow("--on-delete", "delete", "--yes") as mirror:
        loss(source)
        seen = looks(source)
        until(lambda: looks(source) >= seen + 8 or not mirror.is_running)
        mirror.stop()
        done = mirror.done()
    assert topics(target) == {"t", "other"}
    assert "was its copy" not in done.err


def test_a_copy_that_lacks_records_is_kept(source: FakeCluster, target: FakeCluster, follow: Follow) -> None:
    with follow("--on-delete", "delete", "--yes") as mirror:
        target.fail(ProduceRequest, Code.NOT_ENOUGH_REPLICAS, where="other", times=100_000)
        source.append("other", 0, batch(b"o2", timestamp=1_000))
        seen = looks(source)
        until(lambda: looks(source) >= seen + 2)
        source.delete_topic("other")
        seen = looks(source)
        until(lambda: looks(source) >= seen + 8)
        target.heal()
        mirror.stop()
        done = mirror.done()
    assert "other" in topics(target)
    assert "its copy other of the target is kept: " in done.err


def test_a_deletion_asks(source: FakeCluster, target: FakeCluster) -> None:
    done = command(*arguments(source, target, "-t", "*", "--on-delete", "delete", "--no-input"))
    assert done.code == 2
    assert "Delete topics of the target when they are deleted at the source?" in done.err
    assert topics(target) == set()


def test_a_topic_that_is_there_again_is_not_continued(
    source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    with follow() as mirror:
        source.delete_topic("other")
        seen = looks(source)
        until(lambda: looks(source) >= seen + 45)  # 5 s, after which the consumer is certain too
        source.create_topic("other", 1)
        source.append("other", 0, batch(b"again", timestamp=1_000))
        seen = looks(source)
        until(lambda: looks(source) >= seen + 4)
        mirror.stop()
        done = mirror.done()
    assert done.err.count("topic other of the source was deleted and created again") == 1
    assert values(target, "other") == [b"o"]
    assert row_of(done, "other")["error"].startswith("other-0 of the source was deleted")


def test_with_on_recreate_restart_it_is_copied_from_its_start(
    source: FakeCluster, target: FakeCluster, follow: Follow
) -> None:
    with follow("--on-recreate", "restart") as mirror:
        source.delete_topic("other")
        seen = looks(source)
        until(lambda: looks(source) >= seen + 45)
        source.create_topic("other", 1)
        source.append("other", 0, batch(b"again", timestamp=1_000))
        until(lambda: values(target, "other") == [b"o", b"again"])
        mirror.stop()
        done = mirror.done()
    assert row_of(done, "other")["error"] is None
    assert sum(row["topic"] == "other" for row in done.rows.values()) == 1


@pytest.mark.parametrize(
    ("chosen", "code"), [(("-t", "*"), 0), (("-t", "t", "-t", "other"), 6)], ids=["a pattern", "a name"]
)
def test_a_resumed_job_goes_on_without_a_topic_that_is_gone(
    source: FakeCluster, target: FakeCluster, delivery: tuple[str, ...], chosen: tuple[str, ...], code: int
) -> None:
    assert mirrored(source, target, *chosen, *delivery).code == 0
    source.delete_topic("other")
    source.append("t", 0, batch(b"3", timestamp=1_000))
    again = mirrored(source, target, *chosen, *delivery)
    assert again.code == code, again.err
    assert "topic other of the source was deleted; its copy other of the target is kept" in again.err
    assert values(target, "t") == [b"1", b"2", b"3"]
    assert values(target, "other") == [b"o"]


def test_a_resumed_job_of_which_nothing_is_left_says_so(source: FakeCluster, target: FakeCluster) -> None:
    assert mirrored(source, target, "-t", "other").code == 0
    source.delete_topic("other")
    again = mirrored(source, target, "-t", "other")
    assert again.code == 1
    assert "topic other of the source was deleted" in again.err
