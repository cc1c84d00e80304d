"""``kcli.read_export``: the records that the manifest names, and no others, as ``read_topic`` has them."""

import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kcli
from kcli.core.arrow.fields import COLUMNS
from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.types import TopicPartition
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import ROWS, Row, export, fill
from tests.pipeline.object_stores import BUCKET, environment, s3_server

START = 1_780_000_000_000
MORE: list[Row] = [(b"k%d" % n, b"%d" % n, (), START + n) for n in range(200)]
EXPORTED = [name for name in COLUMNS if name != "headers_packed"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"t": 2, "u": 1}) as made:
        fill(made, ROWS)
        fill(made, MORE, 1)
        fill(made, MORE[:3], 0, "u")
        yield made


@pytest.fixture(scope="module")
def folder(cluster: FakeCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("frames") / "x"
    assert export(cluster, made, "t", "u")[0].code == 0
    return made


def by_place(frame: Any) -> pa.Table:
    return pa.table(frame).sort_by(
        [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    )


def test_an_export_has_the_rows_of_its_topic(cluster: FakeCluster, folder: Path) -> None:
    there = by_place(kcli.read_topic("t", bootstrap_servers=cluster.bootstrap, columns=EXPORTED))
    back = by_place(kcli.read_export(str(folder), topics="t", columns=EXPORTED))
    assert back.num_rows == len(ROWS) + len(MORE)
    unknown = back.schema.get_field_index("leader_epoch")
    assert back.remove_column(unknown) == there.remove_column(unknown)


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_text_formats_have_the_same_records(cluster: FakeCluster, tmp_path: Path, form: str) -> None:
    assert export(cluster, tmp_path / "x", "t", "--format", form)[0].code == 0
    columns = ["topic", "partition", "offset", "timestamp", "key", "value", "headers", "value_text"]
    there = by_place(kcli.read_topic("t", bootstrap_servers=cluster.bootstrap, columns=columns))
    assert by_place(kcli.read_export(str(tmp_path / "x"), columns=columns)) == there


def test_values_alone_are_no_records(cluster: FakeCluster, tmp_path: Path) -> None:
    assert export(cluster, tmp_path / "x", "t", "--format", "raw")[0].code == 0
    with pytest.raises(ConfigError, match="its format is raw, which has values only") as refused:
        kcli.read_export(tmp_path / "x")
    assert refused.value.do == "export as parquet, ndjson or csv"


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_server() as server, pytest.MonkeyPatch.context() as patched:
        for name, text in environment(server.port).items():
            patched.setenv(name, text)
        yield f"s3://{BUCKET}"


def offsets(frame: Any) -> list[tuple[int, int]]:
    """The partition and offset of each row, as they come."""
    table = pa.table(frame)
    return list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("place", "form"),
    [
        pytest.param(place, form, marks=[pytest.mark.long] * (place == "store" and form != "parquet"))
        for place in ("folder", "store")
        for form in ("parquet", "ndjson", "csv")
    ],
)
def test_nights_are_one_frame_that_outlives_their_compaction(
    bucket: str, tmp_path: Path, place: str, form: str
) -> None:
    url = f"{bucket}/{form}" if place == "store" else str(tmp_path / "x")
    nights = [MORE[:3], MORE[3:4], MORE[4:9]]
    with FakeCluster(1, topics={"t": 2}) as cluster:
        for night in nights:
            fill(cluster, night)
            fill(cluster, night, 1)
            done, _ = export(cluster, url, "t", "--append", "--format", form)
            assert done.code == 0, done.err
        whole = kcli.read_export(url)
        old = kcli.read_export(url, offsets="2:8")
        begun = iter(old)
        first = [next(begun).num_rows]
        expected = [(partition, offset) for partition in (0, 1) for offset in range(9)]
        assert offsets(whole) == expected
        assert (whole.most_rows, old.most_rows) == (18, 18)
        done, _ = export(cluster, url, "t", "--compact", "--format", form)
        assert (done.code, "merged" in done.err) == (0, True)
        fill(cluster, MORE[:1])
        assert export(cluster, url, "t", "--append", "--format", form)[0].code == 0
        assert offsets(whole) == offsets(whole) == expected
        assert sum(first + [batch.num_rows for batch in begun]) == 12
        assert offsets(old) == [row for row in expected if 2 <= row[1] < 8]
        assert offsets(kcli.read_export(url, verify=True)) == [*expected[:9], (0, 9), *expected[9:]]


def test_another_export_in_the_place_of_the_first_is_not_read_on(tmp_path: Path) -> None:
    url = tmp_path / "x"
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, MORE[:3])
        assert export(cluster, url, "t")[0].code == 0
        frame = kcli.read_export(url)
        shutil.rmtree(url)
        cluster.delete_topic("t")
        cluster.create_topic("t", 1)
        fill(cluster, MORE[:9])
        assert export(cluster, url, "t")[0].code == 0
        with pytest.raises(ConfigError, match="it is not there"):
            list(frame)


def test_gaps_are_named(tmp_path: Path) -> None:
    url = tmp_path / "x"
    with FakeCluster(1, topics={"t": 1}) as cluster:
        fill(cluster, MORE[:3])
        assert export(cluster, url, "t", "--append")[0].code == 0
        fill(cluster, MORE[:7])
        cluster.delete_records("t", 0, 8)
        export(cluster, url, "t", "--append", "--on-gap", "record")
        with pytest.warns(UserWarning, match=r"t-0: 5 offsets missing: offsets 3 to 7 were removed before"):
            frame = kcli.read_export(url)
        assert offsets(frame) == [(0, 0), (0, 1), (0, 2), (0, 8), (0, 9)]
        assert [(gap.start, gap.end) for gap in frame.gaps[TopicPartition("t", 0)]] == [(3, 8)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert offsets(kcli.read_export(url, offsets="8:")) == [(0, 8), (0, 9)]


def test_what_the_manifest_does_not_name_is_not_read(folder: Path) -> None:
    (stray,) = (folder / "topic=t" / "partition=1").glob("*.parquet")
    copy = stray.with_name("99999999999999999990-99999999999999999999.parquet")
    copy.write_bytes(stray.read_bytes())
    try:
        assert pa.table(kcli.read_export(str(folder))).num_rows == len(ROWS) + len(MORE) + 3
    finally:
        copy.unlink()


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ({"topics": "u"}, 3),
        ({"topics": "t", "partitions": 1}, 200),
        ({"topics": "t", "partitions": 1, "offsets": "10:20"}, 10),
        ({"topics": "t", "offsets": "190:"}, 10),
        ({"topics": "t", "since": START + 50, "until": START + 60}, 10),
        ({"topics": "t", "since": START + 123, "partitions": 0}, 1),
        ({"topics": "t", "until": 6}, 3),
        ({"topics": [], "columns": ["topic"]}, 0),
    ],
)
def test_a_range_has_the_records_within_it(folder: Path, given: dict[str, Any], rows: int) -> None:
    assert pa.table(kcli.read_export(str(folder), **given)).num_rows == rows


def test_columns_that_are_not_chosen_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    asked: list[list[str]] = []
    real = pq.ParquetFile.iter_batches

    def iter_batches(self: Any, *args: Any, columns: list[str], **more: Any) -> Any:
        asked.append(columns)
        return real(self, *args, columns=columns, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", iter_batches)
    frame = kcli.read_export(str(folder), topics="t", columns=["topic", "value_text"])
    assert not asked  # nothing is read before
    assert pa.table(frame).column_names == ["topic", "value_text"]
    assert all(each == ["value"] for each in asked)
    assert asked


def test_a_file_that_is_not_as_the_manifest_says_is_an_error_not_fewer_rows(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    made = tmp_path / "x"
    assert export(cluster, made, "u")[0].code == 0
    (file,) = made.rglob("*.parquet")
    whole = file.read_bytes()
    frame = kcli.read_export(str(made))
    file.write_bytes(whole[:-1])
    with pytest.raises(OSError, match=f"has {len(whole) - 1} bytes"):
        pa.table(frame)
    assert isinstance(frame.error, ConfigError)
    changed = bytearray(whole)
    changed[6] ^= 1
    file.write_bytes(changed)
    with pytest.raises(ConfigError, match="was changed"):
        list(kcli.read_export(str(made), verify=True))
    file.unlink()
    with pytest.raises(ConfigError, match="it is not there"):
        list(frame)
    text = json.loads((made / "_kcli_manifest.json").read_text())
    text["topics"][0]["partitions"][0]["files"][0]["records"] += 1
    text["topics"][0]["partitions"][0]["records"] += 1
    (made / "_kcli_manifest.json").write_text(json.dumps(text))
    file.write_bytes(whole)
    with pytest.raises(ConfigError, match="the manifest says 4"):
        list(kcli.read_export(str(made)))


IDLE = {
    "bootstrap_servers": "h:1",
    "isolation_level": "read_committed",
    "request_timeout_ms": 7,
    "log_dirs": "/d",
}
"""Options of clients, which no reading of files has."""
SERDES: tuple[dict[str, Any], ...] = (
    {},
    {"topics": "t", "value_serde": "str"},
    {"topics": "t", "value_serde": "avro", "schema_registry_url": "http://127.0.0.1:1"},
)


@pytest.mark.parametrize(
    ("error", "given"),
    [
        (NotFoundError, {"topics": "none"}),
        (NotFoundError, {"partitions": 7}),
        (ConfigError, {"columns": ["valu"]}),
        (ConfigError, {"columns": ["headers_packed"]}),
        (ConfigError, {"offsets": "-5"}),
        (ConfigError, {"offsets": "1:2", "since": 3}),
        (ConfigError, {"value_serde": "json"}),
        (ConfigError, {"topics": "t", "value_serde": "jsn"}),
        (ConfigError, {"topics": "t", "key_serde": "str", "columns": ["value"]}),
        (ConfigError, {"bootstrap": "x"}),
    ],
)
def test_what_cannot_be_read_is_refused(folder: Path, error: type[Exception], given: dict[str, Any]) -> None:
    with pytest.raises(error):
        kcli.read_export(str(folder), **given)


OF_REGISTRIES = ("profile", "schema_registry_url", "sasl_username")


@pytest.mark.parametrize(
    ("name", "serde"),
    [
        *((name, serde) for name in IDLE for serde in SERDES),
        *((name, serde) for name in OF_REGISTRIES for serde in SERDES[:-1]),
    ],
)
def test_what_would_have_no_effect_is_refused(folder: Path, name: str, serde: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"{name}.* has no effect on read_export"):
        kcli.read_export(str(folder), **{name: IDLE.get(name, "x"), **serde})


def test_without_columns_there_are_as_many_rows(folder: Path) -> None:
    frame = kcli.read_export(str(folder), columns=[])
    assert pa.table(frame).num_rows == sum(batch.num_rows for batch in frame) == frame.most_rows > 0


@pytest.mark.parametrize(("offsets", "named"), [("0:3", 0), ("3:", 0), ("99:", 1)])
def test_a_range_that_begins_outside_of_the_export_is_named(folder: Path, offsets: str, named: int) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        kcli.read_export(str(folder), topics="u", offsets=offsets)
    assert [str(one.message).startswith("u-0: the range begins at offset 99") for one in found] == [
        True
    ] * named


def test_a_folder_without_a_manifest_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no complete export"):
        kcli.read_export(str(tmp_path))


def test_a_head_has_the_first_rows(folder: Path) -> None:
    frame = kcli.read_export(str(folder), topics="t", columns=["partition", "offset", "value"], value_serde="str",
                             undecodable="null")  # fmt: skip
    head = frame.head(2)
    assert list(head.rows) == [("0", "0", "v"), ("0", "1", "null")]
    assert "<td>v</td>" in frame._repr_html_()
    assert repr(frame).startswith("ExportFrame(")
