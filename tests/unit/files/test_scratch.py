"""Files without a name: what was appended is read again, and nothing of them is in their folder."""

from pathlib import Path

import pytest

from kcli.files.atomic import FileError
from kcli.files.scratch import ScratchFile


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_what_was_appended_is_read(folder: Path) -> None:
    file = ScratchFile()
    places = [(file.append(data), data) for data in (b"one", b"", b"two" * 100_000, b"three")]
    assert file.size == sum(len(data) for _, data in places)
    assert all(file.read(at, len(data)) == data for at, data in places)
    assert list(folder.iterdir()) == []
    file.close()
    assert list(folder.iterdir()) == []


def test_a_write_that_is_cut_short_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from os import pwrite

    monkeypatch.setattr("os.pwrite", lambda fd, data, at: pwrite(fd, data[:3], at))
    file = ScratchFile()
    assert (file.append(b"12345678"), file.append(b"9")) == (0, 8)
    assert file.read(0, 9) == b"123456789"
    file.close()


def test_a_folder_that_is_not_there_is_not_replaced_by_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(folder / "nix"))
    with pytest.raises(
        FileError, match=f"cannot keep temporary data in {folder}/nix: No such file"
    ) as raised:
        ScratchFile()
    assert "set TMPDIR" in raised.value.do


def test_no_folder_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr("tempfile.gettempdir", nowhere)
    with pytest.raises(FileError, match="in any folder: No usable temporary directory"):
        ScratchFile()
