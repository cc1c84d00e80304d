"""``kcli completion``: the script on stdout, or in its place."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.run import KCLI, ROOT, environment, run

SHIPPED = {"bash": "kcli.bash", "zsh": "_kcli", "fish": "kcli.fish"}
PLACES = {
    "bash": "data/bash-completion/completions/kcli",
    "zsh": "data/zsh/site-functions/_kcli",
    "fish": "config/fish/completions/kcli.fish",
}


def completion(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    folders = {
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "HOME": str(home),
    }
    return run(
        [*KCLI, "completion", *arguments],
        env=environment(**folders),
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("shell", SHIPPED)
def test_it_prints_the_script_that_is_shipped(shell: str, tmp_path: Path) -> None:
    done = completion(tmp_path, shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (ROOT / "completions" / SHIPPED[shell]).read_text()


@pytest.mark.parametrize("shell", PLACES)
def test_install_writes_it_and_says_what_is_left_to_do(shell: str, tmp_path: Path) -> None:
    place = tmp_path / PLACES[shell]
    would = completion(tmp_path, shell, "--install", "--dry-run")
    assert (would.returncode, would.stdout) == (0, "")
    assert str(place) in would.stderr
    assert not place.exists()
    for _again in range(2):
        done = completion(tmp_path, shell, "--install")
        assert (done.returncode, done.stdout) == (0, "")
        assert f"wrote {place}" in done.stderr
    assert {"bash": "bash-completion", "zsh": "fpath", "fish": "new shells load it"}[shell] in done.stderr
    assert place.read_text() == (ROOT / "completions" / SHIPPED[shell]).read_text()
    assert os.listdir(place.parent) == [place.name]


@pytest.mark.parametrize("text", [b"# mine\n", b"# caf\xe9\n"])
def test_a_completion_script_of_another_program_is_kept(tmp_path: Path, text: bytes) -> None:
    place = tmp_path / PLACES["bash"]
    place.parent.mkdir(parents=True)
    place.write_bytes(text)
    done = completion(tmp_path, "bash", "--install")
    assert done.returncode == 7
    assert f"{place} already exists" in done.stderr
    assert place.read_bytes() == text


def test_a_position_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    done = completion(tmp_path, "zsh", "--install")
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr


def test_there_are_three_shells(tmp_path: Path) -> None:
    done = completion(tmp_path, "tcsh")
    assert done.returncode == 2
    assert "bash" in done.stderr
