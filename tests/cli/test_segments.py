"""``kcli segments``: what it prints, and its exit codes. What verify finds: tests/unit/flows/segments/test_verify.py."""

import base64
import json
import shutil
from pathlib import Path

import pytest

from tests.parity.plain import record
from tests.run import kcli
from tests.segments import batch, epochs, offsets, sealed, write


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A log directory of a broker."""
    root = tmp_path / "data"
    write(root / "orders-0", [batch(2 * number, [b"a", b"b"]) for number in range(20)])
    write(root / "orders-0", [batch(2 * number, [b"a", b"b"]) for number in range(20, 25)])
    (root / "orders-0" / "leader-epoch-checkpoint").write_bytes(epochs([(0, 0)]))
    (root / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    (root / "replication-offset-checkpoint").write_bytes(offsets([("orders", 0, 50)]))
    return root


def test_a_sound_log(data: Path) -> None:
    done = kcli("segments", "verify", str(data), "-o", "json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    (item,) = document["items"]
    assert (document["complete"], item["verdict"], item["records"], item["end_offset"]) == (
        True,
        "whole",
        50,
        50,
    )
    assert "1 partition, 2 segments, 25 batches, 50 records: no damage" in done.err


def test_damage_is_exit_code_5_with_file_byte_and_offset(data: Path) -> None:
    log = data / "orders-0" / f"{0:020d}.log"
    content = bytearray(log.read_bytes())
    size = len(batch(0, [b"a", b"b"]))
    content[size + 70] ^= 1
    log.write_bytes(content)
    done = kcli("segments", "verify", str(data), "-o", "json")
    assert done.code == 5
    (finding,) = json.loads(done.out)["items"][0]["findings"]
    assert (finding["rule"], finding["file"], finding["position"], finding["offset"]) == (
        "checksum", str(log), size, 2,
    )  # fmt: skip
    error = json.loads(done.err.splitlines()[-2])
    assert f"{log} at byte {size} (offset 2)" in error["what"]
    dumped = kcli("segments", "dump", str(log), "-o", "ndjson")
    assert dumped.code == 5
    assert [json.loads(line)["valid"] for line in dumped.out.splitlines()].count(False) == 1


def test_damage_outside_of_segments_is_summed_up(data: Path) -> None:
    shutil.copytree(data, data.parent / "copy")
    done = kcli("segments", "verify", str(data), str(data.parent / "copy"))
    assert done.code == 5
    assert "4 segments, 50 batches, 100 records: 1 place with damage outside of their segments" in done.err
    (data.parent / "link").symlink_to(data)
    same = kcli("segments", "verify", str(data), str(data), str(data.parent / "link"), "-o", "json")
    assert (same.code, len(same.items)) == (0, 1)


def test_what_cannot_be_read_is_missing(data: Path) -> None:
    for verb in ("list", "describe", "dump", "verify"):
        assert kcli("segments", verb, str(data / "none")).code == 2
    some = kcli("segments", "list", str(data), str(data / "none"), "-o", "json")
    assert some.code == 6
    assert [part["what"] for part in json.loads(some.out)["missing"]] == [str(data / "none")]


def test_a_topic_that_is_not_there(data: Path) -> None:
    done = kcli("segments", "list", str(data), "-t", "pay*")
    assert done.code == 1
    assert "there is no topic pay* in these paths" in done.err
    assert "`kcli segments list PATH --by topic` lists those that are there" in done.err
    assert kcli("segments", "list", str(data), "-t", "ord*").code == 0


def test_replicas_are_compared(data: Path) -> None:
    other = data.parent / "other"
    shutil.copytree(data, other)
    (other / "meta.properties").write_text("version=1\nnode.id=2\ncluster.id=c\n")
    assert kcli("segments", "verify", str(data), "--compare", str(other)).code == 0
    batches = [batch(2 * number, [b"a", b"x" if number == 7 else b"b"]) for number in range(20)]
    log = write(other / "orders-0", batches)
    done = kcli("segments", "verify", str(data), "--compare", str(other), "-o", "json")
    assert done.code == 5
    (item,) = json.loads(done.out)["items"]
    position = sum(map(len, batches[:7]))
    assert (item["verdict"], item["offset"], item["position"], item["other_file"]) == (
        "differs", 14, position, str(log),
    )  # fmt: skip
    assert "says whether one of them is damaged" in done.err
    (other / "replication-offset-checkpoint").write_bytes(offsets([("orders", 0, 10)]))
    (data / "replication-offset-checkpoint").write_bytes(offsets([("orders", 0, 10)]))
    above = kcli("segments", "verify", str(data), "--compare", str(other))
    assert (above.code, "above the high watermark 10" in above.err) == (0, True)


def test_nothing_to_be_compared(data: Path, tmp_path: Path) -> None:
    write(tmp_path / "else" / "payments-0", [batch(0)])
    done = kcli("segments", "verify", str(data), "--compare", str(tmp_path / "else"))
    assert done.code == 1
    assert "`kcli segments list PATH` lists what is there" in done.err


def test_options_that_exclude_each_other(data: Path) -> None:
    for line in ("--records --indexes", "--show-secrets"):
        assert kcli("segments", "dump", str(data), *line.split()).code == 2


def test_a_log_is_not_compared_with_itself(data: Path) -> None:
    done = kcli("segments", "verify", str(data / "orders-0"), "--compare", str(data))
    assert (done.code, "would be compared with itself" in done.err) == (2, True)


def test_the_empty_path_is_not_the_current_folder(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data)
    done = kcli("segments", "list", "")
    assert (done.code, "there is no such file or folder" in done.err) == (2, True)


SALT, KEY = b"salt of the user", b"a key that nobody may see"
SCRAM = (
    b"\1\x0b\0"
    + b"\6alice"
    + b"\2"
    + b"".join(bytes([len(part) + 1]) + part for part in (SALT, KEY, KEY))
    + b"\0\0\x10\0\0"
)
PASSWORD = b"listener.name.a.sasl.jaas.config"
CONFIG = (
    b"\1\4\0" + b"\4" + b"\x021" + bytes([len(PASSWORD) + 1]) + PASSWORD + bytes([len(KEY) + 1]) + KEY + b"\0"
)
NEWER = b"\1\x0b\x09" + KEY
"""Records of the metadata log: a user, a configuration, and a user as a newer Kafka may write it."""


@pytest.mark.parametrize("folder", ["__cluster_metadata-0", "copied"])
@pytest.mark.parametrize("kind", ["table", "plain", "wide", "tsv", "csv", "json", "ndjson", "yaml", "kafka"])
def test_secrets_are_printed_only_with_the_option(tmp_path: Path, folder: str, kind: str) -> None:
    values = [SCRAM, CONFIG, *([NEWER] if folder.startswith("__") else [])]
    raw = b"".join(keyless(number, value) for number, value in enumerate(values))
    folder_of = tmp_path / folder
    folder_of.mkdir()
    log, snapshot = folder_of / f"{0:020d}.log", folder_of / f"{0:020d}-{1:010d}.checkpoint"
    log.write_bytes(raw)
    snapshot.write_bytes(raw)
    secrets = [part for text in (SALT, KEY) for part in (text.decode(), base64.b64encode(text).decode())]
    for file in (log, snapshot):
        done = kcli("segments", "dump", str(file), "--records", "-o", kind)
        assert done.code == 0, done.err
        assert not [one for one in secrets if one in done.out + done.err]
        shown = kcli("segments", "dump", str(file), "--records", "-o", kind, "--show-secrets")
        assert [one for one in secrets if one in shown.out]


def keyless(offset: int, value: bytes) -> bytes:
    """A batch with one record that has no key."""
    return sealed(offset, record(None, value, b"\0", 0, 0), 1, 0)


@pytest.mark.parametrize(
    ("suffix", "size", "zero"),
    [("index", 8, "offset: 7 position: 0"), ("timeindex", 12, "timestamp: 0 offset: 7")],
)
def test_the_first_entry_of_an_index_that_is_all_zeros_is_a_line_as_in_kafkas_script(
    tmp_path: Path, suffix: str, size: int, zero: str
) -> None:
    """Until it is closed an index has its full size, and the script takes what is there first for an entry."""
    file = tmp_path / f"{7:020d}.{suffix}"
    empty = f"{file} is empty.\n" if suffix == "index" else ""
    for count, lines in ((0, empty), (size - 1, empty), (size, f"{zero}\n"), (10 * size, f"{zero}\n")):
        file.write_bytes(bytes(count))
        done = kcli("segments", "dump", str(file), "-o", "kafka")
        assert (done.code, done.out) == (0, f"Dumping {file}\n{lines}")
        assert kcli("segments", "dump", str(file), "-o", "ndjson").out == ""
