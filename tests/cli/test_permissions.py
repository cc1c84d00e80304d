"""Topics that a user may not see or read: named with the permission that is missing, and the others are served (S7)."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.delete_groups import DeleteGroupsRequest
from kcli.core.protocol.messages.describe_groups import DescribeGroupsRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.offset_commit import OffsetCommitRequest
from kcli.core.protocol.messages.offset_delete import OffsetDeleteRequest
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.sasl import Sasl
from tests.fake.script import FOREVER
from tests.run import Done, kcli

pytestmark = pytest.mark.case("S7")

LACK = "TOPIC_AUTHORIZATION_FAILED (29): no DESCRIBE permission on topic hidden, if it exists: brokers do not say"
GRANT = "kcli acls create --principal User:NAME --operation describe --topic hidden"


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeCluster]:
    """``hidden`` may not be described; ``open`` and ``closed`` have a record in each partition."""
    topics = {"open": 2, "closed": 2, "hidden": 1}
    with FakeCluster(1, topics=topics, hidden_topics=frozenset({"hidden", "opem"})) as cluster:
        for topic in ("open", "closed"):
            for number in range(2):
                cluster.append(topic, number, batch(b"%s-%d" % (topic.encode(), number)))
        yield cluster


@pytest.fixture
def cluster(shared: FakeCluster) -> Iterator[FakeCluster]:
    yield shared
    shared.heal()


def run(cluster: FakeCluster, line: str, code: int = 4) -> Done:
    """FILE is an empty file, NEW a group that is in no other test."""
    words = line.replace("NEW", uuid.uuid4().hex).replace("FILE", os.devnull).split()
    done = kcli(*words, bootstrap=cluster.bootstrap)
    assert done.code == code, done
    return done


@pytest.mark.parametrize(
    "line",
    [
        "consume hidden -e",
        "consume hidden -e -g g",
        "produce hidden FILE",
        "topics describe hidden",
        "topics offsets hidden",
        "topics delete hidden --yes",
        "topics alter hidden --set retention.ms=1 --yes",
        "topics alter hidden --partitions 9 --yes",
        "topics trim hidden --before 1 --yes",
        "txn list --topic hidden",
        "elect-leaders --topic hidden --yes",
        "reassign plan --topic hidden --brokers 1",
        "groups create g --topic hidden --from earliest --yes",
        "doctor --topic hidden",
    ],
)
def test_a_topic_that_may_not_be_described_is_not_said_to_be_missing(cluster: FakeCluster, line: str) -> None:
    done = run(cluster, line)
    said = done.out + done.err
    assert LACK in said
    assert GRANT in said
    assert "does not exist" not in said


@pytest.mark.parametrize("line", ["consume hidden", "produce hidden FILE"])
def test_a_missing_permission_is_not_waited_for(cluster: FakeCluster, line: str) -> None:
    before = len(cluster.seen(MetadataRequest))
    run(cluster, line)
    # The contact, with the topic, and the names of the others.
    assert len(cluster.seen(MetadataRequest)) - before == 2


@pytest.mark.parametrize("line", ["topics describe opem", "consume opem", "produce opem FILE"])
def test_a_name_that_is_refused_may_be_a_mistake(cluster: FakeCluster, line: str) -> None:
    """With ACLs brokers refuse every name for which there is none, existing or not."""
    assert "do: did you mean open? If not, have it granted: `kcli acls create" in run(cluster, line).err


def test_a_topic_that_does_not_exist_is_still_missing(cluster: FakeCluster) -> None:
    assert "topic opens does not exist" in run(cluster, "topics describe opens", 1).err


@pytest.mark.parametrize("line", ["topics describe hidden open", "topics offsets hidden open", "topics list"])
def test_the_other_topics_are_shown(cluster: FakeCluster, line: str) -> None:
    done = run(cluster, line, 0 if "list" in line else 6)
    assert "open" in done.out
    assert "hidden" not in done.out


@pytest.mark.parametrize("more", ["-e", "-n 2", "-e -g NEW", "-e --merge", "--tail 2"])
def test_consume_reads_the_topics_that_it_may_see(cluster: FakeCluster, more: str) -> None:
    done = run(cluster, f"consume hidden open {more}", 6)
    assert sorted(done.out.split()) == ["open-0", "open-1"]
    assert done.err.count("kcli: ") == 1
    assert LACK in done.err


@pytest.mark.parametrize("topics", ["closed open", "open closed", "^(open|closed)$"])
@pytest.mark.parametrize("more", ["-e", "--idle-timeout 0.3s", "-e -g NEW"])
def test_consume_reads_the_topics_that_it_may_read_to_their_end(
    cluster: FakeCluster, topics: str, more: str
) -> None:
    """Both topics are on one broker: its responses about the one that is refused come first."""
    cluster.fail(FetchRequest, Code.TOPIC_AUTHORIZATION_FAILED, where="closed", times=FOREVER)
    done = run(cluster, f"consume {topics} {more} --max-messages 9", 6)
    assert sorted(done.out.split()) == ["open-0", "open-1"]
    assert done.err.count("kcli: fetch of closed-") == 1  # for both partitions
    assert "no READ permission on topic closed" in done.err
    assert "--operation read --topic closed" in done.err


def test_a_reading_of_nothing_but_refused_topics_ends(cluster: FakeCluster) -> None:
    cluster.fail(FetchRequest, Code.TOPIC_AUTHORIZATION_FAILED, times=FOREVER)
    done = run(cluster, "consume open closed")
    assert done.out == ""
    assert [name for name in ("open", "closed") if f"no READ permission on topic {name}" in done.err] == [
        "open",
        "closed",
    ]


def test_a_missing_permission_determines_the_exit_status_among_several(cluster: FakeCluster) -> None:
    done = run(cluster, "consume hidden open nowhere -e")
    assert done.out == ""
    assert "topic nowhere does not exist" in done.err
    assert LACK in done.err


def test_a_dry_run_shows_the_others(cluster: FakeCluster) -> None:
    done = run(cluster, "consume hidden open -e --dry-run", 6)
    assert done.out == "open-0: from 0 to 1\nopen-1: from 0 to 1\n"
    assert LACK in done.err


AS_ALICE = [
    word
    for pair in (
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=SCRAM-SHA-256",
        "sasl.username=alice smith",
        "sasl.password=secret",
        "allow.plaintext.secrets=true",
    )
    for word in ("-X", pair)
]


@pytest.mark.parametrize(
    "line",
    [
        "topics describe hidden",
        "produce hidden FILE",
        "doctor --topic hidden",
        "topics describe hidden -o json",
    ],
)
def test_the_command_that_grants_a_permission_names_the_user_where_it_is_known(line: str) -> None:
    sasl = Sasl(users={"alice smith": "secret"})
    with FakeCluster(1, topics={"hidden": 1}, hidden_topics=frozenset({"hidden"}), sasl=sasl) as cluster:
        done = kcli(*line.replace("FILE", os.devnull).split(), *AS_ALICE, bootstrap=cluster.bootstrap)
    assert done.code == 4, done
    assert GRANT.replace("User:NAME", "'User:alice smith'") in done.out + done.err


@pytest.mark.parametrize("code", [Code.TOPIC_AUTHORIZATION_FAILED, Code.CLUSTER_AUTHORIZATION_FAILED])
def test_a_refusal_that_no_request_of_kafka_has_proposes_no_operation(
    cluster: FakeCluster, code: int
) -> None:
    """Groups are refused with another code: which permission a foreign broker wants is not known."""
    cluster.fail(DescribeGroupsRequest, code, times=FOREVER)
    err = run(cluster, "groups describe g").err
    assert "--operation OPERATION" in err
    assert "--operation read" not in err


SETS = (
    "groups import FILE",
    "groups import FILE --group new",
    "groups copy g new",
    "groups create new -t open --from earliest",
    "groups rewind g --to earliest",
)
DENIED = [
    *((line, api) for line in SETS for api in (OffsetCommitRequest, OffsetFetchRequest, ListOffsetsRequest)),
    *((line, DescribeGroupsRequest) for line in ("groups import FILE", "groups rewind g --to earliest")),
    ("groups delete g", DeleteGroupsRequest),
    ("groups delete-offsets g -t open", OffsetDeleteRequest),
]


@pytest.mark.parametrize(("line", "api"), DENIED, ids=lambda one: getattr(one, "api_name", one))
def test_offsets_that_may_not_be_read_or_set_are_4(
    cluster: FakeCluster, tmp_path: Path, line: str, api: type[Request]
) -> None:
    """The codes are those of partitions, or of groups."""
    commit(cluster, "g", {TopicPartition("open", number): OffsetAndMetadata(1) for number in (0, 1)})
    (tmp_path / "offsets.csv").write_text("g,open,0,0\ng,open,1,0\n")
    code = Code.TOPIC_AUTHORIZATION_FAILED if api is ListOffsetsRequest else Code.GROUP_AUTHORIZATION_FAILED
    denied = cluster.fail(api, code, times=FOREVER)
    words = line.replace("FILE", str(tmp_path / "offsets.csv")).split()
    done = kcli(*words, "--yes", bootstrap=cluster.bootstrap, XDG_STATE_HOME=str(tmp_path / "state"))
    assert (done.code, "AUTHORIZATION_FAILED" in done.err, denied.count > 0) == (4, True, True), done.err
