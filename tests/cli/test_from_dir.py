"""``--from-dir``: log directories in place of brokers. The folders are written by the test; no broker takes part."""

import _socket
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake.cluster import FakeCluster
from tests.run import Done, kcli
from tests.segments import ABORT, BASE, COMMIT, batch, marker, name, offsets, write

META = "version=1\ncluster.id=PbGyl2NxQ-2mFZgWY0gxDg\nnode.id=3\n"


def directory(path: Path, **partitions: list[bytes]) -> Path:
    """A log directory with the batches of ``orders_0`` in its folder ``orders-0``."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "meta.properties").write_text(META)
    for spelled, batches in partitions.items():
        write(path / spelled.replace("_", "-"), batches)
    return path


def plain(count: int = 40, *, first: int = 0, codec: int = 0) -> list[bytes]:
    """Batches of two records, ``v0`` to ``v79``."""
    return [
        batch(at, [b"v%d" % at, b"v%d" % (at + 1)], codec=codec) for at in range(first, first + 2 * count, 2)
    ]


def consume(path: Path | list[Path], *more: str, topic: str = "orders") -> Done:
    paths = [
        word for one in (path if isinstance(path, list) else [path]) for word in ("--from-dir", str(one))
    ]
    return kcli("consume", topic, *paths, *more)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return directory(tmp_path / "data", orders_0=plain(), orders_1=plain(5, codec=4), other_0=plain(1))


def test_nothing_connects_and_no_port_is_opened(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(_socket, "getaddrinfo", refuse)
    for method in ("connect", "connect_ex", "bind", "listen"):
        monkeypatch.setattr(socket.socket, method, refuse)
    done = consume(data)
    assert (done.code, done.err) == (0, "")
    values = [f"v{at}" for at in range(80)] + [f"v{at}" for at in range(10)]
    assert sorted(done.out.splitlines()) == sorted(values)


def test_who_asks_brokers_does_not_load_it() -> None:
    """Clients, and the command that has the option."""
    code = (
        "import sys, kcli.commands.consume.run, kcli.core.admin.admin, kcli.core.producer.producer\n"
        "from kcli.core.cluster.cluster import Cluster\n"
        "from kcli.core.options import ClientOptions\n"
        "Cluster(ClientOptions(bootstrap_servers='h:1')).close()\n"
        "print([one for one in sys.modules if one.startswith(('kcli.core.offline', 'kcli.core.logdir'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["-p", "0", "--count"], "80\n"),
        (["--count", "--by", "partition"], None),
        (["-p", "0", "--offset", "17:20"], "v17\nv18\nv19\n"),
        (["-p", "0", "--offset", "-2"], "v78\nv79\n"),
        (["-p", "0", "--since", f"@{BASE + 77}"], "v77\nv78\nv79\n"),
        (["-p", "0", "--until", f"@{BASE + 2}"], "v0\nv1\n"),
        (["--tail", "1", "-p", "1"], "v9\n"),
        (["--grep", "v:^v7[01]$"], "v70\nv71\n"),
        (["-p", "1", "-n", "1", "-f", "%t %p %o %s\n"], "orders 1 0 v0\n"),
        (["-p", "0", "-e", "--select", "offset", "-n", "1"], None),
        (["--offset", "latest"], ""),
    ],
)
def test_what_is_chosen(data: Path, words: list[str], out: str | None) -> None:
    done = consume(data, *words)
    assert done.code == 0, done.err
    assert out is None or done.out == out
    assert out is not None or done.out


def test_a_folder_of_a_partition_and_a_single_segment(tmp_path: Path) -> None:
    folder = tmp_path / "orders-7"
    write(folder, plain(10))
    write(folder, plain(10, first=20))
    assert consume(folder, "--count").out == "40\n"
    assert consume(folder / name(20), "--count").out == "20\n"
    one = consume(folder / name(20), "-n", "1", "-o", "ndjson")
    assert (one.code, json.loads(one.out)["partition"], json.loads(one.out)["offset"]) == (0, 7, 20)


@pytest.mark.parametrize(
    "folders", [["orders-7"], ["orders-0", "orders-7"], ["orders-0", "orders-1", "orders-7"]]
)
def test_a_key_is_found_in_whatever_partition_is_left(tmp_path: Path, folders: list[str]) -> None:
    """How many partitions the topic has is not known, so nor is which of them the key belongs to."""
    for at, folder in enumerate(folders):
        write(tmp_path / folder, plain(2, first=10 * at))
    for at in range(len(folders)):
        done = consume(tmp_path, "--key", f"k{10 * at + 3}")
        assert (done.out, "reading partition" in done.err) == (f"v{10 * at + 3}\n", False)


def test_an_export_lacks_a_partition_in_every_run_and_not_only_in_the_first(tmp_path: Path) -> None:
    disk = directory(tmp_path / "data", orders_0=plain(2), orders_2=plain(3))
    words = ["orders", str(tmp_path / "out"), "--from-dir", str(disk), "--runner", "inline"]
    for more in ([], [], ["-p", "0-2"], ["-p", "0-2"]):
        where = [words[0], words[1] + "".join(more), *words[2:], *more]
        done = kcli("pipeline", "export", *where, "--format", "ndjson", "-o", "json")
        report = json.loads(done.out)
        assert (done.code, report["complete"], report["totals"]["records"]) == (6, False, 10), done.err
        assert [one["what"].split()[0] for one in report["missing"]] == ["orders-1"]


def test_a_mirror_copies_what_is_left_and_reports_the_rest(tmp_path: Path) -> None:
    disk = directory(tmp_path / "data", orders_0=plain(2), orders_2=plain(3))
    with FakeCluster(1, topics={}, cluster_id="there") as target:
        words = ["--from-dir", str(disk), "--to", target.bootstrap, "-t", "orders", "--until-caught-up"]
        done = kcli("mirror", *words, "--checkpoint", str(tmp_path / "at"), "--yes")
        assert (done.code, "orders-1 is not in log directory" in done.err) == (6, True), done.err
        assert [len(target.log("orders", number).values()) for number in range(3)] == [4, 0, 6]


@pytest.mark.parametrize("topic", ["payments", "^pay", "payments*"])
def test_what_the_directories_do_not_have_is_not_looked_for_in_a_cluster(data: Path, topic: str) -> None:
    done = consume(data, topic=topic)
    assert (done.code, done.out) == (1, "")
    assert "`kcli segments list PATH`" in done.err
    assert "cluster" not in done.err


def test_without_a_topic_all_that_is_there_is_read_but_internal_topics(tmp_path: Path) -> None:
    disk = tmp_path / "kafka-0"
    for folder, count in (("orders-7", 3), ("sales-0", 5), ("__consumer_offsets-1", 2)):
        write(disk / folder, plain(count))
    (disk / "meta.properties").write_text("version=1\n")
    for given, counted in (
        ([disk], {"orders": 6, "sales": 10}),
        ([disk / "orders-7"], {"orders": 6}),
        ([disk / "orders-7", disk / "sales-0" / name(0)], {"orders": 6, "sales": 10}),
        ([disk / "__consumer_offsets-1"], {"__consumer_offsets": 4}),
    ):
        words = [word for path in given for word in ("--from-dir", str(path))]
        done = kcli("consume", *words, "--count", "--by", "topic", "-o", "json")
        assert {one["topic"]: one["count"] for one in json.loads(done.out)["items"]} == counted, given
    nothing = kcli("consume", "--from-dir", str(tmp_path / "gone"), "--count")
    assert "there is no such file or folder" in nothing.err


def test_aborted_and_open_transactions_are_left_out(tmp_path: Path) -> None:
    def transactional(offset: int, producer: int, value: bytes) -> bytes:
        return batch(offset, [value], producer=producer, transactional=True)

    data = directory(
        tmp_path,
        orders_0=[
            transactional(0, 1, b"committed"),
            transactional(1, 2, b"aborted"),
            marker(2, 1, COMMIT),
            marker(3, 2, ABORT),
            batch(4, [b"plain"]),
            transactional(5, 3, b"open"),
            batch(6, [b"behind"]),
        ],
    )
    assert consume(data).out == "committed\nplain\n"
    every = consume(data, "--isolation-level", "read_uncommitted")
    assert every.out == "committed\naborted\nplain\nopen\nbehind\n"


@pytest.mark.parametrize("before", [[], [batch(0, [b"v0"])], [batch(0, [b"v0"]), batch(1, [b"v1"])]])
def test_reading_ends_where_all_before_an_open_transaction_was_compacted_away(
    tmp_path: Path, before: list[bytes]
) -> None:
    is_open = batch(9, [b"open"], producer=3, transactional=True)
    one = directory(tmp_path / "one", orders_0=[*before, is_open])
    two = directory(tmp_path / "two", orders_0=before or [batch(0, [b"v0"])])
    write(two / "orders-0", [is_open], base=5)
    for data, count in ((one, len(before)), (two, len(before) or 1)):
        done = consume(data, "--idle-timeout", "100s")
        assert (done.code, done.out.split()) == (0, [f"v{n}" for n in range(count)])
        assert consume(data, "--tail", "5").out.split() == [f"v{n}" for n in range(count)]


def test_a_partition_that_is_not_there_is_missing(tmp_path: Path) -> None:
    data = directory(tmp_path, orders_0=plain(), orders_2=plain(1))
    done = consume(data, "-o", "json", "--count")
    assert done.code == 6
    document = json.loads(done.out)
    assert [one["what"] for one in document["missing"]] == [f"orders-1 is not in log directory {data}"]
    assert document["items"] == [{"count": 82}]
    assert consume(data, "--count", "-p", "2").code == 0
    assert consume(data, "--count", "-p", "1").code == 6
    several = consume(data, "--count", "-p", "1,2")
    assert (several.code, several.out) == (6, "2\n")


def test_a_torn_tail_and_records_above_the_high_watermark_are_noted(tmp_path: Path) -> None:
    data = directory(tmp_path, orders_0=plain())
    write(data / "orders-1", plain(2), tail=batch(4, [b"lost"])[:30])
    (data / "replication-offset-checkpoint").write_bytes(offsets([("orders", 0, 70)]))
    done = consume(data, "--count")
    assert (done.code, done.out) == (0, "84\n")
    assert "orders-1 ends at offset 4: 30 of" in done.err
    assert "orders-0: offsets 70 to 79 are above the last high watermark" in done.err


def test_damage_is_named_with_file_and_position(tmp_path: Path) -> None:
    batches = plain(10)
    position = sum(map(len, batches[:4]))
    flipped, length = bytearray(b"".join(batches)), bytearray(b"".join(batches))
    flipped[position + 70] ^= 1
    length[position + 8 : position + 12] = b"\x7f\xff\xff\xff"
    for kind, damaged in (("flipped", flipped), ("length", length)):
        data = directory(tmp_path / kind, orders_0=batches)
        file = data / "orders-0" / name(0)
        file.write_bytes(damaged)
        done = consume(data)
        assert done.code == 5
        assert done.out == "".join(f"v{at}\n" for at in range(8))
        assert f"orders-0: {file} at byte {position}" in done.err
        skipped = consume(data, "-X", "on.corrupt=skip", "--count")
        assert (skipped.code, skipped.out) == (0, "18\n")
        assert "offsets 8 to 9" in skipped.err


def test_what_is_lost_between_two_segments(tmp_path: Path) -> None:
    data = directory(tmp_path, orders_0=plain(10))
    write(data / "orders-0", plain(10, first=30))
    done = consume(data, "--count")
    assert (done.code, done.out) == (0, "40\n")
    assert f"orders-0: offsets 20 to 29 are missing before {name(30)}, unless compaction" in done.err
    file = data / "orders-0" / name(0)
    file.write_bytes(file.read_bytes()[:-10])
    done = consume(data)
    assert done.code == 5
    assert str(file) in done.err


def test_of_several_replicas_the_newest_is_read(tmp_path: Path) -> None:
    first = directory(tmp_path / "a", orders_0=plain(10))
    second = directory(tmp_path / "b", orders_0=plain(12))
    (second / "meta.properties").write_text(META.replace("node.id=3", "node.id=4"))
    done = consume([first, second], "--count")
    assert (done.code, done.out) == (0, "24\n")
    assert f"orders-0 is read from {second / 'orders-0'}, of 2 replicas" in done.err


def test_an_expectation_is_decided_at_the_ends_of_the_logs(data: Path) -> None:
    assert consume(data, "--expect", "90").code == 0
    assert consume(data, "--expect", "91").code == 8


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (["-b", "h:1"], 2, "--from-dir and -b together"),
        (["-X", "bootstrap.servers=h:1"], 2, "--from-dir and -X bootstrap.servers together"),
        (["-X", "security.protocol=SSL"], 2, "security.protocol (-X) has no effect"),
        (["-X", "sasl.password_file=x"], 2, "sasl.password_file (-X) has no effect"),
        (["-g", "billing"], 2, "consume: --group with --from-dir"),
        (["-X", "group.id=billing"], 2, "group.id=billing and --from-dir together"),
        (["--tail", "1", "--follow"], 2, "consume: --follow with --from-dir"),
        (["--rack", "a"], 2, "consume: --rack with --from-dir"),
        (["--from-dir", ""], 2, "--from-dir ''"),
        (["--from-dir", "a,b"], 2, "--from-dir 'a,b'"),
        (["-p", "9"], 1, "topic orders has no partition 9"),
        (["--offset", "999"], 5, "offset 999 is out of range"),
    ],
)
def test_what_has_no_meaning_is_refused(data: Path, words: list[str], code: int, what: str) -> None:
    done = consume(data, *words)
    assert (done.code, done.out) == (code, ""), done.err
    assert what in done.err


def test_other_sources_that_name_brokers_are_not_used(data: Path) -> None:
    done = kcli("consume", "orders", "--from-dir", str(data), "--count", bootstrap="h:1")
    assert (done.code, done.out) == (0, "90\n")


def test_a_profile_may_name_directories(data: Path, tmp_path: Path) -> None:
    home = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    added = kcli("profile", "add", "dead", "-X", f"log.dirs={data}", **home)
    assert added.code == 0, added.err
    assert kcli("consume", "orders", "--profile", "dead", "--count", **home).out == "90\n"
    refused = kcli("produce", "orders", "--profile", "dead", "--value", "x", **home)
    assert refused.code == 7, refused.err
    assert "log directories are only read" in refused.err


@pytest.mark.parametrize("what", ["nothing", "empty", "text"])
def test_a_path_without_logs(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "empty":
        path.mkdir()
    elif what == "text":
        path.write_text("text")
    done = consume(path)
    assert (done.code, done.out) == (2 if what == "nothing" else 1, "")
    assert f"{path} cannot be read" in done.err


def test_one_of_several_paths_that_cannot_be_read_is_missing(data: Path, tmp_path: Path) -> None:
    done = consume([data, tmp_path / "nothing"], "--count", "-o", "json")
    assert done.code == 6, done.err
    document = json.loads(done.out)
    assert (document["items"], document["complete"]) == ([{"count": 90}], False)
    assert [one["what"] for one in document["missing"]] == [f"{tmp_path / 'nothing'} is not read"]


def test_a_topic_of_more_partitions_than_files_may_be_open(tmp_path: Path) -> None:
    for number in range(300):
        write(tmp_path / f"orders-{number}", plain(1))
        write(tmp_path / f"orders-{number}", plain(1, first=2))
    line = f'ulimit -n 160; exec "{sys.executable}" -m kcli consume orders --from-dir {tmp_path} --count'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1200\n"), done.stderr


def test_two_clusters_are_refused(tmp_path: Path) -> None:
    one, other = (directory(tmp_path / name, orders_0=plain(1)) for name in ("a", "b"))
    (other / "meta.properties").write_text(META.replace("PbGyl", "AbGyl"))
    done = consume([one, other])
    assert done.code == 2
    assert "belong to 2 clusters" in done.err


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (["query", "orders", "select 1 from source", "--follow"], "query: --follow with --from-dir"),
        (["pipeline", "export", "orders", "{}/x", "--continuous"], "--continuous with --from-dir"),
        (
            ["pipeline", "mirror", "--to", "h:1", "-t", "orders", "--continuous", "--runner", "inline"],
            "--continuous with --from-dir",
        ),
        (["mirror", "--from", "h:2", "--to", "h:1", "-t", "orders"], "--from and --from-dir together"),
        (
            ["pipeline", "verify", "--from", "h:2", "--to", "h:1", "-t", "orders", "--runner", "inline"],
            "--from and --from-dir together",
        ),
    ],
)
def test_jobs_refuse_what_has_no_meaning(data: Path, line: list[str], what: str) -> None:
    done = kcli(*(word.format(data) for word in line), "--from-dir", str(data))
    assert done.code == 2
    assert what in done.err


@pytest.mark.parametrize("line", [["mirror"], ["pipeline", "mirror"], ["pipeline", "verify"]])
def test_a_source_is_required(line: list[str]) -> None:
    done = kcli(*line, "--to", "h:1", "-t", "orders")
    assert done.code == 2
    assert "missing option --from" in done.err


def test_damage_that_may_hide_the_end_of_a_transaction_is_named(tmp_path: Path) -> None:
    """Of an open transaction, what follows is held back; a marker behind damage might have ended it."""
    batches = [
        batch(0, [b"before"]),
        batch(1, [b"a"], producer=1, transactional=True),
        batch(2, [b"damaged"]),
        marker(3, 1, COMMIT),
    ]
    data = directory(tmp_path, orders_0=batches)
    file = data / "orders-0" / name(0)
    raw = bytearray(file.read_bytes())
    raw[sum(map(len, batches[:2]))] ^= 0x40  # its offset is far too high: nothing follows it
    file.write_bytes(raw)
    done = consume(data)
    assert (done.code, done.out) == (6, "before\n")
    assert "orders-0: where its transactions begin and end is not known everywhere" in done.err
    assert file.name in done.err


def test_what_nobody_can_know_of_the_brokers_is_not_made_up(data: Path) -> None:
    profile = ("-X", f"log.dirs={data}")
    listed = kcli("brokers", "list", *profile, "-o", "json")
    document = json.loads(listed.out)
    assert [(one["broker"], one["state"]) for one in document["items"]] == [(3, "unknown")]
    for line, why in {
        ("configs", "describe", "brokers", "3"): "the metadata log",
        ("groups", "list"): "__consumer_offsets",
        ("groups", "describe", "g"): "__consumer_offsets",
        ("groups", "lag", "g"): "__consumer_offsets",
        ("txn", "describe", "t"): "__transaction_state",
        ("acls", "list"): "the metadata log",
        ("tokens", "list"): "the metadata log",
    }.items():
        done = kcli(*line, *profile)
        assert done.code == 6, done
        assert f"none of the log directories has a partition of {why}" in done.err or (
            f"none of the log directories has {why}" in done.err
        ), done.err
