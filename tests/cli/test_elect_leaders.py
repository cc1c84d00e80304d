"""``kcli elect-leaders``: which partitions are in the plan, what is elected and read back, refusals, exit codes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.permissions import AclOperation
from kcli.core.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from kcli.core.protocol.messages.elect_leaders import ElectLeadersRequest
from kcli.core.types import TopicPartition
from kcli.flows import leader_elections
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import Noun


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """Broker 1 should lead ``t-0`` and ``u-0``, and does not."""
    monkeypatch.delenv("KCLI_TIMEOUT", raising=False)
    with FakeCluster(3, topics={"t": 3, "u": 1}) as made:
        made.move_leader("t", 0, 2)
        made.move_leader("u", 0, 3)
        yield made


@pytest.fixture
def elect(cluster: FakeCluster) -> Noun:
    return Noun("elect-leaders", cluster)


def rows(items: list[dict[str, Any]], *more: str) -> list[tuple[Any, ...]]:
    keys = ("topic", "partition", "leader", "new_leader", *more)
    return [tuple(item[key] for key in keys) for item in items]


def elections(elect: Noun) -> int:
    return len(elect.cluster.seen(ElectLeadersRequest))


def test_all_partitions_get_their_preferred_leader(elect: Noun) -> None:
    done = elect("--yes -o json")
    assert rows(done.items, "status") == [("t", 0, 2, 1, "done"), ("u", 0, 3, 1, "done")]
    assert "elected the leaders of 2 partitions, read back" in done.err
    assert [elect.cluster.leader(*tp) for tp in (("t", 0), ("t", 1), ("u", 0))] == [1, 2, 1]
    again = elect("--yes -o json")
    assert (again.items, elections(elect)) == ([], 1)
    assert "every partition is led by its preferred replica: 4 partitions checked" in again.err
    assert "No leader has to be elected: 3 partitions checked.\n" in elect("--topic t --dry-run").out
    assert "2 partitions checked" in elect("--topic t:1-2").err


@pytest.mark.parametrize("line", ["--yes", "--dry-run", "--unclean --yes"])
def test_a_client_that_sees_no_partition_says_so(elect: Noun, line: str) -> None:
    def hidden(_request: Any, answer: Any) -> None:
        answer.topics = []

    elect.cluster.replace(DescribeTopicPartitionsRequest, hidden, times=FOREVER)
    done = elect(line)
    assert "no partition was checked" in done.err
    assert "every partition" not in done.err


def test_a_dry_run_shows_the_plan_and_elects_nobody(elect: Noun) -> None:
    done = elect("--topic t --dry-run")
    assert "\nElect the preferred replica as leader of 1 partition.\n" in done.out
    assert rows(elect("--dry-run -o json").items) == [("t", 0, 2, 1), ("u", 0, 3, 1)]
    assert (elections(elect), elect.cluster.leader("t", 0)) == (0, 2)


def test_only_the_named_partitions_are_elected(elect: Noun) -> None:
    assert rows(elect("--topic t:1-2 --topic u --yes -o json").items) == [("u", 0, 3, 1)]
    assert elect.cluster.leader("t", 0) == 2


def test_without_a_terminal_nothing_is_done(elect: Noun) -> None:
    done = elect("", 2)
    assert "Elect leaders of 2 partitions?" in done.err
    assert (done.out, elections(elect)) == ("", 0)


@pytest.mark.parametrize(
    ("line", "code", "what", "do"),
    [
        ("--topic none --yes", 1, "topic none does not exist", ""),
        ("--topic t:9 --yes", 1, "topic t has no partition 9", "kcli topics describe t"),
        ("--topic none --topic u --yes", 6, "topic none does not exist", ""),
        ("t --yes", 2, "unexpected extra argument", "--help"),
    ],
)
def test_names_that_do_not_exist(elect: Noun, line: str, code: int, what: str, do: str) -> None:
    err = elect(line, code).err
    assert what in err
    assert do in err


def test_a_preferred_replica_that_is_not_in_sync_is_named(elect: Noun) -> None:
    elect.cluster.set_isr("t", 0, [2, 3])
    done = elect("--yes -o json", 6)
    assert "no leader was elected for t-0" in done.err
    assert rows(done.items, "status") == [("t", 0, 2, None, "refused"), ("u", 0, 3, 1, "done")]
    err = elect("--topic t --dry-run", 7).err
    assert "the replica on broker 1 is not in sync" in err
    type_remedy("wait until it is; `kcli topics describe --under-replicated`", err, elect.cluster.bootstrap)
    elect.cluster.stop(1, fail_over=True)
    assert "broker 1 is not alive" in elect("--topic t --yes", 7).err


def test_a_refusal_of_the_controller_is_6_or_7(elect: Noun) -> None:
    elect.cluster.fail(ElectLeadersRequest, Code.PREFERRED_LEADER_NOT_AVAILABLE)
    done = elect("--topic t --yes -o json", 7)
    assert "PREFERRED_LEADER_NOT_AVAILABLE" in done.err
    type_remedy(
        "its replica is in sync; `kcli topics describe --under-replicated`", done.err, elect.cluster.bootstrap
    )
    assert [item["status"] for item in done.items] == ["failed"]


def test_one_refusal_of_two_is_6_and_is_not_waited_for(elect: Noun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_elections, "VISIBLE_WITHIN", 600)
    elect.cluster.fail(ElectLeadersRequest, Code.PREFERRED_LEADER_NOT_AVAILABLE, where=TopicPartition("t", 0))
    done = elect("--yes -o json", 6)
    assert [(item["new_leader"], item["status"]) for item in done.items] == [(2, "failed"), (1, "done")]


def test_an_election_that_is_not_needed_any_more_is_no_failure(elect: Noun) -> None:
    elect.cluster.intercept(ElectLeadersRequest, lambda _request: elect.cluster.move_leader("t", 0, 1))
    assert [item["status"] for item in elect("--topic t --yes -o json").items] == ["done"]


def test_a_missing_right_is_4(elect: Noun) -> None:
    elect.cluster.fail(ElectLeadersRequest, Code.CLUSTER_AUTHORIZATION_FAILED, top=True, times=FOREVER)
    assert "--operation alter --cluster" in elect("--yes", 4).err


@pytest.mark.parametrize(
    ("line", "code", "statuses"),
    [
        ("", 0, ["planned", "planned"]),
        ("--topic none", 1, ["refused"]),
        ("--topic none --topic u", 6, ["refused", "planned"]),
        ("--topic hidden --topic u", 4, ["refused", "planned"]),
        ("--unclean", 0, []),
    ],
)
def test_a_dry_run_ends_as_the_act_does(elect: Noun, line: str, code: int, statuses: list[str]) -> None:
    elect.cluster.settings.hidden_topics = frozenset({"hidden"})
    plan = elect(f"{line} --dry-run -o json", code)
    assert [item["status"] for item in plan.items] == statuses
    done = elect(f"{line} --yes -o json", code)
    assert [item["status"].replace("done", "planned") for item in done.items] == statuses


@pytest.mark.parametrize("form", ["json", "ndjson", "yaml", "csv", "tsv"])
def test_a_client_that_may_not_elect_sees_it_in_the_plan(elect: Noun, form: str) -> None:
    elect.cluster.settings.cluster_operations &= ~(1 << AclOperation.ALTER)
    elect.cluster.set_isr("t", 0, [2, 3])
    for more in ("--dry-run", "--yes"):
        done = elect(f"{more} -o {form}", 4)
        assert "no ALTER permission on the cluster" in done.err
        assert done.out.count("refused") == 2
    assert elections(elect) == 0


def test_an_answer_that_is_lost_is_settled_by_the_leaders(elect: Noun) -> None:
    elect.cluster.swallow(ElectLeadersRequest, "reset")
    assert [item["status"] for item in elect("--yes -o json").items] == ["done", "done"]


def test_what_was_elected_while_the_question_was_open_is_unchanged(elect: Noun) -> None:
    elect.cluster.intercept(
        DescribeTopicPartitionsRequest,
        lambda _request: elect.cluster.move_leader("t", 0, 1),
        after=1,
        times=1,
    )
    done = elect("--topic t --yes -o json")
    assert [(item["status"], item["note"]) for item in done.items] == [("unchanged", "elected meanwhile")]
    assert elections(elect) == 0


def test_old_brokers_are_named(elect: Noun) -> None:
    elect.cluster.hide(ElectLeadersRequest)
    done = elect("--yes", 7)
    assert "ElectLeaders" in done.err


def test_a_leader_that_is_not_the_elected_one_afterwards_is_7(
    elect: Noun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_elections, "VISIBLE_WITHIN", 0.1)

    def stale(_request: Any, answer: Any) -> None:
        for topic in answer.topics:
            for part in topic.partitions:
                part.leader_id = 2 if topic.name == "t" and part.partition_index == 0 else part.leader_id

    elect.cluster.replace(DescribeTopicPartitionsRequest, stale, times=FOREVER)
    done = elect("--topic t:0 --yes -o json", 7)
    assert "broker 2 leads it" in done.err
    assert [item["status"] for item in done.items] == ["failed"]


@pytest.mark.parametrize(
    ("line", "elected"),
    [
        ("--topic t -p 0,2", [("t", 0)]),
        ("--topic t -p 1-2", []),
        ("--topic t --topic u:0 -p 1", [("u", 0)]),
    ],
)
def test_partitions_are_chosen_for_topics_without_their_own(
    elect: Noun, line: str, elected: list[tuple[str, int]]
) -> None:
    assert [row[:2] for row in rows(elect(f"{line} --yes -o json").items)] == elected


def test_a_file_of_kafkas_script_names_the_partitions(elect: Noun, tmp_path: Path) -> None:
    file = tmp_path / "partitions.json"
    file.write_text('{"partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 2}]}')
    done = elect(f"--from-file {file} --yes -o json")
    assert rows(done.items, "status") == [("t", 0, 2, 1, "done")]
    assert elect.cluster.leader("u", 0) == 3
    file.write_text('{"partitions": [{"topic": "t", "partition": 9}]}')
    assert "topic t has no partition 9" in elect(f"--from-file {file} --yes", 1).err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"partitions": []}', "it names no partition"),
        ('{"partitions": [{"topic": "t"}]}', "partitions[0] has no partition"),
        ('{"partitions": [{"topic": "t", "partition": true}]}', "partitions[0] has no partition"),
        ("[]", "it has no list of partitions"),
        ("", "it is empty"),
    ],
)
def test_a_file_that_names_no_partition_elects_nobody(
    elect: Noun, tmp_path: Path, text: str, why: str
) -> None:
    """No partition would mean all of them."""
    file = tmp_path / "partitions.json"
    file.write_text(text)
    assert why in elect(f"--from-file {file} --yes", 2).err
    assert elections(elect) == 0


@pytest.mark.parametrize(
    ("line", "what"),
    [("-p 0 --yes", "-p without --topic"), ("--topic t --from-file f --yes", "--from-file with --topic")],
)
def test_options_that_do_not_fit_are_refused(elect: Noun, line: str, what: str) -> None:
    assert what in elect(line, 2).err


def test_the_plan_has_who_is_in_sync(elect: Noun) -> None:
    text = elect("--topic t --dry-run").out
    assert "TOPIC  PARTITION  LEADER  ISR    NEW-LEADER" in text
    elect.cluster.set_elr("t", 0, [1])
    elect.cluster.set_isr("t", 0, [2])
    text = elect("--topic t --dry-run").out
    assert "TOPIC  PARTITION  LEADER  ISR  ELR  NEW-LEADER" in text


def test_a_preferred_replica_that_is_eligible_is_elected(elect: Noun) -> None:
    """It has all committed records (KIP-966)."""
    elect.cluster.set_isr("t", 0, [2])
    elect.cluster.set_elr("t", 0, [1])
    done = elect("--topic t --yes -o json")
    assert rows(done.items, "elr", "status") == [("t", 0, 2, 1, [1], "done")]


# --- unclean -------------------------------------------------------------------------------------------


@pytest.fixture
def broken(elect: Noun) -> Noun:
    """``lost-0`` has no leader: the only replica in sync is on broker 3, which is dead."""
    elect.cluster.create_topic("lost", replicas={0: [3, 2]})
    elect.cluster.set_isr("lost", 0, [3])
    elect.cluster.stop(3, fail_over=True)
    return elect


def test_an_unclean_election_says_what_is_lost_and_needs_the_name(broken: Noun) -> None:
    done = broken("--unclean --topic lost", 2)
    assert "are lost, also acknowledged ones" in done.err
    assert "2  not in sync" in done.err
    assert "does not name" in broken("--unclean --topic lost --confirm t", 2).err
    assert elections(broken) == 0
    items = broken("--unclean --topic lost --confirm lost -o json").items
    assert rows(items, "status") == [("lost", 0, None, 2, "done")]
    assert broken.cluster.leader("lost", 0) == 2


def test_an_unclean_election_is_only_for_partitions_without_a_leader(broken: Noun) -> None:
    done = broken("--unclean --topic t --yes -o json")
    assert (done.items, elections(broken)) == ([], 0)
    assert "every partition has a leader" in done.err


def test_a_clean_election_names_partitions_that_only_an_unclean_one_helps(broken: Noun) -> None:
    done = broken("--topic lost --yes", 7)
    assert "--unclean elects another replica, and loses records" in done.err


def test_no_replica_that_is_alive_is_7(broken: Noun) -> None:
    broken.cluster.stop(2, fail_over=True)
    assert "no broker with a replica is alive" in broken("--unclean --topic lost --yes", 7).err


def test_the_plan_fits_80_columns(elect: Noun) -> None:
    elect.cluster.create_topic("a-topic-with-a-rather-long-name", replicas={0: [1, 2, 3]})
    elect.cluster.move_leader("a-topic-with-a-rather-long-name", 0, 3)
    elect.cluster.set_isr("a-topic-with-a-rather-long-name", 0, [3, 2])
    assert max(map(len, elect("--dry-run", 6).out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("elr", "last_known", "elected", "note"),
    [
        ([2], [], 2, ""),
        ([], [2], 2, "last known leader"),
        ([], [4], 1, "not in sync"),
        ([], [], 1, "not in sync"),
    ],
)
def test_an_unclean_election_plans_whom_the_controller_chooses(
    elr: list[int], last_known: list[int], elected: int, note: str
) -> None:
    with FakeCluster(4, topics={}) as cluster:
        cluster.create_topic("lost", replicas={0: [3, 1, 2]})
        cluster.set_isr("lost", 0, [])
        cluster.stop(3, fail_over=True)
        cluster.stop(4, fail_over=True)
        cluster.move_leader("lost", 0, -1)
        cluster.set_elr("lost", 0, elr, last_known)
        elect = Noun("elect-leaders", cluster)
        plan = elect("--unclean --topic lost --dry-run -o json")
        assert [(item["new_leader"], item["note"] or "") for item in plan.items] == [(elected, note)]
        done = elect("--unclean --topic lost --yes -o json")
        assert [(item["new_leader"], item["status"]) for item in done.items] == [(elected, "done")]
