"""Brokers die one by one where ``__consumer_offsets`` has one replica: whatever shows groups has read each of them, or
says that it is missing, by its name or by the partition that its coordinator is.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from kcli.core import Admin
from kcli.core.hooks import NO_HOOKS
from kcli.core.options import ClientOptions
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.exporter.page import Page, Pages
from kcli.flows.groups.commit_times import offsets_partition
from kcli.flows.lag.sample import Wanted
from kcli.flows.monitor.board import Board
from kcli.flows.monitor.cluster_reading import View
from kcli.flows.monitor.latencies import Latencies
from kcli.flows.monitor.monitor import Monitor
from kcli.flows.monitor.snapshot import Snapshot
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import batch
from tests.run import kcli
from tests.unit.exporter.pages import parsed, text_of

PARTITIONS = 6
GROUPS = frozenset(f"g{number:02}" for number in range(12))
HOME = {group: offsets_partition(group, PARTITIONS).partition for group in GROUPS}
TIMEOUT = 0.7


def broker_of(partition: int) -> int:
    return partition % 3 + 1


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Each group has committed in all three partitions of ``t``, each of which is at one broker only."""
    with FakeCluster(3) as made:
        made.create_topic("__consumer_offsets", PARTITIONS, replication=1)
        made.create_topic("t", 3, replication=1)
        for number in range(3):
            made.append("t", number, batch(b"a", b"b"))
        commits = {TopicPartition("t", number): OffsetAndMetadata(1) for number in range(3)}
        with Admin(bootstrap_servers=made.bootstrap) as admin:
            admin.commit_offsets(dict.fromkeys(sorted(GROUPS), commits))
        yield made


def notice(cluster: FakeCluster, node: int) -> None:
    """The controller has fenced a broker that was killed."""
    for number in range(PARTITIONS):
        if broker_of(number) == node:
            cluster.lose_coordinator("group", number)
    cluster.fail_over(node)


def named_missing(parts: Sequence[Mapping[str, Any]]) -> set[str]:
    """The groups that the entries of ``missing`` are about: by name, by broker, or by partition."""
    found: set[str] = set()
    for part in parts:
        what, where = part["what"], part["where"] or ""
        if match := re.fullmatch(r"group (\w+)", what):
            found.add(match[1])
        elif match := re.fullmatch(r"the groups of broker (\d)", what):
            found |= {group for group in GROUPS if broker_of(HOME[group]) == int(match[1])}
        elif match := re.fullmatch(r"groups of (\d) of (\d) partitions of __consumer_offsets", what):
            homes = [int(one) for one in where.removeprefix("__consumer_offsets-").split(",")]
            assert [int(one) for one in match.groups()] == [len(homes), PARTITIONS]
            found |= {group for group in GROUPS if HOME[group] in homes}
    return found


def printed(cluster: FakeCluster, line: str) -> tuple[int, set[str], set[str]]:
    """Exit code, groups that were read, groups that are missing."""
    done = kcli("--timeout", str(2 * TIMEOUT), *line.split(), bootstrap=cluster.bootstrap)
    if "export" in line:
        items = [json.loads(text) for text in done.out.splitlines()]
        whole = items[0]["kind"] != "OffsetExportHead"  # the first line of a file that lacks something
        head = {"complete": True, "missing": []} if whole else items.pop(0)
    else:
        head = json.loads(done.out)
        items = head["items"]
    assert head["complete"] == (not head["missing"])
    return done.code, {item["group"] for item in items}, named_missing(head["missing"])


LINES = ("groups list -o json", "groups list --with-lag -o json", "groups lag -o json")
EXPORT = "groups export --all --format ndjson"


def check_printed(cluster: FakeCluster, lost: set[str]) -> None:
    for line in (*LINES, EXPORT):
        code, read, missing = printed(cluster, line)
        assert read == GROUPS - lost, line
        assert lost <= missing, line
        assert (code == 6) == bool(missing), line


def test_what_is_printed_has_each_group_or_says_that_it_is_missing(cluster: FakeCluster) -> None:
    check_printed(cluster, set())
    lost: set[str] = set()
    for node in (3, 2):
        cluster.stop(node)
        lost |= {group for group in GROUPS if broker_of(HOME[group]) == node}
        check_printed(cluster, lost)
        notice(cluster, node)
        check_printed(cluster, lost)
    code, read, missing = printed(cluster, f"groups lag --by group {' '.join(sorted(GROUPS))} -o json")
    assert (code, read, missing) == (6, GROUPS - lost, lost), "groups that are named are missing by name"


def check_shown(snapshot: Snapshot, page: Page, lost: set[str], down: int) -> None:
    """What the screen and the exporter have: names are known from the sample before."""
    shown = {line.group for line in snapshot.groups}
    unread = {line.group: line for line in snapshot.unread}
    assert shown == GROUPS - lost
    assert unread.keys() == lost
    for name, line in unread.items():
        assert (line.verdict, line.summary.lag) == ("unread", None)
        assert line.last is not None
        assert line.last.lag == broker_of(HOME[name]), (
            "broker 3 is killed while all partitions are there, 2 after it"
        )
        assert line.age is not None
    assert bool(snapshot.lacks) == bool(lost)
    assert sum(one.broker.state == "online" for one in snapshot.brokers) == 3 - down
    assert len(snapshot.brokers) == 3
    found = parsed(text_of(page))
    assert page.complete == (not lost)
    assert len(found["kcli_group_partitions"]) == len(shown)
    counted = found.get("kcli_missing", {})
    assert sum(count for at, count in counted.items() if ("what", "group") in at) == len(lost)
    assert bool(counted) == bool(lost)


def test_the_screen_and_the_exporter_keep_the_names_of_the_sample_before(cluster: FakeCluster) -> None:
    latencies, board, pages = Latencies(NO_HOOKS), Board(), Pages(1_000_000)
    with Admin(ClientOptions(bootstrap_servers=cluster.bootstrap), latencies.hooks, timeout=TIMEOUT) as admin:
        monitor = Monitor(admin, latencies, Wanted())

        def check(lost: set[str], down: int) -> None:
            snapshot = board.add(monitor.read(View()))
            check_shown(snapshot, pages.of(snapshot), lost, down)

        check(set(), 0)
        lost: set[str] = set()
        for down, node in enumerate((3, 2), 1):
            cluster.stop(node)
            lost |= {group for group in GROUPS if broker_of(HOME[group]) == node}
            check(lost, down - 1)  # the controller has not noticed it: only its groups are missing
            notice(cluster, node)
            check(lost, down)
            check(lost, down)


def test_a_group_that_no_broker_lists_is_missing_unless_it_was_deleted(cluster: FakeCluster) -> None:
    """While a coordinator moves, no broker lists its groups, none reports an error, and each partition has a leader."""
    with Admin(bootstrap_servers=cluster.bootstrap, timeout=TIMEOUT) as admin:
        monitor = Monitor(admin, Latencies(NO_HOOKS), Wanted())
        assert monitor.read(View()).sample.names == GROUPS
        assert admin.delete_groups(["g01"]) == {"g01": None}
        rest = GROUPS - {"g01"}
        assert (monitor.read(View()).sample.names, monitor.read(View()).missing) == (rest, [])
        cluster.move_coordinator("group", "g00", -1)
        sample = monitor.read(View()).sample
        assert ({one.group for one in sample.groups}, set(sample.failed)) == (rest - {"g00"}, {"g00"})
        cluster.move_coordinator("group", "g00", 1)
        assert (monitor.read(View()).sample.names, monitor.read(View()).missing) == (rest, [])
