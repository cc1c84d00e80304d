"""Files that are replaced: private from their first byte, whole at every moment, on disk before they have their name."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.files.atomic import replace_file

pytestmark = pytest.mark.case("X18")


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, object]]:
    """What the system is asked to do, in order; flags of ``open``, else the name of what is meant."""
    made: list[tuple[str, object]] = []
    opened: dict[int, str] = {}
    real_open, real_sync, real_rename = os.open, os.fsync, os.rename

    def open_(path: str, flags: int, mode: int = 0o777) -> int:
        fd = real_open(path, flags, mode)
        opened[fd] = "folder" if flags & os.O_DIRECTORY else "file"
        made.append(("open", flags))
        return fd

    def fsync(fd: int) -> None:
        made.append(("fsync", opened[fd]))
        real_sync(fd)

    def rename(source: str, target: str) -> None:
        made.append(("rename", Path(target).name))
        real_rename(source, target)

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    return made


def test_the_file_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o644)
    replace_file(str(path), b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"new"


def test_it_is_on_disk_before_it_has_its_name_and_then_the_name_is(
    tmp_path: Path, calls: list[tuple[str, object]]
) -> None:
    replace_file(str(tmp_path / "file"), b"new")
    assert calls[1:3] == [("fsync", "file"), ("rename", "file")]
    assert calls[-1] == ("fsync", "folder")


def test_the_temporary_file_is_created_and_no_link_is_followed(
    tmp_path: Path, calls: list[tuple[str, object]]
) -> None:
    replace_file(str(tmp_path / "file"), b"new")
    flags = calls[0][1]
    assert isinstance(flags, int)
    assert flags & os.O_EXCL
    assert flags & os.O_NOFOLLOW


def test_a_link_at_its_path_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"stays")
    (tmp_path / "file").symlink_to("precious")
    replace_file(str(tmp_path / "file"), b"new")
    assert (tmp_path / "precious").read_bytes() == b"stays"
    assert not (tmp_path / "file").is_symlink()


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_on_a_failure_the_old_content_stays_and_nothing_else(
    tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left"):
        replace_file(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_error_names_the_file_and_not_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        replace_file(str(tmp_path / "none/file"), b"x")
    assert missing.value.filename == str(tmp_path / "none/file")

    def full(_fd: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space") as caught:
        replace_file(str(tmp_path / "file"), b"x")
    assert (caught.value.filename, list(tmp_path.iterdir())) == (str(tmp_path / "file"), [])


def test_a_link_to_what_is_open_is_not_replaced(tmp_path: Path) -> None:
    """As /dev/stdout is, which is a file where output goes to one."""
    link, file = tmp_path / "stdout", tmp_path / "output"
    with file.open("w") as opened:
        link.symlink_to(f"/proc/self/fd/{opened.fileno()}")
        assert link.is_file()
        with pytest.raises(OSError, match="not a regular file"):
            replace_file(str(link), b"new")
    assert link.is_symlink()
    assert not file.read_text()


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        replace_file(str(pipe), b"data")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
