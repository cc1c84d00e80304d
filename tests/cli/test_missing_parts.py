"""Everything that reads, where a coordinator and a leader are offline and a broker is away: what was asked for is what
was read and what is missing, by name or by place, and the exit code follows.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.hooks import NO_HOOKS
from kcli.core.names import java_hash
from kcli.core.options import ClientOptions
from kcli.core.permissions import AclOperation
from kcli.core.protocol.messages.describe_cluster import DescribeClusterRequest
from kcli.core.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.raw_client import batch
from tests.fake.script import FOREVER
from tests.run import Done, kcli

PARTITIONS = 5
"""Of ``__consumer_offsets`` and ``__transaction_state``."""
OFFLINE = 2
AWAY = 3
GROUPS = frozenset(f"g{number}" for number in range(10))
HOME = {group: java_hash(group.encode()) % PARTITIONS for group in GROUPS}
LOST = frozenset(group for group in GROUPS if HOME[group] == OFFLINE)

Document = dict[str, Any]
Names = set[str]


def made(nodes: int = 3, **settings: Any) -> FakeCluster:
    """``t`` has records in three partitions, which all groups have committed in."""
    topics = {"t": 3, "u": 1, "__consumer_offsets": PARTITIONS, "__transaction_state": PARTITIONS}
    cluster = FakeCluster(nodes, topics=topics, **settings)
    for number in range(3):
        cluster.append("t", number, batch(b"a", b"b"))
    commits = {TopicPartition("t", number): OffsetAndMetadata(1) for number in range(3)}
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        admin.commit_offsets(dict.fromkeys(sorted(GROUPS), commits))
    return cluster


@pytest.fixture(scope="module")
def broken() -> Iterator[FakeCluster]:
    """``t-1`` has no leader, ``t-2`` is at the broker that is away."""
    with made() as cluster:
        cluster.lose_coordinator("group", OFFLINE)
        cluster.lose_coordinator("transaction", OFFLINE)
        cluster.move_leader("t", 1, -1)
        cluster.set_isr("t", 1, [])
        cluster.stop(AWAY)
        yield cluster


def run(cluster: FakeCluster, line: str) -> Done:
    return kcli("--timeout", "0.7", *line.split(), bootstrap=cluster.bootstrap)


def away(cluster: FakeCluster) -> Names:
    """The groups of the broker that is away."""
    return {group for group in GROUPS if cluster.coordinator("group", group) == AWAY}


def groups_missing(cluster: FakeCluster, document: Document) -> Names:
    """By name, or by the place that is named."""
    found: Names = set()
    for part in document["missing"]:
        if part["what"] == f"the groups of broker {AWAY}":
            assert part["where"] == f"broker {AWAY}"
            found |= away(cluster)
        elif part["what"] == f"groups of 1 of {PARTITIONS} partitions of __consumer_offsets":
            assert (part["where"], part["why"]) == (f"__consumer_offsets-{OFFLINE}", "no leader")
            found |= LOST
        elif match := re.fullmatch(r"group (g\d)", part["what"]):
            found.add(match[1])
    return found


def partitions_missing(_cluster: FakeCluster, document: Document) -> Names:
    """Partitions of ``t`` whose offsets are not known."""
    return {
        f"t-{number}"
        for part in document["missing"]
        for numbers in re.findall(
            r"^(?:offsets|the offset|transactions) (?:of|in) .*\bt-([\d,]+)$", part["what"]
        )
        for number in numbers.split(",")
    }


def brokers_missing(_cluster: FakeCluster, document: Document) -> Names:
    return {found for part in document["missing"] for found in re.findall(r"broker \d", part["what"])}


def group_names(document: Document) -> Names:
    return {item["group"] for item in document["items"]}


def with_end(document: Document) -> Names:
    """Partitions of ``t`` whose end was read."""
    rows = [
        {"topic": item.get("name"), **row}
        for item in document["items"]
        for row in item.get("partitions") or [item]
    ]
    return {f"t-{row['partition']}" for row in rows if row["topic"] == "t" and row.get("end") is not None}


ALL_OF_T = {"t-0", "t-1", "t-2"}
BROKERS = {"broker 1", "broker 2", "broker 3"}
TABLE: list[tuple[str, Names, Callable[[Document], Names], Callable[[FakeCluster, Document], Names]]] = [
    ("groups list", set(GROUPS), group_names, groups_missing),
    ("groups list --with-lag", set(GROUPS), group_names, groups_missing),
    ("groups list --topic t", set(GROUPS), group_names, groups_missing),
    ("groups lag", set(GROUPS), group_names, groups_missing),
    ("groups lag --by partition", ALL_OF_T, with_end, partitions_missing),
    ("groups lag --time off g0 g1 g2 g3", {"g0", "g1", "g2", "g3"}, group_names, groups_missing),
    ("groups describe --all", set(GROUPS), group_names, groups_missing),
    ("groups describe --all", ALL_OF_T, with_end, partitions_missing),
    ("groups describe g0 g1 g2 g3", {"g0", "g1", "g2", "g3"}, group_names, groups_missing),
    ("topics describe t", ALL_OF_T, with_end, partitions_missing),
    ("topics offsets t", ALL_OF_T, with_end, partitions_missing),
    ("topics offsets", ALL_OF_T, with_end, partitions_missing),
    (
        "topics offsets t --time earliest",
        ALL_OF_T,
        lambda document: {
            f"t-{item['partition']}" for item in document["items"] if item["offset"] is not None
        },
        partitions_missing,
    ),
    (
        "cluster describe",
        BROKERS,
        lambda document: {
            f"broker {row['broker']}" for row in document["items"][0]["brokers"] if row["version"] is not None
        },
        brokers_missing,
    ),
    (
        "configs describe brokers 1 2 3",
        BROKERS,
        lambda document: {f"broker {item['name']}" for item in document["items"]},
        brokers_missing,
    ),
    ("txn list --topic t", {"t-1", "t-2"}, lambda _document: set(), partitions_missing),
]


@pytest.mark.parametrize(("line", "asked", "read", "missing"), TABLE)
def test_what_was_asked_for_is_what_was_read_and_what_is_missing(
    broken: FakeCluster,
    line: str,
    asked: Names,
    read: Callable[[Document], Names],
    missing: Callable[[FakeCluster, Document], Names],
) -> None:
    done = run(broken, f"{line} -o json")
    document = json.loads(done.out)
    assert done.code == 6, done.err
    assert document["complete"] is False
    got, lost = read(document), missing(broken, document)
    assert got | lost == asked, document["missing"]
    assert lost
    assert not got & lost
    assert {part["code"] for part in document["missing"]} == {3}


@pytest.mark.parametrize(
    "line",
    [
        "groups list",
        "groups lag",
        "groups describe --all",
        "groups export --all",
        "groups lag -o openmetrics",
    ],
)
def test_other_formats_have_a_message_for_each_part(broken: FakeCluster, line: str) -> None:
    done = run(broken, line)
    assert done.code == 6
    assert (
        f"kcli: groups of 1 of {PARTITIONS} partitions of __consumer_offsets are not listed\n  why: no leader\n"
        in done.err
    )
    assert f"kcli: listing the groups of broker {AWAY}: " in done.err


def test_transactional_ids_of_an_offline_coordinator_are_missing(broken: FakeCluster) -> None:
    done = run(broken, "txn list -o json")
    parts = {part["what"]: part["why"] for part in json.loads(done.out)["missing"]}
    assert done.code == 6
    assert parts[f"transactional ids of 1 of {PARTITIONS} partitions of __transaction_state"] == "no leader"
    assert f"the transactions of broker {AWAY}" in parts


def test_sizes_of_a_broker_that_is_away_are_missing(broken: FakeCluster) -> None:
    for line in ("topics list --with-size", "cluster describe --log-dirs"):
        done = run(broken, f"{line} -o json")
        assert done.code == 6
        assert "the log directories of broker 3" in [part["what"] for part in json.loads(done.out)["missing"]]


def test_openmetrics_counts_what_is_missing(broken: FakeCluster) -> None:
    assert "\nkcli_lag_missing_parts 4\n# EOF\n" in run(broken, "groups lag -o openmetrics").out


def test_an_export_says_in_its_first_lines_what_is_missing(broken: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "all"
    done = run(broken, f"groups export --all --file {path}")
    comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
    assert done.code == 6
    assert comments == path.read_text().splitlines()[:2]
    assert comments[0].startswith(f"# not complete: the groups of broker {AWAY}: ")
    assert (
        comments[1]
        == f"# not complete: groups of 1 of {PARTITIONS} partitions of __consumer_offsets: no leader"
    )
    done = run(broken, f"groups export --all --format ndjson --file {path}")
    head, *offsets = map(json.loads, path.read_text().splitlines())
    assert done.code == 6
    assert (head["kind"], head["complete"], len(head["missing"])) == ("OffsetExportHead", False, 2)
    assert {item["group"] for item in offsets} == GROUPS - LOST - away(broken)


@pytest.mark.parametrize("form", ["csv", "ndjson", "zookeeper"])
def test_an_import_reads_such_a_file(broken: FakeCluster, tmp_path: Path, form: str) -> None:
    path = tmp_path / "all"
    run(broken, f"groups export --all --format {form} --file {path}")
    with made() as whole:
        done = run(whole, f"groups import {path} --dry-run --force -o json")
    assert done.code == 0, done.err
    assert {item["group"] for item in json.loads(done.out)["items"]} == GROUPS - LOST - away(broken)


def test_a_sample_of_the_monitor_carries_what_is_missing(broken: FakeCluster) -> None:
    latencies = Latencies(NO_HOOKS)
    with Admin(ClientOptions(bootstrap_servers=broken.bootstrap), latencies.hooks, timeout=0.7) as admin:
        reading = Monitor(admin, latencies, Wanted()).read(View(topics=True))
    document = {"missing": [part.entry() for part in reading.missing]}
    assert groups_missing(broken, document) == LOST | away(broken)
    assert partitions_missing(broken, document) == {"t-1", "t-2"}


# --- where nothing could be read, and where nothing is missing ------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["groups list", "groups lag", "groups describe --all", "groups export --all"]
)
def test_without_any_coordinator_nothing_was_read(line: str) -> None:
    with made() as cluster:
        for number in range(PARTITIONS):
            cluster.lose_coordinator("group", number)
        done = run(cluster, line)
    assert (done.code, done.out) == (3, ""), done
    assert (
        f"groups of {PARTITIONS} of {PARTITIONS} partitions of __consumer_offsets are not listed" in done.err
    )


def test_offsets_of_which_none_can_be_read_exit_with_3(broken: FakeCluster) -> None:
    with made(1) as cluster:
        cluster.move_leader("u", 0, -1)
        cluster.set_isr("u", 0, [])
        assert run(cluster, "topics offsets u").code == 3


def test_an_election_is_awaited() -> None:
    with made() as cluster:
        cluster.move_leader("__consumer_offsets", OFFLINE, -1)

        def elect(_request: object) -> None:
            if len(cluster.seen(MetadataRequest)) > before + 3:
                cluster._state.topics.by_name["__consumer_offsets"].partitions[OFFLINE].lead(1)

        before = len(cluster.seen(MetadataRequest))
        cluster.intercept(MetadataRequest, elect)
        done = kcli("groups", "list", "-o", "json", bootstrap=cluster.bootstrap)
    document = json.loads(done.out)
    assert (done.code, document["complete"], document["missing"]) == (0, True, [])


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("groups list", "groups"),
        ("groups lag", "groups"),
        ("groups describe --all", "groups"),
        ("topics list", "topics"),
        ("topics offsets", "topics"),
        ("topics describe --match *", "topics"),
        ("consume ^t -n 1", "topics"),
        ("groups delete --match * --dry-run", "groups"),
        ("topics delete --match * --dry-run", "topics"),
    ],
)
def test_a_list_that_need_not_have_everything_has_a_warning(line: str, more: str) -> None:
    with made(cluster_operations=8096 & ~(1 << AclOperation.DESCRIBE)) as cluster:
        done = run(cluster, f"{line} -o json")
        asked = len(cluster.seen(DescribeClusterRequest))
        cluster.settings.cluster_operations = 8096
        quiet = run(cluster, f"{line} -o json")
        cluster.settings.cluster_operations = -(1 << 31)  # not reported
        unknown = run(cluster, f"{line} -o json")
    assert asked == 1
    assert done.code == 0
    assert json.loads(done.out)["complete"] is True
    assert any(text.startswith(f"there may be more {more}: ") for text in json.loads(done.out)["warnings"])
    for other in (quiet, unknown):
        assert json.loads(other.out)["warnings"] == []


def test_an_export_of_all_groups_does_not_claim_to_have_them(tmp_path: Path) -> None:
    with made(cluster_operations=0) as cluster:
        done = run(cluster, "groups export --all")
        named = run(cluster, "groups export g1 g2")
        limited = run(cluster, "groups lag --max-lag 5 -o json")
    assert done.code == 0
    assert done.out.startswith("# not complete: there may be more groups: ")
    assert named.out.startswith("g1,t,0,1\n")
    assert limited.code == 0
    assert "only lag that could be read was compared with the limit" in json.loads(limited.out)["warnings"]


def test_what_is_exported_compared_and_pruned_need_not_be_all(tmp_path: Path) -> None:
    """Also where something else is missing."""
    path = tmp_path / "all.yaml"
    warned = "there may be more topics: "
    with made(cluster_operations=0) as cluster:
        cluster.fail(DescribeUserScramCredentialsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
        exported = run(cluster, f"export topics users GroupOffsets --file {path}")
        asked = len(cluster.seen(DescribeClusterRequest))
        compared = run(cluster, f"diff {path} --only Topic --only User --prune -o json")
        planned = run(cluster, f"apply {path} --only Topic --prune --dry-run -o json")
    head = [line for line in path.read_text().splitlines() if line.startswith("# incomplete: ")]
    assert (exported.code, asked) == (6, 1)
    assert [line.split(": ")[1] for line in head] == [
        "all users could not be read",
        "there may be more topics",
        "there may be more groups",
    ]
    assert (compared.code, planned.code) == (6, 0)
    for done in (compared, planned):
        assert any(text.startswith(warned) for text in json.loads(done.out)["warnings"])


def test_coordinators_that_may_not_be_described_are_a_warning() -> None:
    with made(hidden_topics=frozenset({"__consumer_offsets"})) as cluster:
        done = run(cluster, "groups list -o json")
    (warning,) = json.loads(done.out)["warnings"]
    assert warning.startswith("there may be more groups: without DESCRIBE on topic __consumer_offsets")


def test_records_that_may_not_be_read_are_missing_in_the_document() -> None:
    with FakeCluster(1, topics={"open": 1, "hidden": 1}, hidden_topics=frozenset({"hidden"})) as cluster:
        cluster.append("open", 0, batch(b"a"))
        done = run(cluster, "consume open hidden -e -o json")
        whole = run(cluster, "consume open -e -o json")
    document = json.loads(done.out)
    assert (done.code, len(document["items"]), document["complete"]) == (6, 1, False)
    assert [part["code"] for part in document["missing"]] == [4]
    assert (whole.code, json.loads(whole.out)["complete"], json.loads(whole.out)["missing"]) == (0, True, [])
