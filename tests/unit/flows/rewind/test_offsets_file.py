"""A file of committed offsets as the target of a rewind; its forms are tested in ``transfer/test_formats.py``."""

from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.offsets_file import read_targets
from kcli.flows.rewind.targets import Target

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
BOTH = {A0: OffsetAndMetadata(5), A1: OffsetAndMetadata(6)}


def read(tmp_path: Path, text: bytes, *groups: str) -> dict[str, Target]:
    path = tmp_path / "file"
    path.write_bytes(text)
    return read_targets(str(path), groups or ("g",))


@pytest.mark.parametrize(
    "text",
    [
        b"a,0,5\na,1,6\n",
        b"topic,partition,offset\na,0,5\na,1,6\n",
        b"g,a,0,5\ng,a,1,6\nother,a,0,9\n",
        b"a 0 5\na 1 6\n",
        b'{"groupid":"g","offsets":{"a":{"0":5,"1":6}}}',
    ],
)
def test_what_is_about_the_group_counts(text: bytes, tmp_path: Path) -> None:
    assert read(tmp_path, text) == {"g": Target("given", offsets=BOTH)}


def test_the_ids_of_the_topics_are_kept_where_the_file_has_them(tmp_path: Path) -> None:
    line = '{"kind":"OffsetExport","group":"g","topic":"a","topic_id":"%s","partition":%d,"offset":%d}'
    found = read(tmp_path, "\n".join([line % ("xyz", 0, 5), line % ("xyz", 1, 6)]).encode())
    assert found == {"g": Target("given", offsets=BOTH, topic_ids={"a": "xyz"})}


@pytest.mark.parametrize(
    ("text", "groups", "said"),
    [
        (b"a,0\n", ("g",), "line 1"),
        (b"a,0,5\na,0,6\n", ("g",), "a-0 occurs twice"),
        (b"a,0,5\n", ("g", "h"), "line 1 names no group"),
        (b"g,a,0,5\n", ("g", "h"), "has no offsets of group h"),
        (b"", ("g",), "has no offsets"),
        (b"\xff", ("g",), "it is not UTF-8"),
    ],
)
def test_faults_are_named(text: bytes, groups: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, text, *groups)
    assert said in str(refused.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="cannot read /no/such/file"):
        read_targets("/no/such/file", ("g",))
