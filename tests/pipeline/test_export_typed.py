"""``kcli pipeline export --typed``: decoded columns beside the bytes, schemas that change, and what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kcli
from kcli.pipeline.drivers import export as driver
from kcli.pipeline.spark.runner import SparkRunner
from kcli.pipeline.typed import export_columns
from kcli.pipeline.typed.evolution import ColumnConflictError, conformed, evolved
from kcli.pipeline.typed.export_columns import export_schema
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.serde import SerdeContext
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import contents, export, files, fill, import_, manifest
from tests.pipeline.object_stores import BUCKET, environment, s3_server
from tests.pipeline.test_export import _Kept
from tests.pipeline.test_export_append import chain
from tests.registry.server import RunningRegistry
from tests.run import Done

START = 1_779_667_200_000
PROTO = """syntax = "proto3";
message Order { int64 id = 1; string name = 2; repeated Line lines = 3; } message Line { int32 n = 1; }"""
JSON_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "at": {"type": "object", "properties": {"x": {"type": "number"}}},
    },
}


def order(*optional: str, id_: str = "long", **more: Any) -> dict[str, Any]:
    """An Avro schema with optional whole numbers."""
    fields = [{"name": "id", "type": id_}]
    fields += [{"name": name, "type": ["null", "long"], "default": None} for name in optional]  # type: ignore[dict-item]
    fields += [{"name": name, "type": kind} for name, kind in more.items()]
    return {"schema": json.dumps({"type": "record", "name": "Order", "fields": fields})}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, cluster_id="here", topics={"t": 1, "u": 1}) as made:
        yield made


@pytest.fixture
def registry() -> Iterator[RunningRegistry]:
    with RunningRegistry() as found:
        yield found


def put(
    cluster: FakeCluster, registry: RunningRegistry, *values: Any, serde: str = "avro", topic: str = "t"
) -> None:
    options = RegistryOptions(schema_registry_url=registry.url)
    with open_serdes(parse_serdes([f"value={serde}"], writing=True), options, writing=True) as serdes:
        assert serdes.value is not None
        data = [
            None
            if one is None
            else one
            if isinstance(one, bytes)
            else serdes.value.encode(one, SerdeContext(topic))
            for one in values
        ]
    fill(cluster, [(b"%d" % n, one, (), START + n) for n, one in enumerate(data)], topic=topic)


def typed(
    cluster: FakeCluster, registry: RunningRegistry | None, folder: Path | str, *more: str
) -> tuple[Done, Any]:
    to = () if registry is None else ("-X", f"schema.registry.url={registry.url}")
    topics = more[: next((at for at, word in enumerate(more) if word.startswith("-")), len(more))]
    return export(cluster, folder, *(topics or ("t",)), "--typed", *to, *more[len(topics) :])


def values(folder: Path, *columns: str) -> list[Any]:
    """By DuckDB, which joins files by the names of columns."""
    found = duckdb.sql(
        f"select {', '.join(columns)} from read_parquet('{folder}/**/*.parquet', union_by_name=true) order by \"offset\""
    )
    return found.fetchall()


def test_members_of_values_are_columns_beside_the_bytes(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path
) -> None:
    registry.content.register("t-value", order("n", name="string"))
    put(cluster, registry, {"id": 1, "n": 5, "name": "a"}, None, {"id": 2, "n": None, "name": ""})
    done, _ = typed(cluster, registry, tmp_path / "x", "-s", "key=str")
    assert done.code == 0, done.err
    (path,) = (tmp_path / "x").rglob("*.parquet")
    found = pq.ParquetFile(path)
    topic = chain(tmp_path / "x").topics[0]
    assert export_schema(topic.typed).names == found.schema_arrow.names
    assert found.schema_arrow.names[7:] == ["key_decoded", "value_id", "value_n", "value_name"]
    assert found.schema_arrow.names[:7] == [
        "offset", "timestamp", "timestamp_type", "key", "value", "headers", "leader_epoch",
    ]  # fmt: skip
    expected = [("0", 1, 5, "a", False), ("1", None, None, None, True), ("2", 2, None, "", False)]
    names = ("key_decoded", "value_id", "value_n", "value_name")
    assert values(tmp_path / "x", *names, "value is null") == expected
    frame = pl.read_parquet(f"{tmp_path}/x/**/*.parquet")
    assert frame.select(*names, pl.col("value").is_null().alias("none")).rows() == expected
    said = manifest(tmp_path / "x")
    assert (said["request"]["typed"], said["request"]["serdes"]) == (True, ["key=str"])
    assert said["topics"][0]["typed"]["serdes"] == {"key": "str", "value": "avro"}
    assert said["topics"][0]["typed"]["schemas"] == {"value": ["schema 1 (t-value version 1)"]}
    assert said["topics"][0]["typed"]["columns"][2] == {"name": "value_n", "type": "int64"}


def test_a_typed_export_is_restored_from_its_bytes(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path
) -> None:
    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1}, None, {"id": 2})
    assert typed(cluster, registry, tmp_path / "x", "--partition-by", "hour")[0].code == 0
    table = pa.table(kcli.read_export(str(tmp_path / "x"), columns=["offset", "value"]))
    assert table.num_rows == 3
    with FakeCluster(1, cluster_id="target") as target:
        done, _ = import_(target, tmp_path / "x")
        assert done.code == 0, done.err
        assert contents(target.bootstrap, "t") == contents(cluster.bootstrap, "t")


@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_all_versions_of_a_schema_have_their_columns(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, runner: str
) -> None:
    registry.content.register("t-value", order("gone", id_="int"))
    put(cluster, registry, {"id": 1, "gone": 7})
    registry.content.register("t-value", order("fresh"))
    put(cluster, registry, {"id": 1 << 40, "fresh": 8})
    done, _ = typed(cluster, registry, tmp_path / "x", "--runner", runner)
    assert done.code == 0, done.err
    assert values(tmp_path / "x", "value_id", "value_gone", "value_fresh") == [
        (1, 7, None),
        (1 << 40, None, 8),
    ]


def test_columns_are_added_from_night_to_night(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path
) -> None:
    line = {"type": "record", "name": "Line", "fields": [{"name": "n", "type": "int"}]}
    more = {**line, "fields": [*line["fields"], {"name": "m", "type": ["null", "string"], "default": None}]}  # type: ignore[misc]
    x, flags = tmp_path / "x", ("--append", "--partition-by", "date")
    registry.content.register("t-value", order(lines={"type": "array", "items": line}, at=line["name"]))
    put(cluster, registry, {"id": 1, "lines": [{"n": 1}], "at": {"n": 2}})
    assert typed(cluster, registry, x, *flags)[0].code == 0
    registry.content.register(
        "t-value", order("fresh", lines={"type": "array", "items": more}, at=line["name"])
    )
    put(cluster, registry, {"id": 2, "fresh": 3, "lines": [{"n": 4, "m": "m"}], "at": {"n": 5, "m": None}})
    done, _ = typed(cluster, registry, x, *flags)
    assert done.code == 0, done.err
    assert "t: columns added" in done.err
    assert [(one.change, one.topic) for one in chain(x).changes] == [("columns added", "t")]
    assert values(x, "value_id", "value_fresh") == [(1, None), (2, 3)]
    before = values(x, "value_id", "value_fresh", "value_lines", "value_at")
    done, _ = typed(cluster, registry, x, *flags, "--compact")
    assert done.code == 0, done.err
    (file,) = chain(x).files
    assert values(x, "value_id", "value_fresh", "value_lines", "value_at") == before
    assert pq.ParquetFile(x / file.path).schema_arrow.names == export_schema(chain(x).topics[0].typed).names
    assert set(files(x)) == {"_kcli_manifest.json", file.path}


def test_a_column_of_another_type_is_refused_with_both_schemas(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path
) -> None:
    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1})
    assert typed(cluster, registry, tmp_path / "x", "--append")[0].code == 0
    before = files(tmp_path / "x")
    registry.content.register("t-value", order(id_="string"))
    put(cluster, registry, {"id": "s"})
    done, _ = typed(cluster, registry, tmp_path / "x", "--append")
    assert done.code == 2
    assert "schema 2 (t-value version 2) and schema 1 (t-value version 1)" in done.err
    assert "id is string in one and int64 in the other" in done.err
    assert files(tmp_path / "x") == before


def test_what_replaces_a_subject_is_compared_with_earlier_files(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path
) -> None:
    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1})
    assert typed(cluster, registry, tmp_path / "x", "--append")[0].code == 0
    del registry.content.subjects["t-value"]
    registry.content.register("t-value", order(id_="string"))
    put(cluster, registry, {"id": "s"})
    done, _ = typed(cluster, registry, tmp_path / "x", "--append")
    assert done.code == 2
    assert "value_id is int64 in one and string in the other" in done.err
    assert "schema 1 (t-value version 1)" in done.err
    assert "schema 2 (t-value version 1)" in done.err


def test_a_record_that_cannot_be_decoded_is_named_by_its_offset(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path
) -> None:
    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1}, b"text", {"id": 2})
    for name, more in (("a", ()), ("b", ("--partition-by", "date"))):
        done, _ = typed(cluster, registry, tmp_path / name, *more)
        assert done.code == 5
        assert "the value of t-0 at offset 1" in done.err
        assert list(files(tmp_path / name)) == ["_kcli_plan.json"]
    assert typed(cluster, registry, tmp_path / "y", "--offset", "2:3")[0].code == 0
    assert values(tmp_path / "y", "value_id") == [(2,)]


def test_a_schema_that_is_registered_meanwhile_ends_the_export_and_the_next_run_has_it(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.content.register("t-value", order())
    put(cluster, registry, {"id": 1})
    run_tasks = driver.run_tasks
    registry.content.register("other", order("later"))
    put(cluster, registry, {"id": 2, "later": 3}, serde="avro:subject=other")

    def later(*arguments: Any, **named: Any) -> Any:
        registry.content.register("t-value", order("later"))
        return run_tasks(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(driver, "run_tasks", later)
        done, _ = typed(cluster, registry, tmp_path / "x")
    assert done.code == 1
    assert "have members without a column" in done.err
    done, _ = typed(cluster, registry, tmp_path / "x")
    assert done.code == 0, done.err
    assert values(tmp_path / "x", "value_id", "value_later") == [(1, None), (2, 3)]


def test_a_member_that_no_version_has_is_not_left_out_in_silence(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path
) -> None:
    registry.content.register("t-value", order())
    registry.content.register("other", order("foreign"))
    put(cluster, registry, {"id": 2, "foreign": 3}, serde="avro:subject=other")
    done, _ = typed(cluster, registry, tmp_path / "x")
    assert (done.code, "foreign" in done.err, "t-0" in done.err) == (1, True, True)


def test_protobuf_and_json_schema(cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path) -> None:
    registry.content.register("t-value", {"schemaType": "PROTOBUF", "schema": PROTO})
    put(cluster, registry, {"id": "5", "name": "n", "lines": [{"n": 1}]}, serde="protobuf")
    registry.content.register("u-value", {"schemaType": "JSON", "schema": json.dumps(JSON_SCHEMA)})
    put(cluster, registry, {"id": 5, "at": {"x": 1.5}}, {"id": 6}, serde="jsonschema", topic="u")
    done, _ = typed(cluster, registry, tmp_path / "x", "t", "u")
    assert done.code == 0, done.err
    assert values(tmp_path / "x/topic=t", "value_id", "value_name", "value_lines") == [(5, "n", [{"n": 1}])]
    assert values(tmp_path / "x/topic=u", "value_id", "value_at") == [(5, {"x": 1.5}), (6, None)]


def test_a_schema_in_a_file_needs_no_registry(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(JSON_SCHEMA))
    fill(cluster, [(b"\0\0\0\7", b'{"id": 1, "at": {"x": 2}}', (), 0)])
    serdes = ("-s", f"value=jsonschema:file={tmp_path}/s.json,framing=none", "-s", "key=int")
    done, _ = typed(cluster, None, tmp_path / "x", *serdes)
    assert done.code == 0, done.err
    assert values(tmp_path / "x", "value_id", "value_at", "key_decoded") == [(1, {"x": 2.0}, 7)]


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--typed",), 2, ("--typed without a schema", "value=avro:file=FILE")),
        (("--typed", "-s", "json"), 2, ("-s key=json has no schema", "jsonschema:file=FILE")),
        (("--typed", "-s", "value=json"), 2, ("-s value=json has no schema", "jsonschema:file=FILE")),
        (("-s", "value=avro"), 2, ("-s without --typed",)),
        (("--typed", "--format", "ndjson"), 2, ("--typed with --format ndjson",)),
        (
            ("--typed", "-X", "schema.registry.url=REGISTRY"),
            2,
            ("the registry has no schema of t-value", "-s value="),
        ),
    ],
)
def test_what_has_no_types_is_refused(
    cluster: FakeCluster,
    registry: RunningRegistry,
    tmp_path: Path,
    more: tuple[str, ...],
    code: int,
    words: tuple[str, ...],
) -> None:
    fill(cluster, [(None, b'{"plain": "json"}', (), 0)])
    done, _ = export(cluster, tmp_path / "x", "t", *(word.replace("REGISTRY", registry.url) for word in more))
    assert done.code == code, done.err
    assert all(word in done.err for word in words), done.err
    assert not list(tmp_path.rglob("*.parquet"))


def test_names_that_differ_in_capital_letters_only_are_refused(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path
) -> None:
    registry.content.register("t-value", order("ID"))
    put(cluster, registry, {"id": 1, "ID": 2})
    done, _ = typed(cluster, registry, tmp_path / "x")
    assert (done.code, "the columns value_id and value_ID" in done.err) == (2, True), done.err


def test_a_dry_run_shows_the_columns(cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path) -> None:
    registry.content.register("t-value", order("n"))
    put(cluster, registry, {"id": 1, "n": 2})
    done, _ = typed(cluster, registry, tmp_path / "x", "--partition-by", "date", "--dry-run")
    assert done.code == 0, done.err
    assert "typed columns: value_id int64, value_n int64" in done.err + done.out
    assert "in folders of date=UTC" in done.err + done.out
    assert not (tmp_path / "x").exists()


@pytest.mark.integration
def test_spark_writes_typed_columns_and_reads_them(
    cluster: FakeCluster,
    registry: RunningRegistry,
    spark: SparkRunner,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr("kcli.pipeline.spark.runner.open_runner", lambda **_settings: _Kept(spark))
    registry.content.register("t-value", order("n"))
    put(cluster, registry, {"id": 1, "n": 2}, None)
    flags = ("--append", "--partition-by", "date", "--runner", "spark")
    done, _ = typed(cluster, registry, tmp_path / "x", *flags)
    assert done.code == 0, done.err
    registry.content.register("t-value", order("n", "fresh"))
    put(cluster, registry, {"id": 3, "n": 4, "fresh": 5})
    done, _ = typed(cluster, registry, tmp_path / "x", *flags)
    assert done.code == 0, done.err
    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    frame = session.read.option("mergeSchema", "true").parquet(str(tmp_path / "x"))
    found = sorted(
        tuple(row) for row in frame.select("offset", "value_id", "value_n", "value_fresh").collect()
    )
    assert found == [(0, 1, 2, None), (1, None, None, None), (2, 3, 4, 5)]


def test_a_store_has_the_same_columns(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.content.register("t-value", order("n"))
    put(cluster, registry, {"id": 1, "n": 2}, None, {"id": 3, "n": None})
    flags = ("--partition-by", "date", "--append")
    assert typed(cluster, registry, tmp_path / "x", *flags)[0].code == 0
    with s3_server() as server:
        for name, text in environment(server.port).items():
            monkeypatch.setenv(name, text)
        done, _ = typed(cluster, registry, f"s3://{BUCKET}/{tmp_path.name}", *flags)
        assert done.code == 0, done.err
        found, there = server.files(tmp_path.name), files(tmp_path / "x")
    assert found.keys() == there.keys()
    (path,) = (name for name in there if name.endswith(".parquet"))
    assert found[path] == there[path]


# --- how columns grow -----------------------------------------------------------------------------------


def test_members_are_added_deep_inside() -> None:
    old = pa.schema([("a", pa.struct([("x", pa.int32())])), ("b", pa.list_(pa.struct([("y", pa.string())])))])
    new = pa.schema(
        [
            ("b", pa.list_(pa.struct([("y", pa.string()), ("z", pa.bool_())]))),
            ("a", pa.struct([("w", pa.int8())])),
            ("c", pa.date32()),
        ]
    )
    grown = evolved(old, new)
    assert grown == pa.schema(
        [
            ("a", pa.struct([("x", pa.int32()), ("w", pa.int8())])),
            ("b", pa.list_(pa.struct([("y", pa.string()), ("z", pa.bool_())]))),
            ("c", pa.date32()),
        ]
    )
    rows = [{"a": {"x": 1}, "b": [{"y": "s"}, None]}, {"a": None, "b": None}, {"a": {"x": None}, "b": []}]
    batch = conformed(pa.RecordBatch.from_pylist(rows, old).slice(0, 3), grown)
    assert batch.to_pylist() == [
        {"a": {"x": 1, "w": None}, "b": [{"y": "s", "z": None}, None], "c": None},
        {"a": None, "b": None, "c": None},
        {"a": {"x": None, "w": None}, "b": [], "c": None},
    ]
    sliced = conformed(pa.RecordBatch.from_pylist(rows, old).slice(1), grown)
    assert sliced.to_pylist() == batch.to_pylist()[1:]


@pytest.mark.parametrize(
    ("old", "new"),
    [(pa.int32(), pa.int64()), (pa.string(), pa.binary()), (pa.list_(pa.int32()), pa.int32())],
)
def test_types_do_not_change(old: Any, new: Any) -> None:
    for wrapped in (lambda kind: kind, lambda kind: pa.struct([("m", kind)]), pa.list_):
        with pytest.raises(ColumnConflictError, match=r"a.* is .* in one and .* in the other"):
            evolved(pa.schema([("a", wrapped(old))]), pa.schema([("a", wrapped(new))]))


def test_columns_have_names_of_their_own() -> None:
    kind = pa.struct([("offset", pa.int64()), ("topic", pa.string())])
    assert [field.name for field in export_columns.column_names("value", kind)] == [
        "value_offset",
        "value_topic",
    ]
    assert [field.name for field in export_columns.column_names("key", pa.int32())] == ["key_decoded"]
