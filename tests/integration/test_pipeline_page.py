"""docs/pipeline.md: its tutorial runs as a reader would type it, on a real Kafka.

The other lines, for a cluster of Spark or other topics, are parsed like those of all pages (``tests/checks``).
"""

import json
import re
import shlex
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.kafka import Kafka
from tests.run import Done, kcli, shell, start

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"
TUTORIAL, REST = PAGE.read_text().split("## On a cluster\n", 1)
REPORTS = REST.split("## Reports and exit codes\n", 1)[1].split("## Export and import\n", 1)[0]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_HERE = ("pip install", "kcli sandbox")
"""There is a Kafka already, and what kcli needs is installed."""


@pytest.mark.integration
@pytest.mark.long
def test_the_tutorial_runs(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    name = kafka.unused_name("orders")
    names: dict[str, Any] = {}
    results: dict[str, list[Done]] = {}
    for kind, block in BLOCK.findall(TUTORIAL + REPORTS):
        text = block.replace("localhost:9092", kafka.bootstrap).replace("orders", name)
        if kind == "python":
            exec(compile(text, str(PAGE), "exec"), names)
            continue
        for line in text.splitlines():
            if not line.startswith(NOT_HERE):
                done, wanted = typed(line, kafka.bootstrap)
                assert done.code == wanted, f"{line}\n{done.out}\n{done.err}"
                results.setdefault(line.split(" ")[2], []).append(done)
    assert names["table"].num_rows == 1_000
    shown = capsys.readouterr().out
    assert "first_key" in shown
    assert "1000 records" in shown
    (query,) = results["query"]
    assert re.findall(r"\b(333|667)\b", query.out) == ["667", "333"]
    exported = results["export"]
    assert "exported 1,000 records" in exported[0].err
    assert json.loads(exported[-1].out)["totals"]["records"] == 1_004  # one was late, three were dead letters
    assert [done.code for done in results["verify"]] == [0, 8, 0]
    assert "3 records" in results["replay"][0].out
    assert "0 records" in results["replay"][2].err
    assert "20,000 records" in results["perf"][0].err


def typed(line: str, bootstrap: str) -> tuple[Done, int]:
    """Runs the line; also the exit code that the page promises. Without a pipe it runs in this process: quicker."""
    command, _, promise = line.partition("  # ")
    wanted = int(promise.removeprefix("exit code ")) if promise.startswith("exit code ") else 0
    if promise == "Ctrl-C":
        with start(*shlex.split(command)[1:], bootstrap=bootstrap) as running:
            time.sleep(5)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=60)
        return Done(line, running.returncode, out, err), 130
    if "|" in command or "pipeline query" in command:
        ran = shell(command, bootstrap=bootstrap)
        return Done(line, ran.returncode, ran.stdout, ran.stderr), wanted
    return kcli(*shlex.split(command)[1:], bootstrap=bootstrap), wanted
