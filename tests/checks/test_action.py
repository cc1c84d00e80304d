"""The action for GitHub: its inputs reach its script, which is run here as a runner does, with the wheel of this tree in
place of an index.
"""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from kcli.core.version import __version__
from tests.checks.test_native import build

ROOT = Path(__file__).parents[2]


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return found


def step() -> dict[str, Any]:
    (only,) = action()["runs"]["steps"]
    found: dict[str, Any] = only
    return found


def test_inputs_are_variables_and_never_part_of_the_script() -> None:
    found, only = action(), step()
    assert found["runs"]["using"] == "composite"
    assert "${{" not in only["run"]
    named = {re.fullmatch(r"\$\{\{ inputs\.(\w+) \}\}", text)[1] for text in only["env"].values()}  # type: ignore[index]
    assert named == found["inputs"].keys()
    assert all(name in only["run"] for name in only["env"])
    for output in found["outputs"].values():
        assert re.fullmatch(r"\$\{\{ steps\.install\.outputs\.version \}\}", output["value"])


def run(folder: Path, **inputs: str) -> "subprocess.CompletedProcess[str]":
    """The script with these inputs, in an environment as a runner has it; what kcli depends on is that of these tests."""
    defaults = {name: one["default"] for name, one in action()["inputs"].items()}
    given = {**defaults, "python": sys.executable, **inputs}
    libraries = folder / "libraries"
    libraries.mkdir(exist_ok=True)
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "kcli" not in path.name.lower() and not (libraries / path.name).exists():
            (libraries / path.name).symlink_to(path)
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(libraries),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_FIND_LINKS": str(folder / "wheels"),
        "RUNNER_TEMP": str(folder),
        "GITHUB_PATH": str(folder / "path"),
        "GITHUB_OUTPUT": str(folder / "output"),
        **{f"KCLI_{name.upper()}": text for name, text in given.items()},
    }
    line = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step()["run"]]
    return subprocess.run(line, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"version": "1; touch x"}, "version is not a version"),
        ({"version": "--help"}, "version is not a version"),
        ({"extras": "a]; touch x"}, "extras are names"),
        ({"extras": "a,,b"}, "extras are names"),
        ({"python": "no-such-python"}, "there is no program no-such-python"),
    ],
)
def test_inputs_that_are_none_are_refused(tmp_path: Path, inputs: dict[str, str], said: str) -> None:
    done = run(tmp_path, **inputs)
    assert done.returncode == 1
    assert done.stdout.startswith("::error title=kcli::")
    assert said in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["libraries"]


@pytest.mark.long
def test_kcli_is_installed_and_on_the_path(tmp_path: Path) -> None:
    wheel, _said = build(tmp_path / "tree", "build_wheel", CFLAGS="-O0")
    (tmp_path / "wheels").mkdir()
    wheel.rename(tmp_path / "wheels" / wheel.name)
    done = run(tmp_path, version=__version__, extras="fast, schemas")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "output").read_text() == f"version={__version__}\n"
    folder = (tmp_path / "path").read_text().strip()
    assert os.listdir(folder) == ["kcli"]
    assert Path(folder, "kcli").resolve().is_relative_to(tmp_path / "kcli/venv")
    assert run(tmp_path, version="99.0.0").returncode != 0
