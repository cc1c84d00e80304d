"""``kcli brokers`` as a user runs it: who is there, what is refused for brokers that are needed, versions that differ."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import Done, kcli


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Brokers 1 to 3, of which 3 has no replicas, and 9, which is gone for good."""
    with FakeCluster(3, broker_configs={"process.roles": "controller,broker"}) as found:
        found.create_topic("t", replicas={0: [1, 2], 1: [2, 1]})
        found.stopped_brokers.add(9)
        yield found


class Brokers:
    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster

    def __call__(self, line: str, code: int = 0) -> Done:
        done = kcli("brokers", *line.split(), bootstrap=self.cluster.bootstrap)
        assert done.code == code, done.err
        return done

    def document(self, line: str, code: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self(f"{line} -o json", code).out)
        return found

    def statuses(self, line: str, code: int = 0) -> dict[int, str]:
        return {row["broker"]: row["status"] for row in self.document(line, code)["items"]}

    def unregistered(self) -> list[int]:
        return [one.request.broker_id for one in self.cluster.seen(UnregisterBrokerRequest)]


@pytest.fixture
def brokers(cluster: FakeCluster) -> Brokers:
    return Brokers(cluster)


def test_the_list_has_brokers_that_are_fenced(brokers: Brokers) -> None:
    rows = {row["broker"]: row for row in brokers.document("list")["items"]}
    assert {number: (row["state"], row["leaders"], row["replicas"]) for number, row in rows.items()} == {
        1: ("online", 1, 2), 2: ("online", 1, 2), 3: ("online", 0, 0), 9: ("fenced", 0, 0),
    }  # fmt: skip
    assert (rows[1]["roles"], rows[9]["roles"]) == (["broker", "controller"], ["broker"])
    assert (rows[1]["version"], rows[9]["version"]) == ("4.3", None)


def test_one_that_only_replica_lists_name_is_missing(brokers: Brokers) -> None:
    """As brokers before 4.0 show one that is fenced."""
    brokers.cluster.cap_versions({DescribeClusterRequest: 1})
    brokers.cluster.stop(2, fail_over=True)
    rows = {row["broker"]: row["state"] for row in brokers.document("list")["items"]}
    assert rows == {1: "online", 2: "missing", 3: "online"}


def test_a_broker_is_described_with_its_directories_and_features(brokers: Brokers) -> None:
    (row,) = brokers.document("describe 1")["items"]
    assert row["roles"] == ["broker", "controller"]
    assert [(one["path"], one["replicas"]) for one in row["log_dirs"]] == [("/fake/1", 2)]
    assert {one["feature"]: one["finalized"] for one in row["features"]}["metadata.version"] == 30
    text = brokers("describe 1 3").out
    assert "/fake/1" in text
    assert "/fake/2" not in text


def test_what_a_broker_does_not_say_is_missing(brokers: Brokers) -> None:
    brokers.cluster.fail(DescribeConfigsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    document = brokers.document("describe 1", 6)
    assert [part["what"] for part in document["missing"]] == ["the listeners of broker 1"]
    assert (document["items"][0]["listeners"], document["items"][0]["log_dirs"] is None) == (None, False)


def test_a_fenced_broker_lacks_what_only_it_could_say(brokers: Brokers) -> None:
    document = brokers.document("describe 9", 6)
    assert document["items"][0]["log_dirs"] is None
    assert [part["what"] for part in document["missing"]] == ["the log directories of broker 9"]


def test_a_broker_that_nobody_knows(brokers: Brokers) -> None:
    assert "there is no broker 7" in brokers("describe 7", 1).err
    document = brokers.document("describe 1 7", 6)
    assert [row["broker"] for row in document["items"]] == [1]


def test_a_broker_that_is_gone_is_unregistered_and_read_back(brokers: Brokers) -> None:
    done = brokers("unregister 9 --yes")
    assert "unregistered broker 9, read back" in done.err
    assert (brokers.cluster.stopped_brokers, brokers.unregistered()) == (set(), [9])
    assert "there is no broker 9" in brokers("unregister 9 --yes", 1).err


@pytest.mark.parametrize("more", ["--dry-run", "--yes"])
def test_brokers_that_are_needed_are_refused(brokers: Brokers, more: str) -> None:
    brokers.cluster.stop(2, fail_over=True)
    done = brokers(f"unregister 3 2 {more}", 7)
    assert "broker 3 is online" in done.err
    assert "broker 2 has 2 replicas" in done.err
    assert brokers.unregistered() == []


def test_the_others_are_done(brokers: Brokers) -> None:
    assert brokers.statuses("unregister 9 1 --yes", 7) == {9: "done", 1: "refused"}
    assert brokers.unregistered() == [9]


def test_a_lost_answer_is_settled_by_what_is_read_back(brokers: Brokers) -> None:
    brokers.cluster.swallow(UnregisterBrokerRequest, then="reset", times=1)
    assert brokers.statuses("unregister 9 --yes") == {9: "done"}
    assert brokers.unregistered() == [9, 9]


def test_one_that_is_there_again_is_failed(brokers: Brokers) -> None:
    def register(_request: object) -> None:
        brokers.cluster.stopped_brokers.add(9)

    brokers.cluster.intercept(DescribeClusterRequest, register)
    done = brokers("unregister 9 --yes --timeout 1s", 7)
    assert "broker 9 was unregistered, and is there: fenced" in done.err


def test_older_brokers_do_not_list_it_so_the_controller_is_believed(brokers: Brokers) -> None:
    brokers.cluster.cap_versions({DescribeClusterRequest: 1})
    (row,) = brokers.document("unregister 9 --yes")["items"]
    assert (row["status"], row["note"]) == (
        "done", "brokers before Kafka 4.0 do not list it: confirmed by the controller only",
    )  # fmt: skip
    done = brokers("unregister 8 --yes", 1)
    assert "BROKER_ID_NOT_REGISTERED" in done.err


def test_hidden_topics_are_said_to_be_unseen(brokers: Brokers) -> None:
    brokers.cluster.settings.cluster_operations = 1 << 7  # ALTER, and not DESCRIBE
    done = brokers("unregister 9 --dry-run")
    assert "it cannot be seen whether topics that are hidden have replicas on it" in done.err


def test_brokers_of_one_version_share_their_lines(brokers: Brokers) -> None:
    rows = {row["key"]: row for row in brokers.document("api-versions")["items"]}
    assert (rows[1]["api"], rows[1]["max_version"], rows[1]["brokers"]) == ("Fetch", 18, [1, 2, 3])
    done = brokers("api-versions --differences")
    assert "all brokers offer the same" in done.err


def test_differences_are_those_of_brokers_that_were_not_upgraded(brokers: Brokers) -> None:
    brokers.cluster.cap_versions({FetchRequest: 12}, node=2)
    brokers.cluster.hide(UnregisterBrokerRequest, node=3)
    rows = brokers.document("api-versions --differences")["items"]
    assert [(row["api"], row["max_version"], row["brokers"]) for row in rows] == [
        ("Fetch", 18, [1, 3]), ("Fetch", 12, [2]), ("UnregisterBroker", 0, [1, 2]), ("UnregisterBroker", None, [3]),
    ]  # fmt: skip


def test_the_form_of_the_script_has_a_block_for_each_broker(brokers: Brokers) -> None:
    brokers.cluster.cap_versions({FetchRequest: 12}, node=2)
    text = brokers("api-versions 2 -o kafka").out
    assert text.startswith(
        f"{brokers.cluster.address(2)} (id: 2 rack: null isFenced: false) -> (\n\tProduce(0): 0 to 13"
    )
    assert "\tFetch(1): 4 to 12 [usable: 12],\n" in text
    assert text.endswith("\n)\n")
    assert brokers("api-versions -o kafka").out.count("-> (") == 3
    assert "--differences together with -o kafka" in brokers("api-versions --differences -o kafka", 2).err


def test_a_broker_that_does_not_answer_is_missing(brokers: Brokers) -> None:
    brokers.cluster.fail(
        ApiVersionsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, node=2, times=FOREVER, after=1
    )
    document = brokers.document("api-versions", 6)
    assert [part["where"] for part in document["missing"]] == ["broker 2"]
    assert {tuple(row["brokers"]) for row in document["items"]} == {(1, 3)}


def test_its_remedies_are_commands(brokers: Brokers) -> None:
    broker = brokers.cluster.bootstrap
    type_remedy("`kcli brokers list` shows the brokers", brokers("describe 7", 1).err, broker)
    type_remedy(
        "stop it first: `kcli cluster describe` shows what it leads",
        brokers("unregister 1 --yes", 7).err,
        broker,
    )
    brokers.cluster.stop(2, fail_over=True)
    type_remedy("move them first: `kcli brokers drain 2`", brokers("unregister 2 --yes", 7).err, broker)
