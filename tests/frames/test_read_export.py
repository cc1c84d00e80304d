"""``kcli.read_export``: the records that the manifest names, and no others, as ``read_topic`` has them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kcli
from kcli.core.arrow.fields import COLUMNS
from kcli.core.errors import ConfigError, NotFoundError
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import ROWS, Row, export, fill

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
