"""Offsets in ZooKeeper without one: names, hosts, what may be set, what is told when somebody comes in between."""

from pathlib import Path

import pytest

from kcli.commands.shared.words import parse_topic_partitions
from kcli.core.errors import (
    AuthError,
    ConfigError,
    ConnectError,
    KcliError,
    NotFoundError,
    OutcomeUnknownError,
)
from kcli.files.journal_folder import JournalError
from kcli.flows.rewind.plan import NotPossibleError
from kcli.flows.transfer.formats.recognise import parse_offsets
from kcli.flows.transfer.importing import ImportRequest, import_targets
from kcli.flows.transfer.saved_offset import SavedOffset
from kcli.flows.transfer.zookeeper.importing import NodeReport, execute_nodes, survey_nodes
from kcli.flows.transfer.zookeeper.offset_node import OffsetNode, is_node_name, parse_name, parse_path
from kcli.flows.transfer.zookeeper.planning import NodePlan
from kcli.flows.transfer.zookeeper.read_groups import cluster_id, export_zookeeper, partitions_of
from kcli.flows.transfer.zookeeper.session import Hosts, Write, ZooKeeper, parse_hosts
from tests.zookeeper_nodes import Nodes

ORDERS = "/consumers/billing/offsets/orders"
TOPIC = "/brokers/topics/orders"


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Nodes:
    """``billing`` has read two of three partitions of ``orders``."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = Nodes()
    found.put(TOPIC, '{"version":1,"partitions":{"0":[1],"1":[1],"2":[1]}}')
    found.put(f"{ORDERS}/0", 12)
    found.put(f"{ORDERS}/1", 99)
    return found


def plan_of(nodes: Nodes, text: str, *, force: bool = False, group: str | None = None) -> NodePlan:
    chosen = import_targets(parse_offsets(text.encode(), "file"), ImportRequest(group, force=force))
    return survey_nodes(as_session(nodes), chosen, "the offsets in file", 0, force=force)


def carried_out(nodes: Nodes, plan: NodePlan) -> tuple[NodeReport, bool]:
    (report,), kept = execute_nodes(as_session(nodes), plan, before_write=lambda _has_backup: None)
    return report, kept


def as_session(nodes: Nodes) -> ZooKeeper:
    return nodes  # type: ignore[return-value]


def lines(**offsets: int) -> str:
    return "".join(f"{ORDERS}/{name[1:].replace('_', '-')}:{offset}\n" for name, offset in offsets.items())


# --- names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hosts", "shown"),
    [
        ("zk1", Hosts((("zk1", 2181),)), "zk1:2181"),
        ("a:1,10.0.0.1/kafka/", Hosts((("a", 1), ("10.0.0.1", 2181)), "/kafka"), "a:1,10.0.0.1:2181/kafka"),
        ("[::1]:1, zk2/a/b", Hosts((("::1", 1), ("zk2", 2181)), "/a/b"), "[::1]:1,zk2:2181/a/b"),
        ("zk1/", Hosts((("zk1", 2181),)), "zk1:2181"),
    ],
)  # fmt: skip
def test_hosts_are_written_as_zookeeper_connect(text: str, hosts: Hosts, shown: str) -> None:
    assert parse_hosts(text) == hosts
    assert str(hosts) == shown


@pytest.mark.parametrize("text", ["", "/kafka", "zk1,", "zk1:0", "zk1:65536", "zk1:x", "::1", "a b"])
def test_what_names_no_host_is_an_error_of_usage(text: str) -> None:
    with pytest.raises(ConfigError, match="not HOST or HOST:PORT"):
        parse_hosts(text)


@pytest.mark.parametrize("text", ["zk1/..", "zk1/a//b", "zk1/a\x01", "zk1/a/./b"])
def test_a_chroot_that_no_node_can_be_is_an_error_of_usage(text: str) -> None:
    with pytest.raises(ConfigError, match="does not accept the name"):
        parse_hosts(text)


def test_names_of_both_layouts() -> None:
    assert parse_name("3") == (-1, 3)
    assert parse_name("1-3") == (1, 3)
    for name in ("03", "1-03", "-3", "1-2-3", "x", "", "1-", "٣", "9999999999"):
        assert parse_name(name) is None, name
    assert parse_path("/consumers/a:b/offsets/t/1-3") == ("a:b", "t", 1, 3)
    assert parse_path("/consumers/a/owners/t/3") is None
    for place in (OffsetNode("g", "t", -1, 3), OffsetNode("g", "t", 1, 3)):
        assert parse_path(place.path) == place
    assert not any(map(is_node_name, ("", "a/b", ".", "..", "a\0", "\x7f")))


# --- reading ---------------------------------------------------------------------------------------------


def test_an_export_leaves_nothing_out_silently(nodes: Nodes) -> None:
    nodes.put(f"{ORDERS}/x", 1)
    nodes.put("/consumers/billing/offsets/no topic/0", 1)
    nodes.put("/consumers/billing/offsets/refunds/0", "soon")
    nodes.put("/consumers/old/offsets/orders/1-0", " 7\n")
    nodes.put("/consumers/shut/offsets/orders/0", 1)
    nodes.put("/cluster/id", '{"version":"1","id":"Qx3"}')
    nodes.broken["/consumers/shut/offsets"] = AuthError("shut")
    export = export_zookeeper(as_session(nodes), None, lambda _where: True, at_ms=5)
    assert export.offsets == (
        SavedOffset("orders", 0, 12, group="billing", cluster="Qx3", at_ms=5),
        SavedOffset("orders", 1, 99, group="billing", cluster="Qx3", at_ms=5),
        SavedOffset("orders", 0, 7, group="old", cluster="Qx3", at_ms=5, broker=1),
    )
    assert sorted(str(part.error) for part in export.missing) == [
        "/consumers/billing/offsets/no topic/0 is not an offset: its name is not that of a partition",
        "/consumers/billing/offsets/orders/x is not an offset: its name is not that of a partition",
        "/consumers/billing/offsets/refunds/0 contains no offset: the offset 'soon' is not a whole number from 0 to "
        "9223372036854775807",
        "shut",
    ]


def test_names_that_are_no_partitions_are_reported_with_the_topic(nodes: Nodes) -> None:
    nodes.put(f"{ORDERS}/x", 1)

    def errors(scope: str) -> int:
        chosen = parse_topic_partitions(scope)
        return len(export_zookeeper(as_session(nodes), None, lambda tp: tp in chosen, at_ms=5).missing)

    assert [errors(scope) for scope in ("orders", "orders:0", "refunds")] == [1, 0, 0]


def test_groups_that_do_not_exist_get_the_nearest_names(nodes: Nodes) -> None:
    nodes.put("/consumers/none/ids")
    export = export_zookeeper(as_session(nodes), ["biling", "none"], lambda _where: True, at_ms=5)
    ((_, _, error),) = export.missing
    assert (type(error), error.do) == (NotFoundError, "did you mean billing?")
    empty = export_zookeeper(as_session(nodes), ["none"], lambda _where: True, at_ms=5)
    assert (empty.empty, empty.groups, empty.missing) == (("none",), 1, ())
    with pytest.raises(NotFoundError, match="has no groups"):
        export_zookeeper(as_session(Nodes()), None, lambda _where: True, at_ms=5)


@pytest.mark.parametrize("data", ["", "[]", "{", '{"id":3}', "[" * 100_000])
def test_an_invalid_cluster_id_is_unknown(nodes: Nodes, data: str) -> None:
    nodes.put("/cluster/id", data)
    assert cluster_id(as_session(nodes)) == ""


def test_partitions_of_topics(nodes: Nodes) -> None:
    nodes.put("/brokers/topics/old/1", "4")
    known = partitions_of(as_session(nodes), ["orders", "old", "nope"])
    assert known == {"orders": frozenset((0, 1, 2)), "old": None}
    assert partitions_of(as_session(Nodes()), ["orders"]) is None


# --- the plan --------------------------------------------------------------------------------------------


def test_what_no_consumer_would_read_is_refused(nodes: Nodes) -> None:
    text = lines(p0=1, p3=1, p1_0=5) + "/consumers/billing/offsets/nope/0:1\n"
    (group,) = plan_of(nodes, text).groups
    told = {str(item.node): item.refusal and item.refusal.why for item in group.items}
    assert told == {
        "orders-0": None,
        "orders-3": "the topic has 3 partitions",
        "orders 1-0": "the topic's partitions are those of Kafka 0.8 or later, the file's of 0.7",
        "nope-0": "the brokers of this ZooKeeper have no topic nope",
    }
    del nodes.there[TOPIC]
    (group,) = plan_of(nodes, text).groups
    assert not group.refused, "where no brokers are registered nothing is known"
    nodes.put(f"{TOPIC}/1", "4")
    (group,) = plan_of(nodes, lines(p0=1, p1_0=5)).groups
    assert [str(item.node) for item in group.refused] == ["orders-0"]


def test_offsets_of_another_cluster_need_force(nodes: Nodes) -> None:
    nodes.put("/cluster/id", '{"id":"here"}')
    text = '{"kind":"OffsetExport","group":"billing","topic":"orders","partition":0,"offset":1,"cluster":"there"}\n'
    (group,) = plan_of(nodes, text).groups
    assert group.items[0].refusal is not None
    assert group.items[0].refusal.exit_code == 7
    (group,) = plan_of(nodes, text, force=True).groups
    assert group.items[0].note == "forced: the file is of cluster there, this is here"


def test_names_that_no_node_can_have_are_refused(nodes: Nodes) -> None:
    plan = plan_of(nodes, "orders,0,1\n", group="a/b")
    assert not plan.possible
    assert "does not accept that name for a node" in str(plan.groups[0].refusal)


def test_a_group_with_consumers_is_refused(nodes: Nodes) -> None:
    nodes.put("/consumers/billing/ids/billing_host-1", "{}")
    plan = plan_of(nodes, lines(p0=1))
    assert not plan.possible
    assert plan.groups[0].refusal is not None
    assert plan.groups[0].refusal.exit_code == 7
    assert "billing_host-1" in plan.groups[0].refusal.why


# --- carried out -----------------------------------------------------------------------------------------


def test_offsets_are_set_by_version_and_the_old_ones_kept(nodes: Nodes) -> None:
    nodes.put(f"{ORDERS}/1", 100)
    plan = plan_of(nodes, lines(p0=1, p1=2, p2=3))
    there_before: list[bool] = []
    nodes.before_write = lambda: there_before.append(Path(plan.backup).exists())
    report, kept = carried_out(nodes, plan)
    assert [(one.status, one.found) for one in report.outcomes] == [
        ("verified", 1),
        ("verified", 2),
        ("verified", 3),
    ]
    assert nodes.writes == [
        Write(f"{ORDERS}/0", b"1", 0),
        Write(f"{ORDERS}/1", b"2", 1),
        Write(f"{ORDERS}/2", b"3", None),
    ]
    assert kept
    assert there_before == [True]
    assert Path(plan.backup).read_text() == lines(p0=12, p1=100)
    report, _kept = carried_out(nodes, plan_of(nodes, Path(plan.backup).read_text()))
    assert report.count("verified") == 2
    assert (nodes.text(f"{ORDERS}/0"), nodes.text(f"{ORDERS}/1")) == ("12", "100")


def test_both_partitions_0_of_two_brokers_are_set(nodes: Nodes) -> None:
    del nodes.there[TOPIC]
    report, kept = carried_out(nodes, plan_of(nodes, lines(p1_0=5, p2_0=6), group="new"))
    assert report.count("verified") == 2
    assert nodes.text("/consumers/new/offsets/orders/2-0") == "6"
    assert not kept


def test_a_change_between_plan_and_write_stops_the_group(nodes: Nodes) -> None:
    plan = plan_of(nodes, lines(p0=1, p1=2))
    nodes.put(f"{ORDERS}/1", 101)
    report, kept = carried_out(nodes, plan)
    assert isinstance(report.error, NotPossibleError)
    assert "orders-1 was at 99, now it is at 101" in report.error.why
    assert (nodes.writes, kept, report.count("refused")) == ([], False, 2)
    assert [outcome.found for outcome in report.outcomes] == [12, 101]
    plan = plan_of(nodes, lines(p0=1))
    nodes.put("/consumers/billing/ids/one", "{}")
    report, _kept = carried_out(nodes, plan)
    assert "has consumers" in str(report.error)


@pytest.mark.case("S1-16")
def test_a_change_in_the_last_moment_is_not_overwritten(nodes: Nodes) -> None:
    plan = plan_of(nodes, lines(p0=1, p1=2))
    nodes.before_write = lambda: nodes.put(f"{ORDERS}/1", 101)
    report, kept = carried_out(nodes, plan)
    assert [(one.status, one.found) for one in report.outcomes] == [("verified", 1), ("failed", 101)]
    assert nodes.text(f"{ORDERS}/1") == "101"
    assert kept


def test_nothing_is_kept_where_nothing_was_set(nodes: Nodes) -> None:
    plan = plan_of(nodes, lines(p0=1))
    nodes.before_write = lambda: nodes.put(f"{ORDERS}/0", 13)
    _report, kept = carried_out(nodes, plan)
    assert not kept
    assert not Path(plan.backup).exists()


def test_nothing_is_kept_where_every_offset_was_there_already(nodes: Nodes) -> None:
    plan = plan_of(nodes, lines(p0=12, p1=99))
    report, kept = carried_out(nodes, plan)
    assert (report.count("verified"), kept) == (2, False)
    assert not Path(plan.backup).exists()
    assert carried_out(nodes, plan_of(nodes, lines(p0=12, p1=98)))[1]


def test_an_overwritten_offset_and_a_late_consumer_are_seen(nodes: Nodes) -> None:
    def others() -> None:
        nodes.put(f"{ORDERS}/0", 14)
        nodes.put("/consumers/billing/ids/late", "{}")

    nodes.after_write = others
    report, kept = carried_out(nodes, plan_of(nodes, lines(p0=1)))
    assert [(one.status, one.found) for one in report.outcomes] == [("overwritten", 14)]
    assert "late" in str(report.error)
    assert report.error is not None
    assert report.error.exit_code == 7
    assert kept


@pytest.mark.parametrize(("found", "status"), [(1, "verified"), (12, "unknown")])
def test_a_write_without_a_response_is_read_back(nodes: Nodes, found: int, status: str) -> None:
    nodes.write_error = OutcomeUnknownError("no answer")
    nodes.after_write = lambda: nodes.put(f"{ORDERS}/0", found)
    report, kept = carried_out(nodes, plan_of(nodes, lines(p0=1)))
    assert [(one.status, one.found) for one in report.outcomes] == [(status, found)]
    assert kept


def test_a_connection_lost_behind_the_write_leaves_the_outcome_unknown(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(_paths: object) -> dict[str, KcliError]:
        raise ConnectError("lost")

    def lose() -> None:
        monkeypatch.setattr(nodes, "nodes", lost)
        monkeypatch.setattr(nodes, "children", lost)

    nodes.after_write = lose
    report, kept = carried_out(nodes, plan_of(nodes, lines(p0=1)))
    assert [(one.status, one.found) for one in report.outcomes] == [("unknown", None)]
    assert (str(report.error), kept) == ("lost", True)


def test_nothing_is_set_where_the_old_offsets_cannot_be_kept(nodes: Nodes, tmp_path: Path) -> None:
    plan = plan_of(nodes, lines(p0=1))
    (tmp_path / "kcli").write_text("a file is in the way")
    with pytest.raises(JournalError, match="cannot store the old offsets"):
        carried_out(nodes, plan)
    assert nodes.writes == []
