"""Checkpoints: always a whole file, of this very run, held by one process; the failed file beside them."""

import json
import os
import stat
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError, DataLossError, KcliError
from kcli.files.atomic import FileError
from kcli.files.lock import LockedError
from kcli.flows.inputs.feed import Fingerprint, OtherInputError
from kcli.flows.inputs.item import BadInput, InputPosition, InputRow, RowChunk, TextChunk
from kcli.flows.produce import checkpoint as module
from kcli.flows.produce.checkpoint import Checkpoint, Identity, locked
from kcli.flows.produce.failed_file import FailedFile, FileExistsRefusedError, check_writable

pytestmark = pytest.mark.case("C14", "C16")

IDENTITY = Identity("orders", ("a.txt",), "lines")


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = str(tmp_path / "at")
    first = Checkpoint(path, IDENTITY)
    first.load()
    assert not first.resumes
    first.save(InputPosition(0, 41, 1000, 77))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    again = Checkpoint(path, IDENTITY)
    again.load()
    assert (again.resumes, again.position, again.run) == (True, InputPosition(0, 41, 1000, 77), first.run)
    assert json.loads(Path(path).read_text())["line"] == 42
    assert os.listdir(tmp_path) == ["at"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Identity("other", ("a.txt",), "lines"), "topic was orders, now it is other"),
        (Identity("orders", (), "lines"), "input was a.txt, now it is stdin"),
        (Identity("orders", ("a.txt",), "ndjson"), "format of the input was lines, now it is ndjson"),
        (Identity("orders", ("a.txt",), "lines", "id"), "transactional id was none, now it is id"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, other: Identity, said: str) -> None:
    path = str(tmp_path / "at")
    Checkpoint(path, IDENTITY).save(InputPosition())
    with pytest.raises(ConfigError, match="another run") as caught:
        Checkpoint(path, other).load()
    assert said in caught.value.why


@pytest.mark.case("B8")
def test_a_checkpoint_without_a_topic_id_takes_the_first_that_is_known(tmp_path: Path) -> None:
    """One of an older version, or of brokers before 2.8."""
    path = str(tmp_path / "at")
    ids = [bytes(16)]
    first = Checkpoint(path, IDENTITY)
    first.watch_topic(lambda: ids[-1])
    first.save(InputPosition(0, 1, 2, 3))
    ids.append(b"1" * 16)
    again = Checkpoint(path, IDENTITY)
    again.load()
    again.watch_topic(lambda: ids[-1])
    again.save(InputPosition(0, 2, 4, 5))
    ids.append(bytes(16))
    again.save(InputPosition(0, 3, 6, 7))
    ids.append(b"2" * 16)
    with pytest.raises(DataLossError, match="topic orders was deleted and created again"):
        again.save(InputPosition(0, 4, 8, 9))
    assert json.loads(Path(path).read_text())["line"] == 4


@pytest.mark.parametrize("text", ["x", "{}", '{"kind":"Other"}', "[]"])
def test_a_file_that_is_no_checkpoint_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    path = tmp_path / "at"
    path.write_text(text)
    with pytest.raises(ConfigError, match="is no checkpoint"):
        Checkpoint(str(path), IDENTITY).load()
    assert path.read_text() == text


def test_a_file_that_is_not_regular_is_neither_read_nor_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero", str(tmp_path)):
        with pytest.raises(ConfigError, match="is no checkpoint") as caught:
            Checkpoint(path, IDENTITY).load()
        assert caught.value.exit_code == 2


@pytest.mark.case("C14")
def test_a_checkpoint_that_cannot_be_written_is_reported_and_the_old_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "at")
    checkpoint = Checkpoint(path, IDENTITY)
    checkpoint.save(InputPosition(0, 1))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    for name in ("write", "fsync", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(module.os, name, full)
            with pytest.raises(FileError, match="cannot write"):
                checkpoint.save(InputPosition(0, 2))
    again = Checkpoint(path, IDENTITY)
    again.load()
    assert again.position.unit == 1
    assert os.listdir(tmp_path) == ["at"]
    with pytest.raises(FileError), locked(str(tmp_path / "missing" / "at")):
        pass


@pytest.mark.case("C16", "X27")
def test_a_second_run_is_refused_while_the_first_one_runs(tmp_path: Path) -> None:
    path = str(tmp_path / "at")
    with locked(path):
        with pytest.raises(LockedError) as caught, locked(path):
            pass
        assert caught.value.exit_code == 7
        assert str(os.getpid()) in caught.value.why
    with locked(path):
        pass
    assert os.listdir(tmp_path) == []


def test_the_input_must_begin_with_the_same_bytes() -> None:
    first = Fingerprint("stdin")
    first(memoryview(b"abc"))
    first(memoryview(b"def"))
    for pieces in ([b"abcdefgh"], [b"a", b"bcde", b"fg", b"h"], [b"abcdef", b""]):
        again = Fingerprint("stdin", first.size, first.crc)
        for piece in pieces:
            again(memoryview(piece))
    with pytest.raises(OtherInputError, match="stdin is not the input") as caught:
        Fingerprint("stdin", first.size, first.crc)(memoryview(b"abcxef"))
    assert caught.value.exit_code == 7
    shorter = Fingerprint("stdin", first.size, first.crc)
    shorter(memoryview(b"abc"))
    with pytest.raises(OtherInputError, match="not the input"):
        shorter(memoryview(b""))


def chunk_of(name: str, line: int, units: int) -> RowChunk:
    return RowChunk(InputPosition(), units, name, records=[InputRow(line, None, b"x", b"", None, None, b"x")])


def test_a_failed_file_that_holds_something_is_refused_unless_the_run_continues(tmp_path: Path) -> None:
    path = str(tmp_path / "failed")
    file = FailedFile(path, "lines", several=False)
    file.add_bad(chunk_of("a.txt", 3, 2), 2, BadInput(3, 0, "because", b"x"))
    file.sync()
    file.close()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with pytest.raises(FileExistsRefusedError) as caught:
        FailedFile(path, "lines", several=False)
    assert caught.value.exit_code == 7
    again = FailedFile(path, "lines", several=True, again=True)
    again.add_bad(chunk_of("a.txt", 4, 3), 1, BadInput(4, 0, "too long", None))
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    assert lines == [
        {"line": 3, "reason": "because", "code": "BAD_INPUT", "input": "x", "format": "lines"},
        {
            "line": 4, "record": 2, "reason": "too long", "code": "MESSAGE_TOO_LARGE", "input": None,
            "format": "lines", "file": "a.txt",
        },
    ]  # fmt: skip
    again.close()


def test_a_run_that_resumes_drops_the_entries_of_lines_that_it_reads_again(tmp_path: Path) -> None:
    """Also a line that a kill has cut off. What is before the position stays, and what is no entry."""
    path = tmp_path / "failed"
    entries = [
        b'{"line":3,"input":"x"}\n',
        b'{"line":9,"record":2,"input":"x"}\n',
        b'{"line":5,"input":"x"}\n',
        b"a note\n",
        b'{"line":1,"input":"x","file":"b"}\n',
        b'{"line":1,"inp',
    ]
    path.write_bytes(b"".join(entries))
    file = FailedFile(str(path), "lines", several=True, again=True)
    file.drop_from(InputPosition(0, 4), ["a", "b"])
    assert path.read_bytes() == entries[0] + entries[1] + entries[3]
    file.add_bad(chunk_of("a", 5, 5), 4, BadInput(5, 0, "because", b"x"))
    assert path.read_bytes().startswith(entries[0] + entries[1] + entries[3] + b'{"line":5,')
    file.close()


def test_a_failed_file_of_another_run_is_not_taken_for_that_of_the_checkpoint(tmp_path: Path) -> None:
    path, failed = str(tmp_path / "at"), str(tmp_path / "failed")
    first = Checkpoint(path, IDENTITY, failed=failed)
    first.save(InputPosition(0, 4))
    for name, same in ((failed, True), (str(tmp_path / "other"), False), (None, False)):
        again = Checkpoint(path, IDENTITY, failed=name)
        again.load()
        assert (again.resumes, again.failed_again) == (True, same)


def test_a_write_that_fails_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = FailedFile(str(tmp_path / "failed"), "lines", several=False)
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if os.fstat(fd).st_size:
            raise OSError(28, "No space left on device")
        return write(fd, data[: len(data) // 2])

    monkeypatch.setattr("kcli.flows.produce.failed_file.os.write", full)
    chunk = TextChunk(InputPosition(), 9, "a", text=b"\n".join(b"%d" % i for i in range(9)))
    with pytest.raises(FileError):
        file.add(chunk, range(9), KcliError("because"))
    monkeypatch.undo()
    lines = (tmp_path / "failed").read_bytes().splitlines(keepends=True)
    assert 0 < file.count == len(lines) < 9
    assert [json.loads(line)["input"] for line in lines] == [str(i) for i in range(len(lines))]
    file.close()


def test_a_repeated_failure_is_quoted_once(tmp_path: Path) -> None:
    file = FailedFile(str(tmp_path / "failed"), "failed", several=False)
    entry = {
        "line": 9,
        "reason": "old",
        "code": "OLD",
        "input": "eA==",
        "input_encoding": "base64",
        "format": "raw",
    }
    file.add_bad(chunk_of("failed", 1, 1), 0, BadInput(1, 0, "new", json.dumps(entry).encode()))
    file.close()
    assert json.loads((tmp_path / "failed").read_text()) == {
        **entry,
        "line": 1,
        "reason": "new",
        "code": "BAD_INPUT",
    }


@pytest.mark.case("C14")
def test_a_full_disk_is_reported() -> None:
    file = FailedFile("/dev/full", "lines", several=False)
    with pytest.raises(FileError, match="cannot write /dev/full"):
        file.add_bad(chunk_of("a.txt", 1, 1), 0, BadInput(1, 0, "because", b"x"))
    assert file.count == 0
    file.close()


@pytest.mark.case("C14")
def test_what_cannot_be_written_is_found_without_leaving_anything(tmp_path: Path) -> None:
    check_writable(str(tmp_path / "new"))
    (tmp_path / "old").write_text("x")
    check_writable(str(tmp_path / "old"))
    for wrong in (tmp_path / "missing" / "x", tmp_path):
        with pytest.raises(FileError):
            check_writable(str(wrong))
    assert os.listdir(tmp_path) == ["old"]
