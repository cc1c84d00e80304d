"""``kcli.read_topic``: typed columns, times, following, heads and the progress line. On the fake cluster."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kcli
from kcli.core.errors import ClosedError, ConfigError, DataLossError, KcliError, TimedOutError
from kcli.core.options import ConsumerOptions
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.types import Record
from kcli.output import progress
from kcli.serde.errors import DecodeError, RegistryError
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.serde import SerdeContext
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.registry.server import RunningRegistry

START = 1_780_000_000_000
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": ["null", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "raw", "type": "bytes"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "more", "type": {"type": "map", "values": "int"}},
        {"name": "either", "type": ["null", "int", "string"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "next", "type": ["null", "Order"]},
    ],
}
VALUE = {
    "id": 1, "customer": None, "price": "12.50", "at": "2026-11-21T10:00:00.123Z", "day": "2026-11-21", "raw": "\xff\x00",
    "tags": ["a"], "more": {"x": 1}, "either": {"int": 7}, "kind": "B", "next": None,
}  # fmt: skip
PROTO = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Order {
  int64 order_id = 1; string name = 2; repeated double amounts = 3; bytes raw = 4; google.protobuf.Timestamp at = 5;
  map<string, int32> more = 6; Kind kind = 7; Order next = 8; google.protobuf.StringValue maybe = 9; uint64 big = 10;
  enum Kind { A = 0; B = 1; }
}
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": ["string", "null"]},
        "items": {"type": "array", "items": {"$ref": "#/definitions/item"}},
        "any": {},
        "amount": {"oneOf": [{"type": "null"}, {"type": "number"}]},
    },
    "definitions": {"item": {"type": "object", "properties": {"sku": {"type": "string"}}}},
}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1, "other": 2}) as found:
        yield found


@pytest.fixture(scope="module")
def registry() -> Iterator[RunningRegistry]:
    with RunningRegistry() as found:
        yield found


def put(
    cluster: FakeCluster, *values: bytes | None, key: bytes | None = b"k", topic: str = "t", partition: int = 0,
    times: list[int] | None = None,
) -> None:  # fmt: skip
    first = cluster.log(topic, partition).end_offset
    rows = [
        Record(topic, partition, first + n, times[n] if times else START + n, 0, key, value, ())
        for n, value in enumerate(values)
    ]
    cluster.append(topic, partition, bytes(batch_of(rows).raw))


def encoded(registry: RunningRegistry, serde: str, *values: Any) -> list[bytes]:
    options = RegistryOptions(schema_registry_url=registry.url)
    with open_serdes(parse_serdes([f"value={serde}"], writing=True), options, writing=True) as serdes:
        assert serdes.value is not None
        return [serdes.value.encode(value, SerdeContext("t")) for value in values]


def read(cluster: FakeCluster, registry: RunningRegistry | None = None, **given: Any) -> Any:
    if registry is not None:
        given["schema_registry_url"] = registry.url
    return kcli.read_topic("t", bootstrap_servers=cluster.bootstrap, **given)


# --- typed columns --------------------------------------------------------------------------------------


def test_avro_values_are_structs_of_the_registrys_schema(
    cluster: FakeCluster, registry: RunningRegistry
) -> None:
    registry.content.register("t-value", {"schema": json.dumps(ORDER)})
    put(cluster, *encoded(registry, "avro", VALUE, {**VALUE, "either": {"string": "s"}, "next": VALUE}), None)
    table = pa.table(read(cluster, registry, value_serde="avro", columns=["offset", "value"]))
    first, second, third = table["value"].to_pylist()
    assert first == {
        "id": 1, "customer": None, "price": Decimal("12.50"), "at": datetime(2026, 11, 21, 10, 0, 0, 123_000, UTC),
        "day": date(2026, 11, 21), "raw": b"\xff\x00", "tags": ["a"], "more": [("x", 1)],
        "either": {"int": 7, "string": None}, "kind": "B", "next": None,
    }  # fmt: skip
    assert second["either"] == {"int": None, "string": "s"}
    assert json.loads(second["next"])["price"] == "12.50"  # a type within itself
    assert third is None
    assert table.column_names == ["offset", "value"]
    frame = pl.DataFrame(read(cluster, registry, value_serde="avro"))
    assert frame["value"].struct.field("id").to_list() == [1, 1, None]


def test_records_of_other_versions_are_read_by_name(cluster: FakeCluster, registry: RunningRegistry) -> None:
    def version(*names: str) -> dict[str, Any]:
        fields = [{"name": name, "type": "int", "default": 0} for name in names]
        return {"schema": json.dumps({"type": "record", "name": "V", "fields": fields})}

    registry.content.register("versions", version("a", "gone"))
    put(cluster, *encoded(registry, "avro:subject=versions", {"a": 1, "gone": 2}))
    registry.content.register("versions", version("a", "b"))
    put(cluster, *encoded(registry, "avro:subject=versions", {"a": 3, "b": 4}))
    frame = read(cluster, registry, value_serde="avro:subject=versions")
    with pytest.warns(UserWarning, match="the schema of the column does not have it: gone"):
        values = pa.table(frame)["value"].to_pylist()
    assert values == [{"a": 1, "b": None}, {"a": 3, "b": 4}]


def test_protobuf_messages_are_structs(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "order.proto"
    file.write_text(PROTO)
    serde = f"protobuf:file={file}"
    value = {
        "orderId": "9007199254740993", "name": "n", "amounts": [1.5, "NaN"], "raw": "/w==", "kind": "B",
        "at": "2026-11-21T10:00:00.000000001Z", "more": {"x": 1}, "next": {"name": "m"}, "big": "18446744073709551615",
    }  # fmt: skip
    with open_serdes(parse_serdes([f"value={serde}"], writing=True), writing=True) as serdes:
        assert serdes.value is not None
        put(cluster, serdes.value.encode(value, SerdeContext("t")))
    table = pa.table(read(cluster, value_serde=serde))
    value_type = table.schema.field("value").type
    assert str(value_type.field("at").type) == "timestamp[ns, tz=UTC]"
    assert table["value"].combine_chunks().field("at").cast(pa.int64())[0].as_py() % 1_000_000_000 == 1
    found = table["value"].combine_chunks()
    assert found.field("orderId")[0].as_py() == 9007199254740993
    assert found.field("big")[0].as_py() == (1 << 64) - 1
    assert str(found.field("amounts")[0].as_py()) == "[1.5, nan]"
    assert found.field("raw")[0].as_py() == b"\xff"
    assert found.field("maybe")[0].as_py() is None
    assert (found.field("kind")[0].as_py(), found.field("more")[0].as_py()) == ("B", [("x", 1)])
    assert json.loads(found.field("next")[0].as_py())["name"] == "m"


def test_a_json_schema_says_types_where_it_can(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    put(cluster, b'{"id": 1, "items": [{"sku": "a"}], "any": [1, {"x": 2}]}', b'{"amount": 2, "name": null}')
    table = pa.table(read(cluster, value_serde=f"jsonschema:file={file}"))
    assert table["value"].to_pylist() == [
        {"id": 1, "name": None, "items": [{"sku": "a"}], "any": '[1,{"x":2}]', "amount": None},
        {"id": None, "name": None, "items": None, "any": None, "amount": 2.0},
    ]


@pytest.mark.parametrize(
    ("serde", "data", "kind", "value"),
    [
        ("str", b"x", pa.string(), "x"),
        ("json", b'{"a": 1.0}', pa.string(), '{"a":1.0}'),
        ("int", b"\0\0\0\x07", pa.int32(), 7),
        ("long", b"\xff" * 8, pa.int64(), -1),
        ("short", b"\0\1", pa.int16(), 1),
        ("double", b"\x7f\xf0" + bytes(6), pa.float64(), float("inf")),
        ("hex", b"\xff", pa.string(), "ff"),
    ],
)
def test_plain_serdes_have_their_types(
    cluster: FakeCluster, serde: str, data: bytes, kind: Any, value: Any
) -> None:
    put(cluster, data, key=data)
    table = pa.table(read(cluster, value_serde=serde, key_serde=serde))
    assert [table.schema.field(name).type for name in ("key", "value")] == [kind, kind]
    assert (table["key"].to_pylist(), table["value"].to_pylist()) == ([value], [value])


def test_what_does_not_fit_is_an_error_with_its_offset_or_null_and_counted(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    serde = f"jsonschema:file={file}"
    put(cluster, b'{"id": 1}', b'{"id": "x"}', b"{", b'{"id": 1e400}', b'{"id": 2}')
    frame = read(cluster, value_serde=serde)
    with pytest.raises(OSError, match="the value of t-0 at offset 1 does not become a value of its column"):
        pa.table(frame)
    assert isinstance(frame.error, DecodeError)
    frame = read(cluster, value_serde=serde, undecodable="null")
    with pytest.warns(UserWarning, match="3 values could not be decoded with jsonschema.*first at t-0@1"):
        values = pa.table(frame)["value"].to_pylist()
    assert [value and value["id"] for value in values] == [1, None, None, None, 2]
    assert [each.failed for each in frame.undecoded.values()] == [3]


def test_a_schema_that_is_not_there_is_an_error_when_the_range_is_opened(
    cluster: FakeCluster, registry: RunningRegistry
) -> None:
    with pytest.raises(RegistryError):
        read(cluster, registry, value_serde="avro:subject=none")
    with pytest.raises(ConfigError, match="no schema registry"):
        read(cluster, value_serde="avro")
    with pytest.raises(ConfigError, match="key_serde without the column key"):
        read(cluster, key_serde="str", columns=["value"])
    with pytest.raises(ConfigError, match="undecodable='nul'"):
        read(cluster, value_serde="str", undecodable="nul")


# --- ranges ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"undecodable": "null"}, "undecodable='null' without a serde"),
        ({"exact_times": True}, "exact_times=True without a time"),
        ({"exact_times": True, "offsets": "0:3"}, "exact_times=True without a time"),
        ({"group_id": "g"}, "group_id has no effect"),
        ({"session_timeout_ms": 7_000}, "session_timeout_ms has no effect"),
        ({"auto_offset_reset": "latest"}, "auto_offset_reset has no effect"),
        ({"max_poll_records": 5}, "max_poll_records has no effect"),
        ({"show_control_batches": True}, "show_control_batches has no effect"),
        ({"schema_registry_url": "http://r"}, "schema_registry_url has no effect"),
        ({"schema_registry_url": "http://r", "value_serde": "str"}, "schema_registry_url has no effect"),
        ({"log_dirs": "/data", "follow": True}, "follow=True with log_dirs"),
    ],
)
def test_what_would_have_no_effect_is_refused(cluster: FakeCluster, given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        kcli.read_topic(
            "t", **({} if "log_dirs" in given else {"bootstrap_servers": cluster.bootstrap}), **given
        )


def test_options_that_programs_share_may_be_for_a_group(cluster: FakeCluster) -> None:
    shared = ConsumerOptions(bootstrap_servers=cluster.bootstrap, group_id="g", show_control_batches=True)
    assert pa.table(kcli.read_topic("t", shared)).num_rows == pa.table(read(cluster)).num_rows


FORK = """
import os, sys, kcli
from kcli.core.errors import ClosedError
frame = kcli.read_topic("t", bootstrap_servers=sys.argv[1], batch_rows=1)
begun = iter(frame)
rows = next(begun).count
child = os.fork()
if not child:
    try:
        next(begun)
    except ClosedError:
        os._exit(sum(batch.count for batch in frame))
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), rows + sum(batch.count for batch in begun))
"""


def test_a_reading_that_was_begun_before_a_fork_is_that_of_the_parent(cluster: FakeCluster) -> None:
    put(cluster, *[b"v"] * 20)
    done = subprocess.run(
        [sys.executable, "-c", FORK, cluster.bootstrap], capture_output=True, text=True, timeout=120
    )
    rows = str(pa.table(read(cluster)).num_rows)
    assert (done.stdout.split(), done.stderr) == ([rows, rows], "")


def test_exact_times_reads_all_records_of_the_range_and_no_others(cluster: FakeCluster) -> None:
    day = 86_400_000
    put(
        cluster,
        *(b"%d" % n for n in range(6)),
        times=[START, START + 9 * day, START + day, START, START + day, START],
    )
    given = {"since": START + day, "until": START + 2 * day, "columns": ["offset"]}
    with pytest.warns(UserWarning, match="times are not in order.*exact_times=True"):
        frame = read(cluster, **given)
    assert pa.table(frame)["offset"].to_pylist() == []
    assert pa.table(read(cluster, **given, exact_times=True))["offset"].to_pylist() == [2, 4]


def test_an_offset_that_is_not_in_the_log_is_refused_when_the_range_is_opened(cluster: FakeCluster) -> None:
    put(cluster, *(b"%d" % n for n in range(20)))
    cluster.delete_records("t", 0, 10)
    with pytest.raises(
        DataLossError, match="offset 5 is out of range: the log goes from 10 to 20"
    ) as refused:
        read(cluster, offsets="5:15")
    assert "on_out_of_range" in refused.value.do
    frame = read(cluster, offsets="5:15", on_out_of_range="earliest", columns=["offset"])
    assert pa.table(frame)["offset"].to_pylist() == [10, 11, 12, 13, 14]
    assert pa.table(read(cluster, offsets="2:5", on_out_of_range="earliest")).num_rows == 0


def test_records_that_retention_took_meanwhile_are_an_error(cluster: FakeCluster) -> None:
    put(cluster, *(b"%d" % n for n in range(20)))
    frame = read(cluster)
    cluster.delete_records("t", 0, 10)
    with pytest.raises(OSError, match="10 offsets are gone"):
        pa.table(frame)
    assert isinstance(frame.error, DataLossError)
    assert "10 offsets are gone" in repr(frame.head())


def test_a_topic_that_was_deleted_meanwhile_is_named(cluster: FakeCluster) -> None:
    put(cluster, b"1")
    frame = read(cluster, timeout=1)
    cluster.delete_topic("t")
    with pytest.raises(TimedOutError, match="brokers do not report topic t any more: it was deleted"):
        list(frame)


@pytest.mark.parametrize(
    ("since", "rows"),
    [
        (numpy.int64(START + 1), 2),
        (pd.Timestamp(START + 1, unit="ms", tz="Europe/Berlin"), 2),
        (datetime.fromtimestamp((START + 1) / 1000), 2),
        (datetime.fromtimestamp((START + 2) / 1000, UTC).isoformat(), 1),
        (datetime.fromtimestamp((START + 2) / 1000, timezone(timedelta(hours=9))).isoformat(), 1),
        (datetime(1900, 1, 1, tzinfo=UTC), 3),
        (0, 3),
    ],
)
def test_times_of_all_kinds_choose_the_same_records(cluster: FakeCluster, since: Any, rows: int) -> None:
    put(cluster, b"0", b"1", b"2")
    assert pa.table(read(cluster, since=since)).num_rows == rows


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"since": START // 1000}, "as many seconds are one of now"),
        ({"since": -1}, "is no time"),
        ({"since": 1.5}, "is no time"),
        ({"since": date(2026, 1, 1)}, "is no time"),
        ({"since": timedelta(hours=1)}, "is no time"),
        ({"since": True}, "is no time"),
        ({"since": pd.NaT}, "NaT"),
        ({"since": "2026-01-01 Berlin"}, "not a time"),
        ({"since": "1h", "until": "2h"}, "nothing between them"),
        ({"partitions": "0"}, "a partition is a number"),
        ({"partitions": [0.0]}, "a partition is a number"),
        ({"columns": ["valu"]}, "no such column"),
        ({"columns": ["value", "value"]}, "different names"),
        ({"key": 5}, "text or bytes"),
    ],
)
def test_what_is_no_range_says_why(cluster: FakeCluster, given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        read(cluster, **given)


def test_numbers_of_numpy_are_numbers(cluster: FakeCluster) -> None:
    put(cluster, b"1", topic="other", partition=1)
    frame = kcli.read_topic(
        "other", partitions=numpy.array([1]), since=numpy.int64(0), bootstrap_servers=cluster.bootstrap
    )
    assert pa.table(frame)["value"].to_pylist() == [b"1"]


# --- libraries ------------------------------------------------------------------------------------------


def memtable(data: Any) -> Any:
    import ibis  # takes as long as all other imports: only where it is used

    return ibis.memtable(data)


def by_ibis(frame: Any) -> pa.Table:
    connection = duckdb.connect()
    connection.register("orders", frame)
    import ibis

    return ibis.duckdb.from_connection(connection).table("orders").to_pyarrow()


READERS: dict[str, Callable[[Any], pa.Table]] = {
    "pyarrow": pa.table,
    "batches": lambda frame: pa.RecordBatchReader.from_stream(frame).read_all(),
    "polars": lambda frame: pl.DataFrame(frame).to_arrow(),
    "pandas": lambda frame: pa.Table.from_pandas(pa.table(frame).to_pandas(types_mapper=pd.ArrowDtype)),
    "duckdb": lambda frame: duckdb.sql("select * from frame").to_arrow_table(),
    "ibis": by_ibis,
    "memtable": lambda frame: memtable(frame).to_pyarrow(),
}


@pytest.mark.parametrize("library", READERS)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"offsets": "1:3", "columns": ["offset", "key", "value_text"]},
        {"since": START + 1, "until": START + 3, "columns": ["offset", "timestamp", "value"]},
        {"key": ["a", None], "columns": ["offset", "key", "headers"]},
        {"value_serde": "json", "undecodable": "null", "columns": ["offset", "value"]},
        {"partitions": 0, "key_serde": "str", "batch_rows": 1, "columns": ["offset", "key"]},
        {"offsets": "4:", "value_serde": "str"},
    ],
)
@pytest.mark.filterwarnings("ignore:1 value could not be decoded")
def test_all_libraries_have_the_same_rows(cluster: FakeCluster, library: str, given: dict[str, Any]) -> None:
    rows = [
        (b"a", b"1", (("h", None), ("h", b""))), (None, None, ()), (b"", b"\xff", ()), (b"a", b'{"x": 1}', (("h", b"1"),))
    ]  # fmt: skip
    records = [Record("t", 0, n, START + n, 0, *row) for n, row in enumerate(rows)]
    cluster.append("t", 0, bytes(batch_of(records).raw))
    frame = read(cluster, **given)
    expected = [row for batch in frame for row in pa.record_batch(batch).to_pylist()]
    assert READERS[library](frame).to_pylist() == expected
    assert frame.error is None


def test_a_frame_is_no_array_for_pandas(cluster: FakeCluster) -> None:
    """Without that, a frame of pandas would have a column of batches."""
    put(cluster, b"1")
    with pytest.raises(ConfigError, match="no array of NumPy") as refused:
        pd.DataFrame(read(cluster))
    assert "to_pandas()" in refused.value.do
    assert "\n".join(traceback.format_exception(refused.value)).rstrip().endswith(f"do: {refused.value.do}")


# --- following ------------------------------------------------------------------------------------------


def values_of(batch: Any) -> list[bytes]:
    return list(pa.record_batch(batch)["value"].to_pylist())


def test_following_gives_what_is_there_and_what_arrives_until_it_is_closed(cluster: FakeCluster) -> None:
    put(cluster, b"1", b"2")
    with read(cluster, follow=True) as frame:
        batches = iter(frame)
        assert values_of(next(batches)) == [b"1", b"2"]
        put(cluster, b"3")
        assert values_of(next(batches)) == [b"3"]
        assert "followed" in repr(frame)
    assert list(batches) == []
    with pytest.raises(ClosedError):
        next(iter(frame))


def test_following_reads_new_partitions_from_their_beginning(cluster: FakeCluster) -> None:
    put(cluster, b"1")
    with read(cluster, follow=True, metadata_max_age_ms=100) as frame:
        batches = iter(frame)
        assert values_of(next(batches)) == [b"1"]
        cluster.add_partitions("t", 2)
        put(cluster, b"2", partition=1)
        assert values_of(next(batches)) == [b"2"]


@pytest.mark.parametrize("stream", [False, True])
def test_another_thread_ends_a_reading_that_waits(cluster: FakeCluster, stream: bool) -> None:
    put(cluster, b"1")
    frame = read(cluster, follow=True)
    found: list[Any] = []
    waiting = threading.Event()

    def run() -> None:
        batches: Any = pa.RecordBatchReader.from_stream(frame) if stream else frame
        for batch in batches:
            found.append(batch)
            waiting.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert waiting.wait(120)
    frame.close()
    thread.join(120)
    assert not thread.is_alive()
    assert len(found) == 1
    assert frame.error is None


def test_a_range_that_is_closed_meanwhile_is_an_error_not_its_end(cluster: FakeCluster) -> None:
    for _ in range(3):
        put(cluster, b"x" * 1000)
    frame = read(cluster, batch_rows=1)
    batches = iter(frame)
    next(batches)
    frame.close()
    with pytest.raises(ClosedError):
        list(batches)


@pytest.mark.parametrize("given", [{"until": "1h"}, {"offsets": "1:2"}])
def test_what_is_followed_has_no_end(cluster: FakeCluster, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="follow=True with an end"):
        read(cluster, follow=True, **given)


def test_typed_columns_are_followed_too(cluster: FakeCluster) -> None:
    put(cluster, b"1")
    with read(cluster, follow=True, value_serde="str") as frame:
        batches = iter(frame)
        assert next(batches)["value"].to_pylist() == ["1"]
        put(cluster, b"2")
        assert next(batches)["value"].to_pylist() == ["2"]


INTERRUPTED = """
import sys, kcli, threading, pyarrow as pa, polars as pl
frame = kcli.read_topic("t", follow=True, bootstrap_servers=sys.argv[1])
try:
    READ
except BaseException as error:
    print(type(error).__name__, "KeyboardInterrupt" in repr(error))
print(len(frame._readings), threading.active_count())
"""


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("list(frame)", "KeyboardInterrupt"),
        ("pa.table(frame)", "OSError"),
        ("pl.DataFrame(frame)", "ComputeError"),
    ],
)
def test_an_interruption_ends_a_reading_and_its_connections(
    cluster: FakeCluster, code: str, name: str
) -> None:
    hold = cluster.hold(FetchRequest)
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.replace("READ", code), cluster.bootstrap],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    hold.wait(timeout=60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    hold.release()
    assert out.splitlines() == [f"{name} True", "0 1"], err


# --- heads and progress ---------------------------------------------------------------------------------


def test_a_head_reads_little_and_shows_the_first_rows(cluster: FakeCluster) -> None:
    for _ in range(30):
        put(cluster, *[b"<b>\x1b[31m" + b"v" * 20_000] * 10)
    frame = read(cluster, columns=["offset", "value"])
    head = frame.head(3)
    assert [row[0] for row in head.rows] == ["0", "1", "2"]
    shown = frame._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "\x1b" not in shown + repr(head)
    assert repr(frame) == "TopicFrame('t', 1 partition, at most 300 records)"
    assert not frame._readings


def test_a_head_says_what_it_cannot_show(cluster: FakeCluster) -> None:
    put(cluster, b"v")
    assert "none among 1 offset" in repr(read(cluster, key="none").head())
    assert "without an end" in repr(read(cluster, follow=True).head())
    frame = read(cluster, value_serde="int")
    assert "does not become a value" in repr(frame.head())
    frame.close()
    assert "closed" in frame._repr_html_()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("wanted", "tty", "shown"),
    [(None, True, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_a_progress_line_is_for_people(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, wanted: bool | None, tty: bool, shown: bool
) -> None:
    for _ in range(4):
        put(cluster, b"v" * 100)
    stream = Terminal() if tty else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    frame = read(cluster, batch_rows=1, progress=wanted)
    real = progress.Progress.update

    def update(self: Any, *args: Any, **more: Any) -> None:
        self._next = 0.0  # shows each
        real(self, *args, **more)

    monkeypatch.setattr(progress.Progress, "update", update)
    assert pa.table(frame).num_rows == 4
    assert ("read 4 of 4 records" in stream.getvalue()) == shown
    assert left_of(stream.getvalue()) == ""
    assert tty or "\x1b" not in stream.getvalue()  # a notebook would not erase the line


def left_of(text: str) -> str:
    """The line that is seen at last; a notebook overwrites a line after a carriage return, as a terminal does."""
    line, at = "", 0
    for piece in re.split("(\r|\x1b\\[K)", text):
        if piece == "\r":
            at = 0
        elif piece == "\x1b[K":
            line = line[:at]
        else:
            line, at = line[:at] + piece + line[at + len(piece) :], at + len(piece)
    return line.rstrip()


def test_nothing_heavy_is_imported_before_it_is_used(cluster: FakeCluster) -> None:
    program = (
        "import sys, kcli; f = kcli.read_topic('t', bootstrap_servers=sys.argv[1]); list(f); repr(f);"
        "print([n for n in ('pyarrow', 'pandas', 'polars', 'duckdb', 'IPython', 'pyspark') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, cluster.bootstrap], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr


def test_a_misspelt_option_is_refused(cluster: FakeCluster) -> None:
    with pytest.raises(KcliError, match="no option 'value_serd'"):
        read(cluster, value_serd="avro")
