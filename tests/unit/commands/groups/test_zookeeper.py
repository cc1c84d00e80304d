"""``--zookeeper`` of export and import against nodes in memory: what is shown, asked, told, and the exit codes."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kcli.cli import cli
from kcli.commands.groups import _zookeeper
from kcli.commands.shared.global_values import GlobalValues
from kcli.core.errors import AuthError, ConfigError
from kcli.core.extras import installation
from kcli.flows.transfer.zookeeper import session
from kcli.flows.transfer.zookeeper.session import parse_hosts
from tests.printed_json import check_printed
from tests.zookeeper_nodes import Nodes

ORDERS = "/consumers/billing/offsets/orders"


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Nodes:
    """``billing`` of today, ``old`` of Kafka 0.7."""
    found = Nodes()
    found.put(f"{ORDERS}/0", 12)
    found.put(f"{ORDERS}/1", 99)
    found.put("/consumers/old/offsets/orders/1-0", 5000)
    monkeypatch.setattr(_zookeeper, "ZooKeeper", lambda _hosts, **_options: found)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return found


def kcli(verb: str, *arguments: str, stdin: str = "") -> Result:
    done = CliRunner().invoke(
        cli,
        ["groups", verb, "--zookeeper", "zk1", *arguments],
        input=stdin,
        obj=GlobalValues(),
        standalone_mode=False,
    )
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    check_printed(done.stdout, done.stderr)
    return done


def kept(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "state/kcli/zookeeper").glob("*"))


# --- export ----------------------------------------------------------------------------------------------


def test_export_in_each_form(nodes: Nodes) -> None:
    assert kcli("export", "billing").stdout == "orders,0,12\norders,1,99\n"
    (item, _other) = map(json.loads, kcli("export", "billing", "--format", "ndjson").stdout.splitlines())
    assert (item["group"], item["offset"], item["cluster"], item["topic_id"]) == ("billing", 12, None, None)
    done = kcli("export", "--all", "--format", "zookeeper")
    assert done.return_value == 0
    assert done.stdout == f"{ORDERS}/0:12\n{ORDERS}/1:99\n/consumers/old/offsets/orders/1-0:5000\n"
    assert kcli("export", "--all", "--format", "zookeeper", "-t", "orders:1").stdout == f"{ORDERS}/1:99\n"
    assert not nodes.is_open


def test_partitions_of_brokers_are_left_out_of_forms_without_brokers(nodes: Nodes, tmp_path: Path) -> None:
    done = kcli("export", "--all")
    assert (done.return_value, done.stdout) == (
        6,
        "# not complete: 1 offset of group old left out: Kafka 0.7 counted partitions by broker, and csv has no column "
        "for a broker\nbilling,orders,0,12\nbilling,orders,1,99\n",
    )
    assert "1 offset of group old left out" in done.stderr
    assert "do: --format zookeeper" in done.stderr
    done = kcli("export", "old", "--file", str(tmp_path / "old.csv"))
    assert (done.return_value, list(tmp_path.glob("*.csv"))) == (1, [])


def test_an_unreadable_file_is_reported(nodes: Nodes) -> None:
    nodes.broken[f"{ORDERS}/0"] = AuthError("shut")
    done = kcli("export", "billing")
    assert (done.return_value, done.stdout) == (6, "# not complete: shut\norders,1,99\n")
    assert "shut" in done.stderr


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("export", ("a", "--with-time")),
        ("export", ("a", "--with-time", "--format", "zookeeper")),
        ("import", ("f", "--by", "time")),
        ("import", ("f", "--clamp")),
    ],
)
def test_what_only_brokers_know_is_an_error_of_usage(nodes: Nodes, verb: str, words: tuple[str, ...]) -> None:
    with pytest.raises(Exception, match=f"groups {verb}: "):
        kcli(verb, *words)


def test_without_kazoo_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kazoo.client", None)
    with pytest.raises(ConfigError, match="needs a library") as caught:
        kcli("export", "billing")
    assert caught.value.do == installation("zookeeper")
    with pytest.raises(ConfigError, match="needs a library"):
        session.ZooKeeper(parse_hosts("zk1"), timeout=1)


# --- import ----------------------------------------------------------------------------------------------

LINES = f"{ORDERS}/0:7\n{ORDERS}/1:120\n{ORDERS}/2:1\n"


def test_a_dry_run_shows_the_plan_and_sets_nothing(nodes: Nodes, tmp_path: Path) -> None:
    done = kcli("import", "-", "--dry-run", stdin=LINES)
    assert done.return_value == 0
    assert done.stdout == (
        "Import into group billing in ZooKeeper at zk1\n"
        "  to: the offsets in stdin\n"
        "  TOPIC   PART  OLD  NEW  CHANGE  NOTE\n"
        "  orders     0   12    7      −5\n"
        "  orders     1   99  120     +21\n"
        "  orders     2    -    1       -\n"
        "  3 partitions to be set.\n"
        "Group state: no consumer is running.\n"
        "The old offsets will be stored in a file first; importing that file restores them.\n"
        "1 partition had no offset: the new offset stays until its node is deleted.\n"
    )
    assert (nodes.writes, kept(tmp_path)) == ([], [])
    items = json.loads(kcli("import", "-", "--dry-run", "-o", "json", stdin=LINES).stdout)["items"]
    assert items[0] == {
        "group": "billing",
        "topic": "orders",
        "broker": None,
        "partition": 0,
        "committed": 12,
        "new": 7,
        "change": -5,
        "records": None,
        "note": None,
        "action": "commit",
        "status": "planned",
    }


def test_nothing_is_set_without_an_answer(nodes: Nodes) -> None:
    with pytest.raises(Exception, match="confirmation required"):
        kcli("import", "-", stdin=LINES)
    assert nodes.writes == []


def test_an_import_that_changes_nothing_offers_no_undo(nodes: Nodes, tmp_path: Path) -> None:
    same = f"{ORDERS}/0:12\n{ORDERS}/1:99\n"
    assert (
        "Nothing will change, and there will be nothing to undo."
        in kcli("import", "-", "--dry-run", stdin=same).stdout
    )
    done = kcli("import", "-", "--yes", stdin=same)
    assert (done.return_value, kept(tmp_path)) == (0, [])
    assert "ndo with" not in done.stderr


SAME = f"{ORDERS}/0:12\n{ORDERS}/1:99\n"


@pytest.mark.parametrize(
    ("text", "code", "statuses"),
    [
        (SAME, 0, ["unchanged", "unchanged"]),
        (f"{SAME}/consumers/old/offsets/orders/1-0:5000\n", 0, ["unchanged", "unchanged", "unchanged"]),
        (f"{SAME}{ORDERS}/7:1\n", 6, ["unchanged", "unchanged", "refused"]),
    ],
)
def test_an_import_that_changes_nothing_asks_nobody(
    nodes: Nodes, tmp_path: Path, text: str, code: int, statuses: list[str]
) -> None:
    if code:
        nodes.put("/brokers/topics/orders", '{"version":1,"partitions":{"0":[1],"1":[1]}}')
    done = kcli("import", "-", "-o", "json", stdin=text)
    assert done.return_value == code, done.stderr
    assert "nothing is to be changed: group billing is as requested" in done.stderr
    assert "undo with" not in done.stderr
    assert sorted(row["status"] for row in json.loads(done.stdout)["items"]) == sorted(statuses)
    assert (nodes.writes, kept(tmp_path)) == ([], [])


def test_an_import_that_changes_one_of_several_offsets_asks(nodes: Nodes) -> None:
    with pytest.raises(Exception, match="confirmation required"):
        kcli("import", "-", stdin=f"{SAME}{ORDERS}/2:1\n")


def test_an_import_is_reported_and_can_be_undone(nodes: Nodes, tmp_path: Path) -> None:
    done = kcli("import", "-", "--yes", "-o", "json", stdin=LINES)
    assert done.return_value == 0
    report = json.loads(done.stdout)
    (path,) = kept(tmp_path)
    assert report["kind"] == "OffsetImportReport"
    assert report["items"][0] == {
        "group": "billing",
        "topic": "orders",
        "broker": None,
        "partition": 0,
        "committed": 12,
        "new": 7,
        "found": 7,
        "status": "done",
        "note": None,
        "reason": None,
        "action": "commit",
        "undo": str(path),
    }
    assert f"undo with: kcli groups import --zookeeper zk1 {path}" in done.stderr
    assert "group billing: 3 partitions set and read back" in done.stderr
    assert kcli("import", str(path), "--yes").return_value == 0
    assert [nodes.text(f"{ORDERS}/{number}") for number in range(3)] == ["12", "99", "1"]


def test_csv_of_one_group_and_another_topic(nodes: Nodes) -> None:
    with pytest.raises(ConfigError, match="does not name its group"):
        kcli("import", "-", "--yes", stdin="orders,0,7\n")
    refused = kcli("import", "-", "--group", "new", "--map-topic", "orders=o2", "--yes", stdin="orders,0,7\n")
    assert refused.return_value == 7
    assert "it is an offset of topic orders" in refused.stderr
    words = ("--group", "new", "--map-topic", "orders=o2", "--force", "--yes")
    assert kcli("import", "-", *words, stdin="orders,0,7\n").return_value == 0
    assert nodes.text("/consumers/new/offsets/o2/0") == "7"


def test_some_refused_partitions_exit_with_6_and_only_missing_ones_with_1(nodes: Nodes) -> None:
    nodes.put("/brokers/topics/orders", '{"partitions":{"0":[1]}}')
    done = kcli("import", "-", "--yes", stdin=LINES)
    assert done.return_value == 6
    assert "orders-1 and 1 more refused: the topic has 1 partition; leave it out with -t" in done.stderr
    done = kcli("import", "-", "--yes", stdin=f"{ORDERS}/1:1\n{ORDERS}/2:2\n")
    assert done.return_value == 1
    assert "orders-1 and 1 more do not exist" in done.stderr
    assert [one.path for one in nodes.writes] == [f"{ORDERS}/0"]


def test_a_group_with_consumers_is_refused_and_the_rest_done(nodes: Nodes) -> None:
    nodes.put("/consumers/old/ids/old_host-1", "{}")
    done = kcli("import", "-", "--yes", stdin=f"{ORDERS}/0:7\n/consumers/old/offsets/orders/1-0:1\n")
    assert done.return_value == 7
    assert "group old has consumers (1) in ZooKeeper" in done.stderr
    assert "Proceed?" not in done.stderr
    assert (nodes.text(f"{ORDERS}/0"), nodes.text("/consumers/old/offsets/orders/1-0")) == ("7", "5000")


def test_concurrent_changes_are_reported(nodes: Nodes, tmp_path: Path) -> None:
    nodes.before_write = lambda: nodes.put(f"{ORDERS}/1", 100)
    nodes.after_write = lambda: nodes.put(f"{ORDERS}/0", 13)
    done = kcli("import", "-", "--yes", "-o", "ndjson", stdin=LINES)
    assert done.return_value == 7
    assert [json.loads(line)["status"] for line in done.stdout.splitlines()] == [
        "failed",
        "failed",
        "done",
    ]
    assert [json.loads(line)["reason"] for line in done.stdout.splitlines()] == ["overwritten", None, None]
    assert "1 of 3 partitions of group billing were overwritten" in done.stderr
    assert "another client has set it to 13" in done.stderr
    assert len(kept(tmp_path)) == 1


def test_an_interrupted_import_names_the_way_back(nodes: Nodes) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    nodes.before_write = interrupt
    runner = CliRunner()
    done = runner.invoke(
        cli,
        ["groups", "import", "--zookeeper", "zk1", "-", "--yes"],
        input=LINES,
        obj=GlobalValues(),
        standalone_mode=False,
    )
    assert done.exception is not None
    assert "offsets may have been set; undo with: kcli groups import --zookeeper zk1 " in done.stderr
    assert not nodes.is_open
