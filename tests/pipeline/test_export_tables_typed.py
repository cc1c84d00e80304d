"""``kcli pipeline export --format delta|iceberg --typed``: columns of the schema, how they are added, what is refused."""

import datetime
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

pytest.importorskip("deltalake", reason="deltalake is not installed")
pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")

import pyarrow as pa
from deltalake import DeltaTable, Field

from kcli.pipeline.tables.columns import grown_table, table_schema
from kcli.pipeline.typed.export_columns import TypedTopic
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import files
from tests.pipeline.tables import FORMATS, catalog, content, nothing_left, records, rows
from tests.pipeline.test_export_typed import order, put, typed
from tests.registry.server import RunningRegistry

_LINE = {"type": "record", "name": "Line", "fields": [{"name": "n", "type": "int"}]}
_LONGER = {**_LINE, "fields": [*_LINE["fields"], {"name": "m", "type": ["null", "string"], "default": None}]}  # type: ignore[misc]

pytestmark = pytest.mark.parametrize("form", FORMATS)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 1, "u": 1}) as made:
        yield made


@pytest.fixture
def registry() -> Iterator[RunningRegistry]:
    with RunningRegistry() as found:
        yield found


def values(form: str, folder: Path, *columns: str, topic: str = "t") -> list[Any]:
    """By DuckDB, on what the library of the format reads."""
    found = content(form, folder, topic)
    assert found.num_rows
    return duckdb.sql(f'select {", ".join(columns)} from found order by "offset"').fetchall()


def versions(form: str, folder: Path) -> int:
    """How often the table was changed."""
    if form == "delta":
        return DeltaTable(folder).version()
    return len(catalog(folder).load_table("kafka.t").metadata.metadata_log)


@pytest.mark.parametrize("runner", ["inline", pytest.param("processes", marks=pytest.mark.long)])
def test_columns_are_added_in_the_commit_of_the_first_rows_or_before(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, form: str, runner: str
) -> None:
    x, flags = tmp_path / "x", ("--format", form, "--runner", runner)
    registry.content.register("t-value", order(lines={"type": "array", "items": _LINE}, at=_LINE["name"]))
    put(cluster, registry, {"id": 1, "lines": [{"n": 1}], "at": {"n": 2}}, None)
    done, _ = typed(cluster, registry, x, *flags)
    assert done.code == 0, done.err
    names = [*content(form, x).schema.names]
    assert names[9:] == ["value_id", "value_lines", "value_at"]
    registry.content.register(
        "t-value", order("fresh", lines={"type": "array", "items": _LONGER}, at=_LINE["name"])
    )
    done, report = typed(cluster, registry, x, *flags)
    assert (done.code, report["totals"]["records"]) == (0, 0), done.err
    assert content(form, x).schema.names == names
    put(cluster, registry, {"id": 2, "fresh": 3, "lines": [{"n": 4, "m": "m"}], "at": {"n": 5, "m": None}})
    done, report = typed(cluster, registry, x, *flags)
    assert done.code == 0, done.err
    assert report["warnings"] == ["t: columns added"]
    assert content(form, x).schema.names == [*names, "value_fresh"]
    assert values(form, x, "value_id", "value_fresh", "value_lines[1]", "value_at") == [
        (1, None, {"n": 1, "m": None}, {"n": 2, "m": None}),
        (None, None, None, None),
        (2, 3, {"n": 4, "m": "m"}, {"n": 5, "m": None}),
    ]
    put(cluster, registry, None)
    done, report = typed(cluster, registry, x, *flags)
    assert (done.code, report["warnings"]) == (0, []), done.err
    assert rows(form, x) == records(cluster, partitions=1)
    nothing_left(form, x)


def test_a_column_of_another_type_is_refused_with_both_schemas(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, form: str
) -> None:
    x = tmp_path / "x"
    registry.content.register("t-value", order("n"))
    put(cluster, registry, {"id": 1, "n": 1})
    assert typed(cluster, registry, x, "--format", form)[0].code == 0
    before = files(x)
    del registry.content.subjects["t-value"]
    registry.content.register("t-value", order(id_="string"))
    put(cluster, registry, {"id": "s"})
    done, _ = typed(cluster, registry, x, "--format", form)
    assert done.code == 2
    assert "value_id is int64 in one and string in the other" in done.err
    assert "schema 1 (t-value version 1)" in done.err
    assert "schema 2 (t-value version 1)" in done.err
    assert files(x) == before


def test_a_column_that_another_program_has_made_is_refused(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, form: str
) -> None:
    x = tmp_path / "x"
    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1})
    assert typed(cluster, registry, x, "--format", form)[0].code == 0
    if form == "delta":
        DeltaTable(x).alter.add_columns([Field("value_n", "string"), Field("theirs", "string")])
    else:
        with catalog(x).load_table("kafka.t").update_schema() as update:
            update.union_by_name(pa.schema([("value_n", pa.string()), ("theirs", pa.string())]))
    registry.content.register("t-value", order("n"))
    put(cluster, registry, {"id": 2, "n": 1})
    before = versions(form, x)
    done, _ = typed(cluster, registry, x, "--format", form)
    assert (done.code, "a column has another type" in done.err, "value_n" in done.err) == (2, True, True), (
        done.err
    )
    assert versions(form, x) == before
    assert content(form, x).num_rows == 1


def test_columns_that_another_program_has_made_stay(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, form: str
) -> None:
    x = tmp_path / "x"
    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1})
    assert typed(cluster, registry, x, "--format", form)[0].code == 0
    if form == "delta":
        DeltaTable(x).alter.add_columns([Field("theirs", "string"), Field("value_n", "long")])
    else:
        with catalog(x).load_table("kafka.t").update_schema() as update:
            update.union_by_name(pa.schema([("theirs", pa.string()), ("value_n", pa.int64())]))
    registry.content.register("t-value", order("n"))
    put(cluster, registry, {"id": 2, "n": 1})
    done, _ = typed(cluster, registry, x, "--format", form)
    assert done.code == 0, done.err
    assert values(form, x, "value_id", "value_n", "theirs") == [(1, None, None), (2, 1, None)]


def test_a_table_without_typed_columns_is_not_continued_with_them(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, form: str
) -> None:
    from tests.pipeline.exporting import export

    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1})
    assert export(cluster, tmp_path / "x", "--format", form)[0].code == 0
    put(cluster, registry, {"id": 2})
    done, _ = typed(cluster, registry, tmp_path / "x", "--format", form)
    assert (done.code, "it was begun with t, not with t --typed" in done.err) == (7, True), done.err


def test_a_record_that_cannot_be_decoded_is_named_and_nothing_is_in_the_table(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, form: str
) -> None:
    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1}, b"text", {"id": 2})
    done, _ = typed(cluster, registry, tmp_path / "x", "--format", form)
    assert (done.code, "the value of t-0 at offset 1" in done.err) == (5, True), done.err
    assert content(form, tmp_path / "x").num_rows == 0


def test_types_that_a_format_does_not_have(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, form: str
) -> None:
    def logical(kind: str, name: str, **more: Any) -> Any:
        return {"type": kind, "logicalType": name, **more}

    schema = order(
        ns=logical("long", "timestamp-nanos"),
        local=logical("long", "local-timestamp-millis"),
        time=logical("int", "time-millis"),
        big=logical("bytes", "decimal", precision=50, scale=2),
        none="null",
        four={"type": "fixed", "name": "F", "size": 4},
    )
    registry.content.register("t-value", schema)
    put(
        cluster,
        registry,
        {
            "id": 1,
            "ns": 1_779_667_200_123_456_789,
            "local": 5,
            "time": 3_723_004,
            "big": f"{'1' * 46}.25",
            "none": None,
            "four": "abcd",
        },
        None,
    )
    message = 'syntax = "proto3"; message O { uint64 u = 1; uint32 v = 2; map<uint32, uint64> m = 3; }'
    registry.content.register("u-value", {"schemaType": "PROTOBUF", "schema": message})
    largest = {"u": str((1 << 64) - 1), "v": (1 << 32) - 1, "m": {"4294967295": "1"}}
    put(cluster, registry, largest, serde="protobuf", topic="u")
    x = tmp_path / "x"
    done, _ = typed(cluster, registry, x, "t", "u", "--format", form, "--dry-run")
    assert "typed columns: value_u decimal128(20, 0), value_v int64, value_m map<" in done.err, done.err
    done, _ = typed(cluster, registry, x, "t", "u", "--format", form)
    assert done.code == 0, done.err
    first, last = content(form, x / "t" if form == "delta" else x).to_pylist()
    assert "value_none" not in first
    assert [first[f"value_{name}"] for name in ("ns", "local", "time", "big", "four")] == [
        datetime.datetime(2026, 5, 25, 0, 0, 0, 123456, datetime.UTC),
        datetime.datetime(1970, 1, 1, 0, 0, 0, 5000),
        "01:02:03.004" if form == "delta" else datetime.time(1, 2, 3, 4000),
        f"{'1' * 46}.25",
        b"abcd",
    ]
    assert {own for name, own in last.items() if name.startswith("value_")} == {None}
    (only,) = content(form, x / "u" if form == "delta" else x, "u").to_pylist()
    assert (only["value_u"], only["value_v"]) == (Decimal((1 << 64) - 1), (1 << 32) - 1)
    assert only["value_m"] == [((1 << 32) - 1, Decimal(1))]


def test_names_that_delta_does_not_have(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, form: str
) -> None:
    text = json.dumps(
        {"type": "object", "properties": {"a.b": {"type": "integer"}, "c d": {"type": "integer"}}}
    )
    registry.content.register("t-value", {"schemaType": "JSON", "schema": text})
    put(cluster, registry, {"a.b": 1, "c d": 2}, serde="jsonschema")
    done, _ = typed(cluster, registry, tmp_path / "x", "--format", form)
    if form == "delta":
        assert (done.code, "no column or member 'value_c d'" in done.err) == (2, True), done.err
        assert not files(tmp_path / "x")
    else:
        assert done.code == 0, done.err
        assert values(form, tmp_path / "x", '"value_a.b"', '"value_c d"') == [(1, 2)]


_STEPS = {
    "delta": ("add_columns", "set_table_properties", "create_write_transaction"),
    "iceberg": ("update_schema", "add_files", "commit_transaction"),
}


@pytest.mark.long
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    "step", [pytest.param(0, marks=pytest.mark.long), 1, pytest.param(2, marks=pytest.mark.long)]
)
def test_a_run_that_is_killed_between_columns_and_rows_goes_on(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, form: str, step: int, after: bool
) -> None:
    x = tmp_path / "x"
    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1})
    assert typed(cluster, registry, x, "--format", form)[0].code == 0
    registry.content.register("t-value", order("n"))
    put(cluster, registry, {"id": 2, "n": 3})
    arguments = [
        "-b", cluster.bootstrap, "-X", f"schema.registry.url={registry.url}", "pipeline", "export", "t", str(x),
        "--format", form, "--typed", "--runner", "inline",
    ]  # fmt: skip
    when = f"{'after' if after else 'instead of'} {_STEPS[form][step]}"
    killed = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.dying_table", when, *arguments], capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert [one[0] for one in values(form, x, "value_id")] in ([1], [1, 2])
    registry.content.register("t-value", order("n", "later"))
    put(cluster, registry, {"id": 4, "n": 5, "later": 6})
    done, _ = typed(cluster, registry, x, "--format", form)
    assert done.code == 0, done.err
    assert values(form, x, "value_id", "value_n", "value_later") == [(1, None, None), (2, 3, None), (4, 5, 6)]
    assert rows(form, x) == records(cluster, partitions=1)
    nothing_left(form, x)


# --- the columns ----------------------------------------------------------------------------------------


def test_columns_of_a_table_are_those_of_its_format(form: str) -> None:
    import base64

    own = pa.schema(
        [
            ("value_a", pa.list_(pa.struct([("t", pa.time32("ms")), ("n", pa.null())]))),
            ("value_b", pa.struct([("n", pa.null())])),
            ("value_c", pa.map_(pa.uint64(), pa.list_(pa.null()))),
            ("value_d", pa.list_(pa.timestamp("ns", "UTC"))),
            ("value_e", pa.int16()),
        ]
    )
    found = table_schema(TypedTopic({}, base64.b64encode(own.serialize()).decode()), form)
    time = pa.string() if form == "delta" else pa.time64("us")
    assert list(found)[9:] == list(
        pa.schema(
            [
                ("value_a", pa.list_(pa.struct([("t", time)]))),
                ("value_d", pa.list_(pa.timestamp("us", "UTC"))),
                ("value_e", pa.int32()),
            ]
        )
    )
    assert grown_table(pa.schema([*found, ("theirs", pa.int8())]), found, "x").names == [
        *found.names,
        "theirs",
    ]
