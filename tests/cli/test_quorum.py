"""``kcli quorum`` as a user runs it: what is refused before anything is sent, answers that are lost, and the undoing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.add_raft_voter import AddRaftVoterRequest
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.describe_quorum import DescribeQuorumRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import Done, kcli

ENDPOINT = "--endpoint controller-4:9093"
ADD, REMOVE = f"add-controller 4 {ENDPOINT} --yes", "remove-controller 3 --yes"


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Controllers 1 to 3 are voters, 4 is an observer."""
    with FakeCluster(3) as found:
        found.quorum.make_dynamic([1, 2, 3], [4])
        yield found


class Quorum:
    """Runs with journals in a folder of their own."""

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder

    def __call__(self, line: str, code: int = 0) -> Done:
        words = line.split() if line.startswith("undo") else ["quorum", *line.split()]
        done = kcli(*words, bootstrap=self.cluster.bootstrap, XDG_STATE_HOME=str(self.folder / "state"))
        assert done.code == code, done.err
        return done

    def document(self, line: str, code: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self(f"{line} -o json", code).out)
        return found

    @property
    def voters(self) -> list[int]:
        return sorted(self.cluster.quorum.voters)

    def sent(self) -> int:
        return len(self.cluster.seen(AddRaftVoterRequest)) + len(self.cluster.seen(RemoveRaftVoterRequest))


@pytest.fixture
def quorum(cluster: FakeCluster, tmp_path: Path) -> Quorum:
    return Quorum(cluster, tmp_path)


def test_it_shows_who_leads_and_who_is_behind(quorum: Quorum) -> None:
    quorum.cluster.quorum.behind = {2}
    found = quorum.document("describe")
    assert (found["leader"], found["kraft_version"], found["voters"], found["observers"]) == (
        1,
        1,
        [1, 2, 3],
        [4],
    )
    assert (found["majority"], found["caught_up_voters"]) == (2, [1, 3])
    rows = {row["node"]: (row["role"], row["state"], row["lag_records"]) for row in found["items"]}
    assert rows == {
        1: ("voter", "leader", 0), 2: ("voter", "behind", 60), 3: ("voter", "following", 0),
        4: ("observer", "following", 0),
    }  # fmt: skip
    assert found["items"][0]["endpoints"] == ["CONTROLLER://controller-1:9093"]
    done = quorum("describe")
    assert "dynamic, 3 voters: a majority is 2, 2 caught up: none may fail" in done.out


def test_a_static_quorum_is_said_to_be_one(quorum: Quorum) -> None:
    quorum.cluster.quorum.kraft_version = 0
    quorum.cluster.quorum.voters.clear()
    quorum.cluster.quorum.observers.clear()
    assert "static, 3 voters" in quorum("describe").out
    for line in (ADD, REMOVE):
        done = quorum(line, 7)
        assert (
            "it is static: the voters are those of controller.quorum.voters, and kraft.version is 0"
            in done.err
        )
        assert "`kcli features upgrade --feature kraft.version=1` makes it dynamic" in done.err
    assert quorum.sent() == 0


@pytest.mark.parametrize("line", [ADD, REMOVE])
def test_a_dry_run_sends_nothing(quorum: Quorum, line: str) -> None:
    plan = quorum.document(f"{line} --dry-run")
    assert ([row["status"] for row in plan["items"]], quorum.sent()) == (["planned"], 0)


def test_a_controller_is_added_and_removed_again_by_undo(quorum: Quorum) -> None:
    report = quorum.document(ADD)
    (row,) = report["items"]
    assert (row["node"], row["old_role"], row["role"], row["status"]) == (4, "observer", "voter", "done")
    assert row["endpoints"] == ["CONTROLLER://controller-4:9093"]
    assert quorum.voters == [1, 2, 3, 4]
    (request,) = quorum.cluster.seen(AddRaftVoterRequest)
    assert request.request.cluster_id == quorum.cluster.settings.cluster_id
    assert request.request.ack_when_committed
    quorum(f"undo {report['undo']} --yes")
    assert quorum.voters == [1, 2, 3]


def test_a_controller_is_removed_and_added_again_by_undo(quorum: Quorum) -> None:
    done = quorum(REMOVE)
    assert "removed controller 3, read back: it is not a voter" in done.err
    assert (quorum.voters, quorum.cluster.quorum.observers) == ([1, 2], {3, 4})
    (journal,) = json.loads(quorum("undo -o json").out)["items"]
    assert journal["what"] == "controller 3 as a voter, removed"
    quorum(f"undo {journal['id']} --yes")
    assert quorum.cluster.quorum.voters[3] == ("controller-3", 9093)
    done = quorum(f"undo {journal['id']} --yes")
    assert "nothing is to be changed" in done.err


def test_the_active_controller_steps_down(quorum: Quorum) -> None:
    done = quorum("remove-controller 1 --yes")
    assert "controller 1 is the active one: it steps down" in done.err
    assert quorum.document("describe")["leader"] == 2


@pytest.mark.parametrize(
    ("line", "voters", "behind", "why"),
    [
        (REMOVE, [1, 2, 3], {2}, "of 2 voters 2 have to be caught up, and 2 is not"),
        (REMOVE, [1, 2, 3, 5, 6], {2, 5, 6}, "of 4 voters 3 have to be caught up, and 2, 5, 6 are not"),
        (ADD, [1, 2, 3], {2, 3}, "of 4 voters 3 have to be caught up, and 2, 3 are not"),
        (ADD, [1, 2, 3], {4}, "controller 4 is behind the leader"),
        ("remove-controller 1 --yes", [1], set(), "it is the only voter"),
    ],
)
def test_what_would_leave_no_majority_is_refused(
    quorum: Quorum, line: str, voters: list[int], behind: set[int], why: str
) -> None:
    quorum.cluster.quorum.make_dynamic(voters, [4])
    quorum.cluster.quorum.behind = behind
    for more in ("", " --dry-run"):
        done = quorum(line + more, 7)
        assert why in done.err
    assert (quorum.sent(), quorum.voters) == (0, voters)
    assert not list((quorum.folder / "state").rglob("*.json"))


def test_one_that_is_dead_is_removed_while_the_others_are_a_majority(quorum: Quorum) -> None:
    quorum.cluster.quorum.behind = {3}
    quorum(REMOVE)
    assert quorum.voters == [1, 2]


@pytest.mark.parametrize(
    ("line", "code", "why"),
    [
        (f"add-controller 5 {ENDPOINT} --yes", 7, "no controller 5 reads the metadata log"),
        ("remove-controller 5 --yes", 1, "no voter has this node id"),
        (
            f"{ADD} --directory-id AAAAAAAAAAAAAAAAAAAAAQ",
            7,
            "the directory id of controller 4 is BAQEBAQEBAQEBAQEBAQEBA",
        ),
        (
            "add-controller 3 --directory-id AAAAAAAAAAAAAAAAAAAAAQ --yes",
            7,
            "it is a voter with the directory id",
        ),
        (f"{REMOVE} --directory-id AAAAAAAAAAAAAAAAAAAAAQ", 7, "its directory id is AwMDAwMDAwMDAwMDAwMDAw"),
        ("add-controller 4 --yes", 2, "brokers do not report its listeners"),
        ("add-controller 4 --endpoint nowhere --yes", 2, "is not [NAME://]HOST:PORT"),
        ("add-controller 4 --endpoint ://a:9093 --yes", 2, "is not [NAME://]HOST:PORT"),
        ("add-controller 4 --endpoint a:99999 --yes", 2, "is not [NAME://]HOST:PORT"),
        (f"{ADD} --directory-id short", 2, "is not a directory id"),
    ],
)
def test_what_is_not_there_is_refused_before_anything_is_sent(
    quorum: Quorum, line: str, code: int, why: str
) -> None:
    assert why in quorum(line, code).err
    assert quorum.sent() == 0


def test_a_broker_that_may_not_be_asked_is_not_said_to_be_none(quorum: Quorum) -> None:
    quorum.cluster.quorum.make_dynamic([1, 2], [3])
    quorum.cluster.fail(DescribeConfigsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    done = quorum("add-controller 3 --yes", 4)
    assert "describing the configuration of broker 3" in done.err
    assert "brokers do not report" not in done.err
    assert quorum.sent() == 0


def test_what_is_so_already_is_unchanged(quorum: Quorum) -> None:
    for line in ("add-controller 3 --yes", "remove-controller 4 --yes"):
        (row,) = quorum.document(line)["items"]
        assert row["status"] == "unchanged"
    assert quorum.sent() == 0


@pytest.mark.parametrize(
    ("line", "kind", "voters"),
    [(ADD, AddRaftVoterRequest, [1, 2, 3, 4]), (REMOVE, RemoveRaftVoterRequest, [1, 2])],
)
def test_a_lost_answer_is_settled_by_what_is_read_back(
    quorum: Quorum, line: str, kind: type, voters: list[int]
) -> None:
    """The connection ends before the response, as when the broker dies; the next attempt finds it done."""
    quorum.cluster.swallow(kind, then="reset", times=1)
    (row,) = quorum.document(line)["items"]
    assert (row["status"], quorum.voters, len(quorum.cluster.seen(kind))) == ("done", voters, 2)


def test_a_request_that_is_lost_is_sent_again(quorum: Quorum) -> None:
    quorum.cluster.drop(RemoveRaftVoterRequest, then="reset", times=1)
    quorum(REMOVE)
    assert quorum.voters == [1, 2]


def test_it_is_unknown_where_nothing_can_be_read(quorum: Quorum) -> None:
    quorum.cluster.swallow(RemoveRaftVoterRequest, then="silence", times=FOREVER)
    quorum.cluster.fail(DescribeQuorumRequest, Code.REQUEST_TIMED_OUT, times=FOREVER, after=2)
    (row,) = quorum.document(f"{REMOVE} --timeout 1s", 3)["items"]
    assert row["status"] == "unknown"


def test_what_the_controller_refuses_is_failed(quorum: Quorum) -> None:
    quorum.cluster.fail(AddRaftVoterRequest, Code.REQUEST_TIMED_OUT, times=FOREVER)
    (row,) = quorum.document(f"{ADD} --timeout 1s", 3)["items"]
    assert (row["status"], row["role"], quorum.voters) == ("unknown", "observer", [1, 2, 3])
    quorum.cluster.heal()
    quorum.cluster.fail(AddRaftVoterRequest, Code.INVALID_VOTER_KEY)
    (row,) = quorum.document(ADD, 7)["items"]
    assert (row["status"], row["role"]) == ("failed", "observer")


def test_another_client_may_be_faster(quorum: Quorum) -> None:
    """The code of what is so already is an error where no answer was lost: the plan was another one."""
    quorum.cluster.fail(RemoveRaftVoterRequest, Code.VOTER_NOT_FOUND)
    done = quorum(REMOVE, 1)
    assert "VOTER_NOT_FOUND" in done.err


def test_a_cluster_that_moved_since_the_plan_is_decided_again(quorum: Quorum) -> None:
    """Between the plan and the act a voter falls behind, which leaves no majority."""

    def late(_request: object) -> None:
        quorum.cluster.quorum.behind = {2}

    quorum.cluster.intercept(DescribeClusterRequest, late)
    done = quorum(REMOVE, 7)
    assert "would leave the quorum without a majority" in done.err
    assert quorum.sent() == 0


def test_its_remedies_are_commands(quorum: Quorum) -> None:
    cluster, broker = quorum.cluster, quorum.cluster.bootstrap
    said = quorum("remove-controller 5 --yes", 1).err
    type_remedy("`kcli quorum describe` shows the voters and the observers", said, broker)
    said = quorum("add-controller 3 --directory-id AAAAAAAAAAAAAAAAAAAAAQ --yes", 7).err
    type_remedy("`kcli quorum remove-controller 3` removes that one first", said, broker)
    cluster.quorum.behind = {4}
    said = quorum(ADD, 7).err
    type_remedy("wait until it is caught up: `kcli quorum describe --watch` shows it", said, broker)
    cluster.quorum.behind = {2}
    said = quorum(REMOVE, 7).err
    type_remedy(
        "start or replace these first; `kcli quorum describe --watch` shows when they are caught up",
        said,
        broker,
    )
    cluster.quorum.make_dynamic([1], [4])
    said = quorum("remove-controller 1 --yes", 7).err
    type_remedy(
        "add another one first: `kcli quorum add-controller ID`", said, broker,
        then="2: it is no broker, so it has to be said where it listens", ID="4",
    )  # fmt: skip
    cluster.quorum.kraft_version = 0
    cluster.settings.further_features = {"kraft.version": (0, 1)}
    said = quorum(ADD, 7).err
    type_remedy(
        "`kcli features upgrade --feature kraft.version=1` makes it dynamic, with Kafka 4.1 or later",
        said,
        broker,
    )


def test_controllers_are_asked_where_they_were_named(quorum: Quorum) -> None:
    """They have no Metadata; DescribeCluster says which of them is active, and that one is asked (KIP-919)."""
    cluster = quorum.cluster
    cluster.hide(MetadataRequest, ProduceRequest)
    found = quorum.document("describe")
    assert [row["node"] for row in found["items"]] == [1, 2, 3, 4]
    asked = cluster.seen(DescribeClusterRequest)
    assert asked
    assert {seen.request.endpoint_type for seen in asked} == {2}
    quorum(REMOVE)
    assert quorum.voters == [1, 2]
    active = {
        seen.node for seen in cluster.seen(DescribeQuorumRequest) + cluster.seen(RemoveRaftVoterRequest)
    }
    assert active == {found["leader"]}


def test_a_broker_among_the_controllers_is_the_reason(quorum: Quorum) -> None:
    quorum.cluster.hide(MetadataRequest, ProduceRequest)
    quorum.cluster.fail(DescribeClusterRequest, Code.MISMATCHED_ENDPOINT_TYPE, times=FOREVER)
    assert (
        "asking a controller for the others: MISMATCHED_ENDPOINT_TYPE"
        in quorum("describe --timeout 1s", 3).err
    )


def test_controllers_before_3_7_do_not_list_themselves(quorum: Quorum) -> None:
    quorum.cluster.hide(MetadataRequest, ProduceRequest)
    quorum.cluster.cap_versions({DescribeClusterRequest: 0})
    assert "version 1 is needed" in quorum("describe", 7).err
