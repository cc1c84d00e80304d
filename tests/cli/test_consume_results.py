"""``consume`` with what it makes of records: fields, counts, the latest of each key, samples, expectations."""

import errno
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core import Producer
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import ProducerRecord
from kcli.flows.consume import buckets, counting, distinct, latest
from tests.cli.test_consume import PROMPT, put
from tests.fake.cluster import FakeCluster
from tests.run import Done, kcli

VALUES = [
    json.dumps(
        {"id": n, "who": {"id": n % 3, "name": f"N{n}"}, "items": [{"sku": f"a{n}"}], "ok": n % 2 == 0}
    ).encode()
    for n in range(20)
]
ODD = ((b"x", b"not json"), (None, b"{}"), (b"x", None), (b"\xff\xfe", b"\xff\0"), (b"y", b'{"a":1,"a":2}'))


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2, "u": 1, "empty": 1}) as found:
        put(found, "t", 0, *((b"k%d" % (n % 5), value) for n, value in enumerate(VALUES)))
        put(found, "t", 1, *ODD)
        put(found, "u", 0, (b"a", b"1\t2"), (b"a", b"back\\slash"), (b"b", b"two\nlines"))
        yield found


def consume(cluster: FakeCluster, line: str, code: int = 0) -> Done:
    done = kcli("consume", *shlex.split(line), *PROMPT, bootstrap=cluster.bootstrap)
    assert done.code == code, done.err
    return done


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("t -e -p 0 -n 2 --select 'key,value.who.id as w,value.items[0].sku,value.ok,value.x,offset'",
         ["k0\t0\ta0\ttrue\t\t0", "k1\t1\ta1\tfalse\t\t1"]),
        ("t -e -p 0 -n 1 --select value.who", ['{"id":0,"name":"N0"}']),
        ("t -e -p 0 -n 1 --select value.x --null-marker NULL", ["NULL"]),
        ("t -e -p 0 -n 1 --select key,value.x --null-marker NULL -D ';'", ["k0\tNULL;"]),
        ("u -e --select value", ["1\t2", "back\\slash", "two", "lines"]),
        ("u -e --select key,value", ["a\t1\\t2", "a\tback\\\\slash", "b\ttwo\\nlines"]),
        ("t -e -p 0 -n 1 -o csv --select 'key,value.who,headers.n'",
         ["key,value.who,headers.n", 'k0,"{""id"":0,""name"":""N0""}",0']),
        ("t -e -p 0 -n 1 -o ndjson --select 'headers,hour,time,value.ok as ok'",
         ['{"headers":[["n","0"]],"hour":"2023-11-14T22:00Z","time":"2023-11-14T22:13:20.000Z","ok":true}']),
        ("t -e -p 0 -n 2 -o table --select 'key,value.items[0].sku'", ["KEY  value.items[0].sku", "k0   a0", "k1   a1"]),
        ("t -e -p 0 -n 1 -s value=json -o ndjson --select value.who.name", ['{"value.who.name":"N0"}']),
        ("t --count", ["25"]),
        ("empty --count", ["0"]),
        ("t --count -p 1", ["5"]),
        ("t --count --offset 3:7 -p 0", ["4"]),
        ("t --count -n 8", ["8"]),
        ("t --count --key k1 --all-partitions", ["4"]),
        ("t --count --where value.ok", ["10"]),
        ("t --count --grep '!k:k'", ["5"]),
        ("t --count --sample 1/10", ["3"]),
        ("t --count --by partition -o csv", ["partition,count", "0,20", "1,5"]),
        ("t --count --by 'value.who.id as w' -p 0 -o csv", ["w,count", "0,7", "1,7", "2,6"]),
        ("t --count --by key --top 2 -o csv", ["key,count", "k0,4", "k1,4"]),
        ("t --count --by topic,headers.n --top 1 -o csv", ["topic,headers.n,count", "t,0,2"]),
        ("t --count --by hour -o csv", ["hour,count", "2023-11-14T22:00Z,25"]),
        ("t --count --by timestamp_type,leader_epoch -o csv", ["timestamp_type,leader_epoch,count", "CreateTime,0,25"]),
        ("t --latest-per-key -p 0 --select offset", ["15", "16", "17", "18", "19"]),
        ("t --latest-per-key -p 0 --offset :12 --select offset", ["7", "8", "9", "10", "11"]),
        ("t --latest-per-key -p 1 --select offset", ["3", "4"]),
        ("t --latest-per-key --with-tombstones -p 1 --select offset", ["2", "3", "4"]),
        ("t --latest-per-key --where 'value.who.id == `1`' --select offset", ["16", "19"]),
        ("t --latest-per-key --count", ["7"]),
        ("t --latest-per-key -p 0 -n 2 --select offset", ["15", "16"]),
        ("t --latest-per-key --merge --select offset", ["3", "4", "15", "16", "17", "18", "19"]),
        ("t -e -p 0 --distinct value.who.id", ["0", "1", "2"]),
        ("t -e -p 0 --distinct value.who.id --select offset,value.who.id", ["0\t0", "1\t1", "2\t2"]),
        ("t -e -p 0 --distinct value.who.id -f '%o\\n'", ["0", "1", "2"]),
        ("t -e -p 0 --distinct value.ok --where 'value.id > `6`' --select offset", ["7", "8"]),
        ("t --count --distinct key", ["9"]),
        ("t -e -p 0 --sample 1/5 --select offset", ["0", "5", "10", "15"]),
        ("t -e -p 0 --sample 1/1 --select offset --tail 2", None),
        ("t --tail 2 --follow -n 2 --select offset", ["18", "19"]),
        ("t -e -p 0 -n 1 -f '%T{iso} %v{.who.id} %v{.items[0].sku} %v{[0]} %v{.x}\\n' --null-marker N",
         ["2023-11-14T22:13:20.000Z 0 a0 N N"]),
        ("t -e -p 1 -n 2 -f '%v{.a}|%d{iso}\\n'", ["|2023-11-14T22:13:21.000Z", "|2023-11-14T22:13:31.000Z"]),
        ("t -e -p 0 -n 1 -s value=json -f '%v{.who}\\n'", ['{"id":0,"name":"N0"}']),
        ("t --tail 2 --follow --idle-timeout 200ms --select offset", ["18", "19"]),
    ],
)  # fmt: skip
def test_what_is_printed(cluster: FakeCluster, line: str, printed: list[str] | None) -> None:
    done = consume(cluster, line, 0 if printed is not None else 2)
    assert done.out.splitlines() == (printed or [])


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("t -e --expect 25 --select offset", 0, ""),
        ("t -e --expect 20..30 --select offset", 0, ""),
        ("t -e --expect 26.. --select offset", 8, "expected at least 26 records, read 25"),
        ("t -e --expect 24 --select offset", 8, "expected 24 records, read 25"),
        ("t -e --expect 0..1 --select offset", 8, "expected 0 to 1 record, read 25"),
        ("t --count --expect 25", 0, ""),
        ("t --count --expect 1", 8, "expected 1 record, read 25"),
        ("empty -e --expect 0", 0, ""),
        ("empty -e --expect 1..", 8, "expected at least 1 record, read 0"),
        ("t --tail 3 --expect 3 --select offset", 0, ""),
        ("t --key k1 --all-partitions --expect 1.. --within 1m", 0, ""),
        ("t --select offset --expect 1..5 --within 1m", 8, "expected 1 to 5 records, read 6"),
        ("t --key nix --all-partitions --expect 1.. --within 200ms", 8, "expected at least 1 record, read 0"),
        ("t --key k1 --all-partitions --expect 4 --within 300ms", 0, ""),
        (
            "t --tail 2 --follow --expect 3.. --within 300ms --select offset",
            8,
            "expected at least 3 records, read 2",
        ),
        ("t -e --expect 3.. -n 2 --select offset", 8, "expected at least 3 records, read 2"),
    ],
)
def test_what_is_expected(cluster: FakeCluster, line: str, code: int, said: str) -> None:
    assert said in consume(cluster, line, code).err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("t --by key", "--by without --count"),
        ("t --count --top 3", "--top without --by"),
        ("t --with-tombstones", "--with-tombstones without --latest-per-key"),
        ("t --follow", "--follow without --tail"),
        ("t -e --within 3s", "--within without --expect"),
        ("t --expect 3", "--expect without an end"),
        ("t --tail 2 --follow --expect 3", "--expect without an end"),
        ("t --tail 2 -n 3", "--tail and --max-messages together"),
        ("t --tail 2 --follow -e", "--follow and -e together"),
        ("t --count --tail 2", "--count and --tail together"),
        ("t --count -f %k", "--count and -f together"),
        ("t --count -J", "--count and -J together"),
        ("t --count --select key", "--count and --select together"),
        ("t --count -o raw", "--count with -o raw"),
        ("t --count -g g", "together"),
        ("t --latest-per-key -g g", "together"),
        ("t --latest-per-key --tail 2", "together"),
        ("t --latest-per-key --sample 1/2", "together"),
        ("t --latest-per-key --idle-timeout 3s", "together"),
        ("t --select key -f %k", "--select and -f together"),
        ("t --select key --raw", "--select and --raw together"),
        ("t --select key -o hex", "--select with -o hex"),
        ("t --select key --print-control", "together"),
        ("t --select nix", "there is no field 'nix'"),
        ("t --distinct nix", "--distinct 'nix' is not a list of fields"),
        ("t --count --by nix", "--by 'nix' is not a list of fields"),
        ("t --count --by 'key as count'", "names a field count"),
        ("t -f '%z'", "there are %t %p %o"),
        ("t -f '%v{.a b}'", "'b' is not expected after 'value.a'"),
        ("t -f '%v{nix}'", "there are base64, hex, json, and paths such as .a.b"),
        ("t --sample 5", "'5' is not a sample"),
        ("t --sample 1/0", "is not a sample"),
        ("t -e --expect -1", "is not a number of records"),
        ("t -e --expect 5..2", "ends before it begins"),
        ("t -e --expect ..2", "is not a number of records"),
    ],
)
def test_what_is_refused(cluster: FakeCluster, line: str, said: str) -> None:
    done = consume(cluster, line, 2)
    assert said in done.err
    assert done.out == ""


def test_what_cannot_be_looked_into_is_said(cluster: FakeCluster) -> None:
    done = consume(cluster, "t -e -p 1 -o json --select key,value.a")
    assert json.loads(done.out)["items"][3] == {"key": "//4=", "value.a": None}
    assert (
        "--select: null in place of paths into 3 keys or values; the first: t-1@0: it is not JSON" in done.err
    )
    assert "1 cell not UTF-8, in base64" in done.err
    done = consume(cluster, "t --latest-per-key -p 1 --select offset")
    assert "1 record without a key: left out" in done.err
    assert "1 key whose last record is a tombstone: left out (--with-tombstones)" in done.err


def test_documents(cluster: FakeCluster) -> None:
    found = json.loads(consume(cluster, "t --count --by value.ok -p 0 -o json").out)
    assert (found["kind"], found["items"]) == (
        "RecordCountList",
        [{"value.ok": False, "count": 10}, {"value.ok": True, "count": 10}],
    )
    assert json.loads(consume(cluster, "t --count -o json").out)["items"] == [{"count": 25}]
    assert consume(cluster, "empty -e --select key -o json").out.count('"items":[') == 1


def test_a_count_that_an_error_ends_is_none() -> None:
    """A number would claim to be all of them; a document says that it is not."""
    with FakeCluster(1, topics={"t": 1}) as found:
        put(found, "t", 0, *((b"k", b"v") for _ in range(5)))
        for line, printed in (("t --count", 0), ("t --count --by key", 0), ("t --count -o json", 1)):
            found.fail(FetchRequest, TOPIC_AUTHORIZATION_FAILED)
            done = consume(found, line, 4)
            assert bool(done.out) == bool(printed)
        assert json.loads(done.out)["complete"] is False


def test_latest_records_that_are_gone_at_the_second_reading_are_missing() -> None:
    """Compaction keeps what is the last record of its key, but the range need not end where the log does."""
    with FakeCluster(1, topics={"t": 1}) as found:
        put(found, "t", 0, (b"a", b"1"), (b"b", b"2"), (b"c", b"3"))
        put(found, "t", 0, (b"a", b"4"), (b"b", b"5"))
        found.intercept(FetchRequest, lambda _request: found.compact("t", 0), times=1, after=1)
        done = consume(found, "t --offset :3 --latest-per-key -o ndjson --select key", 6)
        assert done.out == '{"key":"c"}\n'
        assert "2 records of the 3 that are the last of their keys are gone" in done.err


SPILLING = (
    "t --count --by key",
    "t --count --by key --top 1",
    "t --latest-per-key --select key",
    "t -e --distinct key",
)


@pytest.fixture(params=["no folder", "no permission to write", "disk full"])
def no_room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Memory holds three keys, and nothing is kept outside of it; returns why."""
    for module in (counting, distinct, latest):
        monkeypatch.setattr(module, "IN_MEMORY", 3)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nix" if request.param == "no folder" else tmp_path))
    if request.param == "no folder":
        return os.strerror(errno.ENOENT)
    code = errno.ENOSPC if request.param == "disk full" else errno.EACCES

    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(code, os.strerror(code))

    where = "kcli.files.scratch.os.pwrite" if request.param == "disk full" else "tempfile.TemporaryFile"
    monkeypatch.setattr(where, refuse)
    return os.strerror(code)


@pytest.mark.parametrize("line", SPILLING)
@pytest.mark.parametrize("form", ["csv", "json"])
def test_without_room_for_what_memory_does_not_hold_there_is_no_result(
    no_room: str, line: str, form: str
) -> None:
    with FakeCluster(1, topics={"t": 1}) as found:
        for n in range(9):
            put(found, "t", 0, (b"k%d" % n, b"v"))
        done = consume(found, f"{line} -o {form}", 1)
    assert f"cannot keep temporary data in {os.environ['TMPDIR']}" in done.err
    assert no_room in done.err
    assert "free space there, or set TMPDIR to a folder that has space and can be written" in done.err
    if done.out and form == "json":
        document = json.loads(done.out)
        assert document["complete"] is False
        assert document["items"] == []
    assert [line for line in done.out.splitlines() if line.startswith("k")] in ([], ["key"])


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_disk_that_is_full_when_groups_are_put_in_order_leaves_no_list(
    form: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from os import pwrite

    written: list[bytes] = []

    def write(descriptor: int, data: bytes, at: int) -> int:
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(data)
        return pwrite(descriptor, data, at)

    monkeypatch.setattr(counting, "IN_MEMORY", 3)
    monkeypatch.setattr(buckets, "BUCKETS", 1)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("os.pwrite", write)
    with FakeCluster(1, topics={"t": 1}) as found:
        put(found, "t", 0, *((b"k%d" % n, b"v") for n in range(9)))
        done = consume(found, f"t --count --by key -o {form}", 1)
    assert len(written) == 1
    assert (done.out, "No space left" in done.err) == ("", True)


@pytest.mark.parametrize("line", SPILLING)
def test_the_result_on_disk_is_that_in_memory(
    cluster: FakeCluster, line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_memory = consume(cluster, line)
    for module in (counting, distinct, latest):
        monkeypatch.setattr(module, "IN_MEMORY", 3)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert consume(cluster, line).stdout == in_memory.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_count_is_that_of_the_records_that_are_read(isolation: str, codec: str) -> None:
    """Ends of transactions are no records, aborted ones are some only where they are read, and compaction leaves gaps."""
    with FakeCluster(1, topics={"t": 1}) as found:
        for n in range(6):
            with Producer(
                bootstrap_servers=found.bootstrap, transactional_id="tx", compression_type=codec
            ) as producer:
                producer.init_transactions()
                producer.begin_transaction()
                for m in range(4):
                    key = b"k%d" % (m % 3 if n % 2 else 10 * n + m)
                    producer.send(ProducerRecord("t", value=b"v", key=key, partition=0))
                producer.flush()
                (producer.abort_transaction if n % 3 == 2 else producer.commit_transaction)()
        wanted = 24 if isolation == "read_uncommitted" else 16
        for compacted in (False, True):
            if compacted:
                found.compact("t", 0)
            end = found.log("t", 0).end_offset
            lines = ["t", *(f"t --offset {first}:{end - first}" for first in (2, 7, 11))]
            for line in lines:
                read = consume(found, f"{line} -e --isolation-level {isolation} --select offset").out
                counted = consume(found, f"{line} --count --isolation-level {isolation}").out
                assert int(counted) == len(read.split())
                if line == "t":
                    assert (int(counted) == wanted) == (not compacted)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "--where 'value.who.nme == `1`'",
            "--where: no record that was read has value.who.nme; did you mean value.who.name?",
        ),
        ("--where 'headers.m'", "--where: no record that was read has headers.m"),
        ("--count --by value.okk", "--by: no record that was read has value.okk; did you mean value.ok?"),
        (
            "--select key,value.nme",
            "--select: no record that was read has value.nme; did you mean value.who.name?",
        ),
        ("--distinct value.idd", "--distinct: no record that was read has value.idd; did you mean value.id?"),
        ("--grep h:nn=1", "--grep: no record that was read has headers.nn"),
        ("-f '%v{.okk}'", "-f: no record that was read has value.okk; did you mean value.ok?"),
        (
            "-s value=json --select value.okk",
            "--select: no record that was read has value.okk; did you mean value.ok?",
        ),
        (
            "--tail 3 --select value.okk",
            "--select: no record that was read has value.okk; did you mean value.ok?",
        ),
        ("--latest-per-key --select value.okk", "--select: no record that was read has value.okk"),
    ],
)
def test_a_field_that_no_record_has_is_named(cluster: FakeCluster, line: str, said: str) -> None:
    done = consume(cluster, f"t -e -p 0 {line}")
    assert done.err.count("no record that was read") == 1
    assert f"warning: {said}" in done.err


@pytest.mark.parametrize(
    "line",
    ["--where value.ok", "--count --by value.who.name", "--select key,value.items[0].sku,headers.n", "--grep h:n=1",
     "--where 'value.items[?sku]'", "--distinct value.ok", "-f '%v{.ok}'", "--where 'not value'", "--select value"],
)  # fmt: skip
def test_fields_that_some_record_has_are_not(cluster: FakeCluster, line: str) -> None:
    assert "no record that was read" not in consume(cluster, f"t -e {line}").err
    assert "no record that was read" not in consume(cluster, f"empty -e {line}").err


def test_a_document_has_the_warning_of_a_field(cluster: FakeCluster) -> None:
    found = json.loads(consume(cluster, "t -e -p 0 -o json --count --by value.okk").out)
    assert any("value.okk" in warning for warning in found["warnings"]), found
    found = json.loads(consume(cluster, "t -e -p 0 -o json --select value.okk").out)
    assert any("value.okk" in warning for warning in found["warnings"]), found
