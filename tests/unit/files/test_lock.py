"""One process at a time: a second holder is refused with the pid of the first, which may die or remove the file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.files.lock import LockedError, file_lock, is_locked

HOLDER = """
import sys
from pathlib import Path
from kcli.files.lock import file_lock
with file_lock(Path(sys.argv[1]), timeout=0, doing="testing"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_holder_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "lock"
    assert not is_locked(path)
    assert not path.exists()
    waits: list[None] = []
    with file_lock(path, timeout=0, doing="testing"):
        assert is_locked(path)
        refused = pytest.raises(LockedError, match="another kcli process is testing")
        with (
            refused as caught,
            file_lock(path, timeout=0, doing="testing", on_wait=lambda: waits.append(None)),
        ):
            pytest.fail("two holders")
        assert caught.value.why == f"its pid is {os.getpid()}"
        assert len(waits) == 1
    assert not is_locked(path)
    with file_lock(path, timeout=0, doing="testing", on_wait=lambda: waits.append(None)):
        assert len(waits) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_locked(path)
        with pytest.raises(LockedError) as caught, file_lock(path, timeout=0.1, doing="testing"):
            pytest.fail("two holders")
        assert caught.value.why == f"its pid is {holder.pid}"
        holder.kill()
    assert not is_locked(path)
    with file_lock(path, timeout=0, doing="testing"):
        assert is_locked(path)


def test_a_holder_may_remove_the_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with file_lock(path, timeout=0, doing="testing"):
        path.unlink()
        with file_lock(path, timeout=0, doing="testing"):
            assert is_locked(path)
