"""Kafka's csv of offsets, read and written."""

from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.kafka_csv import csv_lines, read_offsets

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
BOTH = {A0: OffsetAndMetadata(5), A1: OffsetAndMetadata(6)}


def read(tmp_path: Path, text: bytes, *groups: str) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
    path = tmp_path / "f.csv"
    path.write_bytes(text)
    return read_offsets(str(path), groups or ("g",))


@pytest.mark.parametrize(
    "text",
    [
        b"a,0,5\na,1,6\n",
        b"a,0,5\r\na,1,6",
        b"topic,partition,offset\na,0,5\n\na,1,6\n",
        b"\xef\xbb\xbfa,0,5\na,1,6\n",
        b'g,"a",0,5\ng,a, 1, 6\nother,a,0,9\n',
        b"group,topic,partition,offset\ng,a,0,5\ng,a,1,6\n",
    ],
)
def test_forms(text: bytes, tmp_path: Path) -> None:
    assert read(tmp_path, text) == {"g": BOTH}


@pytest.mark.parametrize(
    ("text", "groups", "said"),
    [
        (b"a,0\n", ("g",), "f.csv:1: 2 columns"),
        (b"a,0,5\na,x,5\n", ("g",), "f.csv:2 is not topic,partition,offset"),
        (b"a,0,-5\n", ("g",), "f.csv:1 is not"),
        (b"a,0,9999999999999999999\n", ("g",), "f.csv:1 is not"),
        (b"a,0,5\na,0,6\n", ("g",), "f.csv:2: a-0 stands there twice"),
        (b"a,0,5\n", ("g", "h"), "f.csv:1: the line names no group"),
        (b"g,a,0,5\n", ("g", "h"), "has no offsets of group h"),
        (b"", ("g",), "has no offsets of group g"),
        (b"\xff", ("g",), "it is not UTF-8"),
    ],
)
def test_what_is_wrong_is_named(text: bytes, groups: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, text, *groups)
    assert said in str(refused.value)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rows = [("g", A0, 5), ("g", A1, 6)]
    assert csv_lines(rows, with_group=False) == "a,0,5\na,1,6\n"
    assert read(tmp_path, csv_lines([("g,1", A0, 5)], with_group=True).encode(), "g,1")["g,1"] == {
        A0: BOTH[A0]
    }
