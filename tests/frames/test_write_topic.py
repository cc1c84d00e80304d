"""``kcli.write_topic``: what becomes of the columns of frames of all libraries, and the account. On the fake cluster."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kcli
from kcli.core.errors import ConfigError, KcliError, WrongClusterError
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.frames.writing import NotWrittenError, Written
from kcli.serde.errors import EncodeError
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.frames.test_read_topic import ORDER, memtable
from tests.registry.server import RunningRegistry

PLAIN = {"key": ["a", None], "value": [b"1", None]}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 1, "two": 2}) as found:
        yield found


@pytest.fixture(scope="module")
def registry() -> Iterator[RunningRegistry]:
    with RunningRegistry() as found:
        found.content.register("t-value", {"schema": json.dumps(ORDER)})
        yield found


def write(cluster: FakeCluster, frame: Any, **given: Any) -> Written:
    return kcli.write_topic(frame, "t", bootstrap_servers=cluster.bootstrap, **given)


def pairs(cluster: FakeCluster) -> list[tuple[Any, Any]]:
    return [(record.key, record.value) for record in cluster.log("t", 0).records()]


def test_a_read_only_profile_is_not_written(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "kcli").mkdir()
    profile = f'[profiles.ro]\n"bootstrap.servers" = "{cluster.bootstrap}"\nread_only = true\n'
    (tmp_path / "kcli" / "config.toml").write_text(profile)
    with pytest.raises(KcliError, match="write_topic is refused: profile ro is read-only"):
        kcli.write_topic(pa.table(PLAIN), "t", profile="ro")
    assert kcli.read_topic("t", profile="ro").most_rows == 0


FRAMES = {
    "pyarrow": lambda: pa.table(PLAIN),
    "batch": lambda: pa.record_batch(PLAIN),
    "reader": lambda: pa.table(PLAIN).to_reader(),
    "polars": lambda: pl.DataFrame(PLAIN),
    "pandas": lambda: pd.DataFrame(PLAIN),
    "filtered pandas": lambda: pd.DataFrame({"key": ["x", "a", None], "value": [b"0", b"1", None]}).iloc[1:],
    "duckdb": lambda: duckdb.sql("select * from (values ('a', '1'::blob), (null, null)) as t(key, value)"),
    "ibis": lambda: memtable(pa.table(PLAIN)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_rows_of_all_libraries_are_records(cluster: FakeCluster, kind: str) -> None:
    account = write(cluster, FRAMES[kind]())
    assert account == Written("t", 2, 2, 0, account.bytes)
    assert pairs(cluster) == [(b"a", b"1"), (None, None)]


def test_columns_are_named_by_arguments(cluster: FakeCluster) -> None:
    frame = pl.DataFrame(
        {
            "customer": ["c"], "text": ["v"], "at": [datetime(2026, 11, 21, tzinfo=UTC)], "where": [1],
            "h": [[{"key": "a", "value": b"1"}]],
        }
    )  # fmt: skip
    names = {"key": "customer", "value": "text", "timestamp": "at", "partition": "where", "headers": "h"}
    with pytest.warns(
        UserWarning, match="1 is older than its retention.ms of 7d, the oldest one is of 2026-11-21"
    ):
        kcli.write_topic(frame, "two", bootstrap_servers=cluster.bootstrap, **names)  # type: ignore[arg-type]
    (record,) = cluster.log("two", 1).records()
    assert (record.key, record.value, record.timestamp) == (b"c", b"v", 1795219200000)
    assert record.headers == (("a", b"1"),)


@pytest.mark.parametrize(("age", "warned"), [(timedelta(days=1), 0), (timedelta(days=20), 1), (None, 0)])
def test_records_that_retention_deletes_are_counted(
    cluster: FakeCluster, age: timedelta | None, warned: int
) -> None:
    cluster.configure("t", **{"retention.ms": str(10 * 86_400_000)})
    times = [None, None if age is None else datetime.now(UTC) - age]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        write(
            cluster,
            pl.DataFrame(
                {"value": ["a", "b"], "timestamp": times},
                schema_overrides={"timestamp": pl.Datetime("us", "UTC")},
            ),
        )
    texts = [str(one.message) for one in found if one.category is UserWarning]
    assert len(texts) == warned
    assert all(
        "of 1 record with a time at least 1 is older than its retention.ms of 10d" in text for text in texts
    )
    assert all(one.filename == __file__ for one in found)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_are_their_names(cluster: FakeCluster, kind: Any) -> None:
    write(cluster, pl.DataFrame({"key": pl.Series(["b", "a", None], dtype=kind), "value": ["1", "2", "3"]}))
    assert pairs(cluster) == [(b"b", b"1"), (b"a", b"2"), (None, b"3")]


def test_several_columns_are_an_object(cluster: FakeCluster) -> None:
    frame = pd.DataFrame({"id": [1, 2], "n": [1.5, None], "s": ["a", "b"]})
    write(cluster, frame, key="id", key_serde="long", value=["id", "n", "s"], value_serde="json")
    assert pairs(cluster) == [
        (bytes(7) + b"\1", b'{"id":1,"n":1.5,"s":"a"}'),
        (bytes(7) + b"\2", b'{"id":2,"n":null,"s":"b"}'),
    ]


def test_typed_values_are_encoded_by_their_schema_and_read_back(
    cluster: FakeCluster, registry: RunningRegistry
) -> None:
    value = {
        "id": 1, "customer": "c", "price": Decimal("12.50"), "at": datetime(2026, 11, 21, tzinfo=UTC), "day": None,
        "raw": b"\xff\0", "tags": ["a"], "more": [("x", 1)], "either": None, "kind": "B", "next": None,
    }  # fmt: skip
    value["day"] = datetime(2026, 11, 21).date()
    kinds = {"more": pa.map_(pa.string(), pa.int32()), "at": pa.timestamp("ms", "UTC")}
    struct = pa.struct([(name, kinds.get(name) or pa.scalar(one).type) for name, one in value.items()])
    frame = pa.table({"value": pa.array([value, None], struct)})
    given = {"value_serde": "avro", "schema_registry_url": registry.url}
    write(cluster, frame, **given)
    back = pa.table(kcli.read_topic("t", bootstrap_servers=cluster.bootstrap, columns=["value"], **given))  # type: ignore[arg-type]
    assert back["value"].to_pylist() == [value, None]


def test_what_was_read_can_be_written(cluster: FakeCluster) -> None:
    write(cluster, pa.table(PLAIN))
    frame = kcli.read_topic("t", bootstrap_servers=cluster.bootstrap)
    account = kcli.write_topic(frame, "two", bootstrap_servers=cluster.bootstrap, partition="partition")
    assert account.confirmed == 2
    assert [(one.key, one.value) for one in cluster.log("two", 0).records()] == pairs(cluster)


@pytest.mark.parametrize(
    ("columns", "given", "text"),
    [
        ({"value": ["v"], "extra": [1]}, {"key": "value"}, "the column extra is no part of a record"),
        ({"value": ["v"], "extra": [1]}, {}, "extra"),
        ({"v": ["v"]}, {"key": "v"}, "no column is the value"),
        ({"v": ["v"]}, {"value": "w"}, "no column w"),
        ({"v": ["v"]}, {"value": ["v"]}, "without a serde"),
        ({"value": ["v"]}, {"key_serde": "str"}, "key_serde without a column"),
        ({"value": ["v"]}, {"value_serde": "consumer_offsets"}, "only read"),
        ({"value": [1]}, {}, "the column value is of the type int64"),
        ({"value": [{"a": 1}]}, {}, "the column value is of the type struct"),
        ({"key": [1.5], "value": ["v"]}, {}, "the column key is of the type double"),
        ({"value": ["v"], "partition": ["0"]}, {}, "the column partition is of the type utf8"),
        ({"value": ["v"], "timestamp": ["2026-01-01"]}, {}, "the column timestamp is of the type utf8"),
        ({"value": ["v"], "headers": ["a=b"]}, {}, "the column headers is of the type utf8"),
        ({"value": ["v"]}, {"acks": "0", "enable_idempotence": False}, "brokers confirm nothing"),
        ({"value": ["v"]}, {"transactional_id": "x"}, "outside of transactions"),
        ({"value": ["v"]}, {"schema_registry_url": "http://r"}, "schema_registry_url has no effect"),
        (
            {"value": ["v"]},
            {"schema_registry_url": "http://r", "value_serde": "str"},
            "schema_registry_url has no",
        ),
        ({"value": ["v"]}, {"key": [], "key_serde": "json"}, r"key=\[\] names no column"),
        ({"value": ["v"]}, {"key": ""}, "key='' names no column"),
    ],
)
def test_what_would_be_lost_or_has_no_effect_is_refused(
    cluster: FakeCluster, columns: dict[str, Any], given: dict[str, Any], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        write(cluster, pa.table(columns), **given)
    assert pairs(cluster) == []


def test_a_name_of_two_columns_is_refused(cluster: FakeCluster) -> None:
    frame = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["value", "value"])
    with pytest.raises(ConfigError, match="several columns value"):
        write(cluster, frame)
    assert pairs(cluster) == []


def test_another_cluster_than_the_one_that_is_meant_is_refused_at_once(cluster: FakeCluster) -> None:
    with pytest.raises(WrongClusterError):
        write(cluster, pa.table(PLAIN), cluster_id="another")
    assert pairs(cluster) == []


@pytest.mark.parametrize(
    "frame",
    [
        [1], object(), None, {"value": ["v"]}, pl.LazyFrame({"value": ["v"]}), pl.Series(["v"]), pd.Series(["v"]),
        pd.DataFrame({"value": ["v", 1]}), pd.DataFrame([["a", "b"]], columns=["value"] * 2),
    ],
    ids=["list", "object", "None", "dict", "lazy", "polars series", "pandas series", "mixed", "twice"],
)  # fmt: skip
@pytest.mark.parametrize("given", [{}, {"value": "value"}])
def test_what_is_no_frame_is_refused(cluster: FakeCluster, frame: Any, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"no data frame|no table of Arrow") as refused:
        write(cluster, frame, **given)
    assert refused.value.why
    assert refused.value.do
    assert pairs(cluster) == []


def test_an_interruption_says_how_much_was_written(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def show(*_given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kcli.frames.writing._show", show)
    with pytest.raises(KeyboardInterrupt) as caught:
        write(cluster, pa.table(PLAIN))
    assert caught.value.__notes__[0].startswith("kcli: of 2 sent to t, ")


def test_records_that_are_refused_are_in_the_account(cluster: FakeCluster) -> None:
    cluster.fail(ProduceRequest, Code.POLICY_VIOLATION)
    with pytest.raises(NotWrittenError) as caught:
        write(cluster, pa.table(PLAIN))
    account = caught.value.account
    assert account == Written("t", 2, 0, 2, 0)
    assert account.sent == account.confirmed + account.failed
    assert "0 records of 2 sent to t were confirmed" in str(caught.value)


def test_a_value_that_cannot_be_encoded_is_named_by_its_row(cluster: FakeCluster) -> None:
    table = pa.table({"value": pa.array(["1", "x"])})
    with pytest.raises(EncodeError, match="row 1: the value cannot be encoded with int"):
        write(cluster, table, value_serde="int")
    assert pairs(cluster) == []
    batches = [batch for text in ("1", "x") for batch in pa.table({"value": [text]}).to_batches()]
    with pytest.raises(NotWrittenError) as caught:
        write(cluster, pa.RecordBatchReader.from_batches(batches[0].schema, batches), value_serde="int")
    assert (caught.value.account.sent, caught.value.account.confirmed) == (1, 1)
    assert "row 1: the value" in str(caught.value)


def test_a_frame_that_breaks_off_is_in_the_account(cluster: FakeCluster) -> None:
    schema = pa.schema([("value", pa.string()), ("k", pa.string())])

    def batches() -> Iterator[Any]:
        yield pa.record_batch({"value": ["1"], "k": ["k"]}, schema=schema)
        raise ValueError("the disk is gone")

    with pytest.raises(NotWrittenError, match="cannot be read to its end") as caught:
        write(cluster, pa.RecordBatchReader.from_batches(schema, batches()), key="k")
    account = caught.value.account
    assert account == Written("t", 1, 1, 0, account.bytes)
    assert pairs(cluster) == [(b"k", b"1")]
