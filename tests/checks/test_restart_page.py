"""The unit, manifest and playbook of docs/tasks/may-i-restart-this-broker.md: their syntax, and their lines of kcli."""

import configparser
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command_lines import FENCE, invocations, problem

PAGE = Path(__file__).parents[2] / "docs" / "tasks" / "may-i-restart-this-broker.md"


def blocks(language: str) -> list[str]:
    return [block for _, info, block in FENCE.findall(PAGE.read_text(encoding="utf-8")) if info == language]


def texts(node: Any) -> Iterator[str]:
    """The command lines in a document: strings that begin with kcli, and arguments of ``command``."""
    if isinstance(node, dict):
        for value in node.values():
            yield from texts(value)
    elif isinstance(node, list) and node[:1] == ["kcli"]:
        yield " ".join(map(str, node))
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)
    elif isinstance(node, str) and node.startswith("kcli "):
        yield node


def check_lines(lines: list[str], count: int) -> None:
    assert len(lines) == count
    for line in lines:
        for words in invocations(line.replace("{{ broker_id }}", "2").replace("${HOSTNAME##*-}", "2")):
            assert problem(words, complete=True) == "", line


def test_the_unit_has_sections_and_lines_that_there_are(tmp_path: Path) -> None:
    (text,) = blocks("ini")
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    assert parser.sections() == ["Unit", "Service"]
    starts = [line.partition("=")[2] for line in text.splitlines() if line.startswith("ExecStart=")]
    check_lines([line for line in starts if line.startswith("kcli ")], 2)
    if shutil.which("systemd-analyze"):
        unit = tmp_path / "kafka-restart.service"
        unit.write_text(text.replace("=kcli ", "=/bin/true ").replace("=systemctl ", "=/bin/true "))
        done = subprocess.run(
            ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
        )
        assert "kafka-restart.service:" not in done.stderr


@pytest.mark.parametrize(("number", "kind"), [(0, dict), (1, list)])
def test_manifest_and_playbook_are_documents_with_lines_that_there_are(number: int, kind: type) -> None:
    document = yaml.safe_load(blocks("yaml")[number])
    assert isinstance(document, kind)
    check_lines(list(texts(document)), 2)


def test_the_probe_is_one_that_ends_when_the_pod_has_started() -> None:
    """A readiness probe of the whole cluster would take all pods out of the service when one broker fails."""
    document = yaml.safe_load(blocks("yaml")[0])
    (container,) = document["spec"]["template"]["spec"]["containers"]
    assert "readinessProbe" not in container
    assert container["startupProbe"]["exec"]["command"][:3] == ["kcli", "cluster", "check"]
    assert document["spec"]["selector"]["matchLabels"] == document["spec"]["template"]["metadata"]["labels"]


def test_the_playbook_takes_one_host_after_the_other() -> None:
    (play,) = yaml.safe_load(blocks("yaml")[1])
    assert (play["serial"], len(play["tasks"])) == (1, 3)
