"""The page of a snapshot: what it has, what it leaves out, and that both parsers of prometheus_client accept it."""

import gzip
import zlib
from collections.abc import Collection
from dataclasses import replace

import pytest

from kcli.core.admin.brokers import ClusterDescription
from kcli.core.admin.groups import COORDINATORS, GroupListing
from kcli.core.admin.topics import TopicInfo
from kcli.core.cluster.everywhere import Unlisted
from kcli.core.cluster.metadata import PartitionView, no_coordinator
from kcli.core.errors import ConnectError, UnsupportedError
from kcli.core.types import TopicPartition
from kcli.exporter.collectors.choice import USUAL
from kcli.exporter.exposition import CLASSIC, FORMATS, OPENMETRICS, document, gzipped, joined, labels_of
from kcli.exporter.metrics import METRICS, OF_GROUPS, OF_HEALTH, OF_PARTITIONS, STATES
from kcli.exporter.page import Pages
from kcli.flows.groups.commit_times import offsets_partition
from kcli.flows.groups.offsets import LogEnds
from kcli.flows.lag.partition_lag import READ, RecordTime
from kcli.flows.lag.sample import GroupSample, why_unlisted
from kcli.flows.lag.verdicts import WORDS
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import ClusterFacts, Latency, Reading
from kcli.flows.topics.sizes import TopicSize
from tests.unit.exporter.facts import ALL_FACTS
from tests.unit.exporter.pages import labels, page_of, parsed, text_of
from tests.unit.flows.monitor.readings import BROKERS, NOW, P0, P1, group, reading, share_group, streams_group

HOSTILE = [
    'a"b', "a\\b", "a\nb", "\\n", 'x",group="y', "} 1\n# EOF\n", "\u202egroup", "\x1b[31m", "\x00", "\udcff",
    "ü\U0001f600",    " a ", "{}", "\\", "\\\\\"", "\r\n", "\x85\u2028", "=", ",", "#",
]  # fmt: skip


def everything() -> dict[str, object]:
    """A cluster of which every figure is known."""
    topics = [
        TopicInfo("t", "", False, tuple(PartitionView(n, 1, replicas=(1, 2), isr=(1,)) for n in (0, 1)))
    ]
    facts = ClusterFacts(ClusterDescription("c", 1, BROKERS), None, topics, {"t": TopicSize(500, 900)})
    return {
        "cluster": facts,
        "latencies": {1: Latency(4, 2.5, 7.0)},
        "timed": frozenset({"g"}),
        "times": {(P0, 3): RecordTime(NOW - 5_000, READ)},
        "retention": {"t": 60_000},
    }


@pytest.mark.parametrize("form", FORMATS)
def test_the_figures_of_a_group_by_partition_and_in_all(form: str) -> None:
    page = page_of(reading(0, group("g", {P0: 3, P1: 5}, "a", "b"), ends={P0: 10, P1: 5}, **everything()))
    found = parsed(text_of(page, form), form)
    first, second = labels(group="g", topic="t", partition=0), labels(group="g", topic="t", partition=1)
    assert found["kcli_group_lag_records"] == {first: 7, second: 0}
    assert found["kcli_group_lag_seconds"] == {first: 5, second: 0}
    assert found["kcli_group_retention_margin_seconds"] == {first: 55}
    assert found["kcli_group_lost_records"] == {first: 0, second: 0}
    assert found["kcli_group_committed_offset"] == {first: 3, second: 5}
    assert found["kcli_group_log_end_offset"] == {first: 10, second: 5}
    of_group = {labels(group="g"): 7}
    assert found["kcli_group_sum_lag_records"] == of_group
    assert found["kcli_group_max_lag_seconds"] == {labels(group="g"): 5}
    assert found["kcli_group_min_retention_margin_seconds"] == {labels(group="g"): 55}
    assert found["kcli_group_sum_lost_records"] == {labels(group="g"): 0}
    assert found["kcli_group_partitions"] == found["kcli_group_members"] == {labels(group="g"): 2}
    assert (
        found["kcli_topic_partitions"]
        == found["kcli_topic_under_replicated_partitions"]
        == {labels(topic="t"): 2}
    )
    assert found["kcli_topic_offline_partitions"] == {labels(topic="t"): 0}
    assert found["kcli_topic_size_bytes"] == {labels(topic="t"): 500}
    assert found["kcli_topic_log_start_offset"] == {labels(topic="t", partition=n): 0 for n in (0, 1)}
    assert found["kcli_topic_log_end_offset"] == {
        labels(topic="t", partition=0): 10,
        labels(topic="t", partition=1): 5,
    }
    assert found["kcli_cluster_info"] == {labels(cluster_id="c"): 1}
    assert found["kcli_cluster_brokers"] == {labels(): 2}


def test_columns_and_rows_give_the_same_samples() -> None:
    """A group whose commits are in columns takes another way."""
    from kcli.core.admin.commit_columns import CommitColumns

    rows = group("g", {P0: 3, P1: 5})
    columns = rows._replace(committed=CommitColumns((P0, P1), (3, 5), (-1, -1)), description=None)
    both = [
        page_of(reading(0, one._replace(description=None), ends={P0: 10, P1: 5})) for one in (rows, columns)
    ]
    assert text_of(both[0]) == text_of(both[1])
    assert "kcli_group_lag_records" in text_of(both[0])


def lacking(found: Reading, known: Collection[str] = ()) -> Reading:
    """Two of the five partitions of the coordinators have no leader, one is at a broker that is away."""
    parts = [PartitionView(number, -1) for number in (1, 2)]
    offline, away = no_coordinator("groups", COORDINATORS, parts, 5), ConnectError("broker 3 is away")
    listing = GroupListing((), {3: away}, offline, unlisted=Unlisted({1: offline, 2: offline, 4: away}, 5))
    failed = {name: error for name in known if (error := why_unlisted(listing, name)) is not None}
    sample = found.sample._replace(partial=listing.missing, unlisted=listing.unlisted, failed=failed)
    return replace(found, sample=sample, problems=(*sample.partial, *sample.failed.values()))


def test_what_is_missing_is_counted_by_what_and_why() -> None:
    names = [f"g{number}" for number in range(10)]
    homes = [offsets_partition(name, 5).partition for name in names]
    page = page_of(
        reading(0, *(group(name, {P0: 3}) for name in names), ends={P0: 3}),
        lacking(reading(15, group("g", {P0: 3}), ends={P0: 3}), names),
    )
    found = parsed(text_of(page))
    assert not page.complete
    assert found["kcli_missing"] == {
        labels(what="group", reason="no_leader"): sum(home in (1, 2) for home in homes),
        labels(what="group", reason="unreachable"): homes.count(4),
        labels(what="coordinator_partition", reason="no_leader"): 2,
        labels(what="coordinator_partition", reason="unreachable"): 1,
    }
    assert found["kcli_group_partitions"].keys() == {labels(group="g")}, (
        "the series of groups that are unread have ended"
    )


def test_nothing_is_missing_of_a_sample_that_has_all() -> None:
    page = page_of(reading(0, group("g", {P0: 3}), ends={P0: 3}))
    assert page.complete
    assert "kcli_missing" not in text_of(page)


def one_of_each_type() -> list[GroupSample]:
    return [
        group("g", {P0: 3}, "a"),
        share_group("s", {P0: (3, 2), P1: (None, None)}, "b"),
        streams_group("x", {P0: 3, P1: 5}, "c", "d"),
    ]


def test_share_groups_have_start_offsets_and_streams_groups_tasks() -> None:
    page = page_of(reading(0, *one_of_each_type(), ends={P0: 10, P1: 5}))
    found = parsed(text_of(page, OPENMETRICS), OPENMETRICS)
    place = labels(group="s", topic="t", partition=0)
    assert found["kcli_share_group_start_offset"] == {place: 3}
    assert place not in found["kcli_group_committed_offset"]
    assert found["kcli_group_lag_records"][place] == 2
    assert labels(group="s", topic="t", partition=1) not in found["kcli_group_lag_records"]
    assert found["kcli_streams_group_topology_epoch"] == {labels(group="x"): 2}
    assert found["kcli_streams_group_tasks"] == {
        labels(group="x", kind="active"): 2,
        labels(group="x", kind="standby"): 1,
        labels(group="x", kind="warmup"): 0,
    }
    assert {dict(one)["type"] for one in found["kcli_group_info"]} == {"classic", "share", "streams"}


def test_members_that_are_not_known_are_missing() -> None:
    one = reading(0, group("g", {P0: 3})._replace(description=None), ends={P0: 3})
    sample = one.sample._replace(undescribed={"g": UnsupportedError("group g cannot be described")})
    found = parsed(text_of(page_of(replace(one, sample=sample))))
    assert found["kcli_missing"] == {labels(what="members", reason="unsupported"): 1}


def test_each_metric_of_the_table_is_on_a_page_where_all_is_known_and_no_other() -> None:
    readings = [
        lacking(reading(at, *one_of_each_type(), ends={P0: 10, P1: 5}, **everything())) for at in (0, 30)
    ]
    names = {
        line.split()[2]
        for line in text_of(page_of(*readings, facts=ALL_FACTS), OPENMETRICS).splitlines()
        if line.startswith("# TYPE")
    }
    assert names == {metric.name for metric in METRICS} - {metric.name for metric in OF_HEALTH}


def test_states_are_sets_of_which_one_is_true() -> None:
    page = page_of(*(reading(at, group("g", {P0: 3}, "a"), ends={P0: 3}) for at in (0, 10)))
    found = parsed(text_of(page, OPENMETRICS), OPENMETRICS)
    states = {dict(one)["kcli_group_state"]: value for one, value in found["kcli_group_state"].items()}
    assert states == dict.fromkeys(STATES, 0) | {"Stable": 1}
    verdicts = {dict(one)["kcli_group_verdict"]: value for one, value in found["kcli_group_verdict"].items()}
    assert verdicts == dict.fromkeys(WORDS, 0) | {"ok": 1}


def test_a_state_that_is_not_in_the_table_is_added() -> None:
    found = parsed(text_of(page_of(reading(0, group("g", {P0: 3}, "a", state="Dreaming"), ends={P0: 3}))))
    assert found["kcli_group_state"][labels(group="g", kcli_group_state="Dreaming")] == 1
    assert sum(found["kcli_group_state"].values()) == 1


def test_what_is_not_known_has_no_sample() -> None:
    """No commit in P1, no leader of P2, no times, no members, one reading."""
    away = TopicPartition("t", 2)
    one = GroupSample("g", "Stable", group("g", {P0: 3, P1: None, away: 4}).committed)
    read = reading(0, one, ends={P0: 10, P1: 5})
    logs = {**read.ends, away: LogEnds(note="no leader")}
    read.sample.bounds.update(logs)  # type: ignore[attr-defined]
    found = parsed(text_of(page_of(read)))
    assert found["kcli_group_lag_records"] == {labels(group="g", topic="t", partition=0): 7}
    assert found["kcli_group_committed_offset"].keys() == {
        labels(group="g", topic="t", partition=n) for n in (0, 2)
    }
    absent = {
        "kcli_group_lag_seconds",
        "kcli_group_max_lag_seconds",
        "kcli_group_members",
    }
    assert not absent & found.keys()
    assert "nan" not in text_of(page_of(read)).lower()


def test_series_of_groups_topics_and_partitions_end_when_these_are_gone() -> None:
    board, pages = Board(), Pages(1_000_000)
    two = reading(0, group("g", {P0: 3, P1: 5}), group("h", {P0: 1}), ends={P0: 10, P1: 5})
    pages.of(board.add(two))
    text = text_of(pages.of(board.add(reading(15, group("g", {P0: 3}), ends={P0: 10}))))
    assert 'group="h"' not in text
    assert 'partition="1"' not in text
    assert 'group="g"' in text


def test_requests_of_brokers_are_counted_on_from_page_to_page() -> None:
    board, pages = Board(), Pages(1_000_000)
    first = reading(0, ends={}, latencies={1: Latency(4, 2.5, 7.0), 2: Latency(1, 1.0, 1.0)})
    second = reading(15, ends={}, latencies={1: Latency(6, 5.0, 9.0)})
    pages.of(board.add(first))
    found = parsed(text_of(pages.of(board.add(second)), OPENMETRICS), OPENMETRICS)
    one, two = labels(broker=1), labels(broker=2)
    assert found["kcli_broker_request_seconds_count"] == {one: 10, two: 1}
    assert found["kcli_broker_request_seconds_sum"] == {one: 0.04, two: 0.001}
    assert found["kcli_broker_max_request_seconds"] == {one: 0.009}, "nothing was measured of the other"


def test_series_of_a_broker_end_when_it_is_no_longer_registered() -> None:
    board, pages = Board(), Pages(1_000_000)
    pages.of(board.add(reading(0, ends={}, latencies={1: Latency(4, 2.5, 7.0), 2: Latency(1, 1.0, 1.0)})))
    one = ClusterFacts(ClusterDescription("c", 1, BROKERS[:1]))
    found = parsed(text_of(pages.of(board.add(reading(15, ends={}, cluster=one)))))
    assert found["kcli_broker_request_seconds_count"] == {labels(broker=1): 4}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_read_as_they_are(name: str, form: str) -> None:
    tp = TopicPartition(name, 0)
    found = parsed(text_of(page_of(reading(0, group(name, {tp: 3}, name), ends={tp: 10})), form), form)
    shown = name.replace("\udcff", "?")
    assert found["kcli_group_lag_records"] == {labels(group=shown, topic=shown, partition=0): 7}
    assert found["kcli_group_sum_lag_records"] == {labels(group=shown): 7}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_label_of_all_samples_is_on_each_whatever_names_are(name: str, form: str) -> None:
    """With those that have no other label, and with several texts whose families are together."""
    tp = TopicPartition(name, 0)
    read = reading(0, group(name, {tp: 3}, name), ends={tp: 10})
    texts = [page_of(read, label=f'cluster="{one}"').text for one in "ab"]
    found = parsed(b"".join(document(form, joined(texts, form))).decode(), form)
    plain = parsed(text_of(page_of(read), form), form)
    for metric, some in plain.items():
        both = {frozenset((*at, ("cluster", one))): value for at, value in some.items() for one in "ab"}
        assert found[metric] == both


def test_the_limit_leaves_out_partitions_first_and_whole_groups_by_name() -> None:
    groups = [group(name, {P0: 3, P1: 5}) for name in ("c", "a", "b")]
    read = reading(0, *groups, ends={P0: 10, P1: 5})
    whole = page_of(read, chosen=USUAL)
    assert whole.dropped == 0
    of_group = len(OF_GROUPS) + len(STATES) + len(WORDS) + 1
    of_partitions = 2 * (len(OF_PARTITIONS) + 1)
    page = page_of(read, most=3 * of_group + 2 * of_partitions, chosen=USUAL)
    assert page.dropped == of_partitions
    found = parsed(text_of(page))
    assert {dict(one)["group"] for one in found["kcli_group_sum_lag_records"]} == {"a", "b", "c"}
    assert {dict(one)["group"] for one in found["kcli_group_lag_records"]} == {"a", "b"}
    dropped = {dict(one)["collector"]: value for one, value in found["kcli_series_dropped"].items()}
    assert dropped == dict.fromkeys(USUAL, 0) | {"groups": of_partitions}
    least = page_of(read, most=2 * of_group, chosen=USUAL)
    assert {dict(one)["group"] for one in parsed(text_of(least))["kcli_group_sum_lag_records"]} == {"a", "b"}
    assert least.dropped == of_group + 3 * of_partitions
    kept = {
        name
        for name in parsed(text_of(page_of(read, most=1)))
        if name.startswith(("kcli_group", "kcli_topic"))
    }
    assert not kept


def test_a_page_never_has_more_series_than_its_limit() -> None:
    readings = [
        reading(at, group("g", {P0: 3, P1: 5}, "a"), ends={P0: 10, P1: 5}, **everything()) for at in (0, 30)
    ]
    own = page_of(*readings, most=1, facts=ALL_FACTS).text.samples
    for most in range(1, 100):
        assert page_of(*readings, most=most, facts=ALL_FACTS).text.samples - own <= most - 1


@pytest.mark.parametrize("form", FORMATS)
def test_a_compressed_page_is_the_same_page(form: str) -> None:
    page = page_of(reading(0, group("g", {P0: 3, P1: 5}), ends={P0: 10, P1: 5}, **everything()))
    parts = page.text.parts(form)
    packed = b"".join(gzipped(form, parts))
    assert gzip.decompress(packed) == b"".join(document(form, parts))
    one = zlib.decompressobj(16 + zlib.MAX_WBITS)  # as curl reads it: one member, nothing after it
    assert one.decompress(packed) == b"".join(document(form, parts))
    assert one.eof
    assert not one.unused_data


@pytest.mark.parametrize("form", FORMATS)
def test_a_scrape_makes_nothing_anew(form: str) -> None:
    """Neither text nor compressed blocks, which are most of the work: they are those of the sample."""
    page = page_of(reading(0, group("g", {P0: 3, P1: 5}), ends={P0: 10, P1: 5}, **everything()))
    first, second = page.text.parts(form), page.text.parts(form)
    assert len(first) > 20
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_openmetrics_ends_with_eof_and_the_classic_format_does_not() -> None:
    page = page_of(reading(0, ends={}))
    assert text_of(page, OPENMETRICS).endswith("\n# EOF\n")
    assert "# EOF" not in text_of(page, CLASSIC)


def test_labels_are_made_once_while_a_group_has_the_same_partitions() -> None:
    board, pages = Board(), Pages(1_000)
    read = reading(0, group("g", {P0: 3}), ends={P0: 10})
    pages.of(board.add(read))
    kept = pages._labels["g"][1]
    pages.of(board.add(reading(15, group("g", {P0: 4}), ends={P0: 10})))
    assert pages._labels["g"][1] is kept
    pages.of(board.add(reading(30, ends={})))
    assert not pages._labels


def test_no_labels_are_a_blank() -> None:
    assert labels_of((), ()) == " "
