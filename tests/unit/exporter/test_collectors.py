"""What each collector shows of what was read, also where that is not all."""

from dataclasses import replace

import pytest

from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import KcliError
from kcli.exporter.collectors import (
    brokers,
    choice,
    commits,
    configs,
    log_dirs,
    quorum,
    quotas,
    topics,
    transactions,
)
from kcli.exporter.collectors.commits import Growth
from kcli.exporter.collectors.topics import UNKNOWN, LeaderChanges, Required
from kcli.flows.cluster_state import broker_states
from kcli.flows.monitor.cluster_reading import ClusterFacts
from kcli.flows.topics.sizes import TopicSize
from kcli.flows.transactions.coordinated import Coordinated
from tests.unit.exporter.facts import ALL_FACTS, QUORUM, transaction
from tests.unit.exporter.pages import labels, page_of, parsed, text_of
from tests.unit.exporter.test_page import everything
from tests.unit.flows.monitor.readings import NOW, P0, P1, group, reading

Values = dict[tuple[object, ...], float | None]


def of(name: str, samples: object) -> Values:
    """The values of a metric by its labels."""
    return {one.labels: one.value for one in samples if one.metric.name == name}  # type: ignore[attr-defined]


def topic(
    name: str, *parts: tuple[int, tuple[int, ...], tuple[int, ...]], topic_id: str = "x", epoch: int = 0
) -> TopicInfo:
    """Of leader, replicas and those in sync."""
    views = [
        PartitionView(n, leader, epoch, replicas, isr) for n, (leader, replicas, isr) in enumerate(parts)
    ]
    return TopicInfo(name, topic_id, False, tuple(views))


def test_replicas_of_the_quorum_are_compared_with_its_leader() -> None:
    found = list(quorum.samples(QUORUM))
    assert of("kcli_quorum_leader", found) == {(): 3}
    assert of("kcli_quorum_leader_epoch", found) == {(): 7}
    assert of("kcli_quorum_high_watermark", found) == {(): 90}
    assert of("kcli_quorum_replicas", found) == {("voter",): 2, ("observer",): 2}
    lag = of("kcli_quorum_lag_records", found)
    assert lag == {(3, "voter"): 0, (4, "voter"): 0, (1, "observer"): 40, (2, "observer"): None}
    assert of("kcli_quorum_lag_seconds", found) == {
        (3, "voter"): 0, (4, "voter"): 0, (1, "observer"): 1.5, (2, "observer"): None,
    }  # fmt: skip


def test_without_a_leader_no_replica_has_a_lag() -> None:
    found = list(quorum.samples(replace(QUORUM, leader=-1)))
    assert of("kcli_quorum_leader", found) == {(): -1}
    assert not of("kcli_quorum_lag_records", found)


def test_open_transactions_are_counted_in_all_and_by_topic() -> None:
    assert ALL_FACTS.transactions is not None
    found = list(transactions.samples(ALL_FACTS.transactions, NOW))
    assert of("kcli_transactions_open", found) == {(): 2}
    assert of("kcli_transactions_oldest_seconds", found) == {(): 30}
    assert of("kcli_transactions_topic_open", found) == {("t",): 2, ("u",): 1}
    assert of("kcli_transactions_topic_oldest_seconds", found) == {("t",): 30, ("u",): 5}
    assert of(
        "kcli_transactions_topic_open", transactions.samples(ALL_FACTS.transactions, NOW, "u".__eq__)
    ) == {("u",): 1}


def test_no_open_transaction_is_0_and_a_missing_coordinator_is_not() -> None:
    none = list(transactions.samples(Coordinated(()), NOW))
    assert [one.value for one in none] == [0, 0]
    away = Coordinated((), (KcliError("broker 2 is away"),))
    assert [one.value for one in transactions.samples(away, NOW)] == [None, None]
    partly = list(transactions.samples(Coordinated((transaction("a", 30, "t"),), away.errors), NOW))
    assert of("kcli_transactions_open", partly) == {(): None}
    assert of("kcli_transactions_oldest_seconds", partly) == {(): 30}
    assert of("kcli_transactions_topic_open", partly) == {("t",): None}


def test_quotas_name_the_default_and_leave_out_what_they_are_not_by() -> None:
    assert ALL_FACTS.quotas is not None
    (one,) = quotas.samples(ALL_FACTS.quotas)
    assert (one.labels, one.value) == (("<default>", "app", "", "producer_byte_rate"), 1_048_576)


def test_growth_counts_what_is_written_and_never_goes_back() -> None:
    growth = Growth()
    assert [
        growth.add(ends)
        for ends in ({0: 100, 1: 50}, {0: 103, 1: 50}, {0: 103}, {0: 90, 1: 60}, {0: 91, 1: 60, 2: 7})
    ] == [0, 3, 3, 13, 14]
    assert [one.value for one in commits.samples({0: 95}, growth)] == [18]


def test_a_log_directory_that_is_offline_has_no_size() -> None:
    assert ALL_FACTS.log_dirs is not None
    found = list(log_dirs.samples(ALL_FACTS.log_dirs))
    assert of("kcli_broker_log_dir_up", found) == {(1, "/a"): 1, (1, "/b"): 0}
    assert of("kcli_broker_log_dir_size_bytes", found) == {(1, "/a"): 700}
    assert of("kcli_broker_log_dir_usable_bytes", found) == {(1, "/a"): 1 << 29}


def test_configurations_are_numbers_or_texts_and_never_secrets() -> None:
    assert ALL_FACTS.configs is not None
    found = list(configs.samples(ALL_FACTS.configs))
    assert of("kcli_topic_config_value", found) == {
        ("t", "retention.ms"): 60_000, ("t", "unclean.leader.election.enable"): 1,
    }  # fmt: skip
    assert of("kcli_topic_config", found) == {("t", "cleanup.policy", "compact"): 1}


def test_partitions_under_and_at_the_minimum_in_sync() -> None:
    some = topic(
        "t", (1, (1, 2, 3), (1,)), (2, (1, 2, 3), (1, 2)), (1, (1, 2, 3), (1, 2, 3)), (-1, (1, 2), ())
    )
    found = list(topics.samples([some], Required({"t": 2}, capped=True), {"t": TopicSize(5, 15)}, {"t": 4}))
    assert of("kcli_topic_replication_factor", found) == {("t",): 3}
    assert of("kcli_topic_under_min_isr_partitions", found) == {("t",): 2}
    assert of("kcli_topic_at_min_isr_partitions", found) == {("t",): 1}
    assert of("kcli_topic_not_preferred_leader_partitions", found) == {("t",): 1}
    assert of("kcli_topic_leader_changes", found) == {("t",): 4}
    assert of("kcli_topic_replica_size_bytes", found) == {("t",): 15}
    assert of("kcli_topic_leader", found) == {("t", 0): 1, ("t", 1): 2, ("t", 2): 1, ("t", 3): -1}
    assert of("kcli_topic_in_sync_replicas", found) == {("t", 0): 1, ("t", 1): 2, ("t", 2): 3, ("t", 3): 0}
    assert not of("kcli_topic_under_min_isr_partitions", topics.samples([some], UNKNOWN, {}, {}))


def test_brokers_require_no_more_replicas_than_there_are_since_3_7() -> None:
    some = topic("t", (1, (1,), (1,)))
    for capped, refusing in ((True, 0), (False, 1)):
        found = topics.samples([some], Required({"t": 2}, capped=capped), {}, {})
        assert of("kcli_topic_under_min_isr_partitions", found) == {("t",): refusing}


def test_a_topic_with_one_replica_is_not_at_its_minimum() -> None:
    found = topics.samples([topic("t", (1, (1,), (1,)))], Required({"t": 1}, capped=True), {}, {})
    assert of("kcli_topic_at_min_isr_partitions", found) == {("t",): 0}


def test_elections_are_counted_by_epochs_also_between_samples() -> None:
    changes = LeaderChanges()
    part = (1, (1,), (1,))
    assert changes.add([topic("t", part, part, epoch=5)]) == {"t": 0}
    assert changes.add([topic("t", part, part, epoch=7)]) == {"t": 4}
    assert changes.add([topic("t", part, part, epoch=-1)]) == {"t": 4}, "brokers that know no epochs"
    assert changes.add([topic("t", part, part, epoch=8)]) == {"t": 6}
    assert changes.add([topic("t", part, epoch=0, topic_id="y")]) == {"t": 0}, "made anew"
    assert changes.add([]) == {}


def test_a_broker_that_only_lists_of_replicas_have_is_down() -> None:
    known = ClusterFacts(reading(0, ends={}).cluster.description)
    states = broker_states(known.description, [topic("t", (1, (1, 9), (1,)))])
    found = list(brokers.samples(states, 2, counted=True))
    assert of("kcli_broker_up", found) == {(1,): 1, (2,): 1, (9,): 0}
    assert of("kcli_broker_controller", found) == {(1,): 0, (2,): 1, (9,): 0}
    assert of("kcli_broker_out_of_sync_replicas", found) == {(1,): 0, (2,): 0, (9,): 1}
    assert of("kcli_broker", found) == {(1, "one", 9092, "r"): 1, (2, "two", 9092, ""): 1}
    assert not of("kcli_broker_leaders", brokers.samples(states, None, counted=False))


FIELDS = {
    "transactions": "transactions",
    "quotas": "quotas",
    "commits": "commits",
    "log-dirs": "log_dirs",
    "configs": "configs",
}


@pytest.mark.parametrize("collector", sorted(choice.COLLECTORS))
def test_only_what_is_chosen_is_on_a_page(collector: str) -> None:
    """As the loop has it: facts are read of what is chosen only."""
    read = reading(0, group("g", {P0: 3, P1: 5}, "a"), ends={P0: 10, P1: 5}, **everything())
    without: dict[str, None] = {field: None for owner, field in FIELDS.items() if owner != collector}
    facts = replace(ALL_FACTS, **without)  # type: ignore[arg-type]
    nothing = parsed(text_of(page_of(read, facts=facts, chosen=frozenset())))
    chosen = choice.WORDS[collector]
    found = parsed(text_of(page_of(read, facts=facts, chosen=chosen)))
    assert found["kcli_exporter_collector_complete"].keys() == {labels(collector=one) for one in chosen}
    own = found.keys() - {"kcli_exporter_collector_complete", "kcli_series_dropped"}
    begins = {
        "groups": ("kcli_group",), "owners": ("kcli_group",), "topics": ("kcli_topic",), "brokers": ("kcli_broker",),
        "quorum": ("kcli_quorum",), "transactions": ("kcli_transactions",), "quotas": ("kcli_quota",),
        "commits": ("kcli_consumer_offsets",), "log-dirs": ("kcli_broker_log_dir",), "configs": ("kcli_topic_config",),
    }[collector]  # fmt: skip
    assert any(name.startswith(begins) for name in own)
    assert all(name.startswith(begins) for name in own - nothing.keys())


def test_a_collector_that_failed_is_not_complete_and_the_others_are() -> None:
    read = reading(0, group("g", {P0: 3, P1: 5}, "a"), ends={P0: 10, P1: 5}, **everything())
    facts = replace(ALL_FACTS, quorum=None, errors={"quorum": [KcliError("denied")]})
    found = parsed(text_of(page_of(read, facts=facts)))
    complete = {
        dict(one)["collector"]: value for one, value in found["kcli_exporter_collector_complete"].items()
    }
    assert complete == dict.fromkeys(choice.ALL, 1) | {"quorum": 0}
    assert "kcli_quorum_leader" not in found
    assert found["kcli_transactions_open"] == {labels(): 2}


def test_a_partition_has_the_verdict_that_its_group_explains() -> None:
    """One series for each: the word is a label."""
    read = [reading(at, group("g", {P0: 3, P1: 5}, state="Empty"), ends={P0: 10, P1: 5}) for at in (0, 30)]
    found = parsed(text_of(page_of(*read)))["kcli_group_partition_verdict"]
    assert found == {
        labels(group="g", topic="t", partition=0, verdict="stopped"): 1,
        labels(group="g", topic="t", partition=1, verdict="empty"): 1,
    }


def test_owners_are_the_members_that_read() -> None:
    read = reading(0, group("g", {P0: 3, P1: 5}, "a", 'b"'), ends={P0: 10, P1: 5})
    found = parsed(text_of(page_of(read)))["kcli_group_partition_owner_info"]
    assert found == {
        labels(group="g", topic="t", partition=0, client_id="a", host="host"): 1,
        labels(group="g", topic="t", partition=1, client_id='b"', host="host"): 1,
    }


def test_a_list_of_collectors() -> None:
    assert choice.chosen("groups, quorum") == {"groups", "quorum"}
    assert choice.chosen("default,log-dirs") == choice.USUAL | {"log-dirs"}
    assert choice.chosen("all") == choice.ALL
    with pytest.raises(ValueError, match=r"^nothing$"):
        choice.chosen("groups,nothing")
