"""``kcli demo`` as a user runs it, on the Kafka that it starts; the proofs themselves are in tests/cli/test_demo.py."""

import hashlib
import signal
import subprocess
from pathlib import Path

import pytest

from kcli.flows.round_trip import generate_lines
from kcli.flows.stop import Stop
from tests.run import KCLI, environment, start

pytestmark = pytest.mark.integration

RECORDS = 20_000


def left_over(state: Path) -> list[str]:
    """The files of sandboxes and journals that are left, without the locks that all sandboxes share."""
    return sorted(str(path) for path in state.rglob("*") if path.is_file() and path.parent.name != ".locks")


def test_all_steps_are_proved_and_nothing_is_left(own_state: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [*KCLI, "demo", "--records", str(RECORDS)],
        capture_output=True,
        timeout=150,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.decode().splitlines()
    assert sum(line.startswith("$ kcli ") for line in lines) == 8
    assert sum(line.startswith("proof ") for line in lines) == 5
    assert any(line.startswith("untouched 100 % of ") for line in lines)
    generate_lines(tmp_path / "lines", RECORDS, 100, Stop())
    digest = hashlib.sha256((tmp_path / "lines").read_bytes()).hexdigest()
    (tmp_path / "lines").unlink()
    sent, received, source, copy, verdict = lines[-5:]
    assert [sent.split(), received.split()] == [["sent", digest], ["received", digest]]
    assert source.split()[1] == copy.split()[1]
    assert verdict.startswith("the digests are equal")
    assert left_over(own_state) == []


def test_ctrl_c_in_a_step_removes_everything(own_state: Path) -> None:
    demo = start("demo", "--records", "100000", stdin=subprocess.DEVNULL)
    assert demo.stdout is not None
    for line in demo.stdout:
        if b"kcli mirror" in line:
            demo.send_signal(signal.SIGINT)
            break
    rest, errors = demo.communicate(timeout=60)
    assert demo.returncode == 130, errors.decode()
    assert b"being cleaned up" in errors
    assert b"digests are equal" not in rest
    assert left_over(own_state) == []
