"""What is about one group reads the topics of that group alone, by count, also where one of them is gone."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.run import Done, environment, kcli

OTHERS = {f"other-{number}": 20 for number in range(50)}
LINES = (
    "groups lag g -o json",
    "groups describe g -o json",
    "groups lag g --by member -o json",
    "groups rewind g --to earliest --all-topics --dry-run -o json",
)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics={"a": 2, "b": 1, "gone": 1, **OTHERS}) as found:
        for topic in ("a", "b"):
            put(found, topic, 0)
        places = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)]
        commit(found, "g", dict.fromkeys(places, OffsetAndMetadata(10)))
        commit(
            found,
            "h",
            {TopicPartition("gone", 0): OffsetAndMetadata(5), **dict.fromkeys(places, OffsetAndMetadata(1))},
        )
        yield found


def run(cluster: FakeCluster, line: str, folder: Path, code: int = 0) -> tuple[Done, list[list[str]]]:
    """What it printed, and the topics of each of its requests for metadata; all of them is ``*``."""
    before = len(cluster.seen(MetadataRequest))
    done = kcli(*shlex.split(line), **environment(cluster.bootstrap, XDG_STATE_HOME=str(folder)))
    assert done.code == code, done
    asked = [one.request.topics for one in cluster.seen(MetadataRequest)[before:]]
    return done, [["*"] if topics is None else [topic.name for topic in topics] for topics in asked]


@pytest.mark.parametrize("line", LINES)
def test_only_the_topics_of_the_group_are_read(cluster: FakeCluster, line: str, tmp_path: Path) -> None:
    _, asked = run(cluster, line, tmp_path)
    first, *rest = asked
    assert first == []
    assert rest
    assert all(topics == ["a", "b"] for topics in rest)


@pytest.mark.parametrize("line", LINES[:2])
def test_a_topic_that_is_gone_keeps_its_row(cluster: FakeCluster, line: str, tmp_path: Path) -> None:
    """Its end and its lag are unknown, nothing of it is missing, and no other topic is looked at for its sake."""
    cluster.delete_topic("gone", keeps_commits=True)
    done, asked = run(cluster, line.replace(" g ", " h "), tmp_path)
    assert asked == [[], ["a", "b", "gone"]]
    assert '"complete":true,"missing":[]' in done.out
    assert '"topic":"gone","partition":0' in done.out
    assert '"note":"topic does not exist"' in done.out
