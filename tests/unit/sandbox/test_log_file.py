"""The end of a log, and the reason in it."""

from pathlib import Path

import pytest

from kcli.sandbox.log_file import cause, rotate, tail


@pytest.mark.parametrize("count", [0, 1, 3, 5000, 99999])
def test_tail_is_the_last_lines(tmp_path: Path, count: int) -> None:
    lines = [f"line {n} {'x' * 40}" for n in range(9000)]
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    assert tail(tmp_path / "log", count) == (lines[-count:] if count else [])


def test_tail_of_nothing(tmp_path: Path) -> None:
    assert tail(tmp_path / "missing", 5) == []


def test_cause_is_the_innermost_exception() -> None:
    log = [
        "[2026] INFO starting (kafka)",
        "[2026] ERROR Exiting due to fatal exception (kafka)",
        "org.apache.kafka.common.KafkaException: outer",
        "\tat kafka.Kafka.main(Kafka.scala)",
        "Caused by: java.net.BindException: Address already in use",
        "\tat sun.nio",
    ]
    assert cause(log) == "Caused by: java.net.BindException: Address already in use"


def test_cause_without_exception_is_the_last_line() -> None:
    assert cause(["a", "b", ""]) == "b"
    assert cause([]) == ""


def test_rotate_keeps_the_run_before(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    rotate(log)
    log.write_text("old")
    rotate(log)
    assert not log.exists()
    assert (tmp_path / "server.log.1").read_text() == "old"
