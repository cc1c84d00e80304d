"""What lies in the current folder, as in a repository that was cloned: no configuration, and no code of kcli's."""

import os
from pathlib import Path

import pytest

from kcli.sandbox.watchdog import Watchdog
from tests.auditing import Arguments, audited
from tests.fake.cluster import FakeCluster
from tests.run import kcli

MODULES = ("shutil", "signal", "pathlib", "click", "kcli")
HARM = "open('executed', 'w').close()\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder full of files that other programs would read."""
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(HARM)
    for name in (
        "kcli/config.toml",
        ".kcli/config.toml",
        "config.toml",
        ".env",
        "client.properties",
        "kcat.conf",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("sasl.password_command = 'touch executed'\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def paths(opened: list[Arguments]) -> list[str]:
    return [
        os.path.abspath(os.fsdecode(path))
        for path, *_ in opened
        if isinstance(path, str | bytes | os.PathLike)
    ]


@pytest.mark.case("X29", "S10")
@pytest.mark.parametrize(
    "line", ["topics list", "config show", "config check", "profile list", "help profiles"]
)
def test_no_file_of_it_is_opened(here: Path, line: str) -> None:
    with FakeCluster(1, topics={"t": 1}) as cluster, audited("open") as opened:
        done = kcli(*line.split(), bootstrap=cluster.bootstrap, HOME="/nonexistent")
    assert done.code == 0, done.err
    assert not [path for path in paths(opened) if path.startswith(f"{here}/")]


@pytest.mark.case("X29")
def test_the_watchdog_of_a_sandbox_imports_nothing_from_it(here: Path) -> None:
    Watchdog().close()
    assert not (here / "executed").exists()


def test_a_file_that_is_opened_would_be_seen(here: Path) -> None:
    with audited("open") as opened:
        Path("client.properties").read_text()
    assert str(here / "client.properties") in paths(opened)
