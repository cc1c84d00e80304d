"""The end of the process: at once where kcli is the program, as of any module where somebody goes on after ``main``."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.run import environment

SCRIPT = "import sys\nfrom kcli.__main__ import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
WAITING = """
import runpy, sys
sys.argv = ["kcli", "--version"]
try:
    {call}
except SystemExit as end:
    print("seen", end.code)
finally:
    print("after")
"""
SEEN = """
import atexit, os, sys
end = os._exit
def early(code):
    os.write(2, b"early")
    end(code)
os._exit = early
atexit.register(lambda: os.write(2, b"at exit "))
"""


def run(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    (folder / "sitecustomize.py").write_text(SEEN)
    env = environment()
    env["PYTHONPATH"] = f"{folder}:{env['PYTHONPATH']}"
    return subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("entry", ["kcli", "kcli-kafka", "-m", "zip"])
def test_the_program_ends_at_once_after_exit_functions(tmp_path: Path, entry: str) -> None:
    words = ["-m", "kcli"] if entry == "-m" else [str(tmp_path / entry)]
    if entry == "zip":
        with zipfile.ZipFile(words[0], "w") as archive:
            archive.writestr("__main__.py", SCRIPT)
    elif entry != "-m":
        (tmp_path / entry).write_text(SCRIPT)
    done = run(tmp_path, *words, "--version")
    assert (done.returncode, done.stdout[:5], done.stderr) == (0, "kcli ", "at exit early")


@pytest.mark.parametrize(
    "call",
    [
        "import kcli.__main__; kcli.__main__.main()",
        "runpy.run_module('kcli', run_name='__main__')",
        "runpy.run_path(PATH, run_name='__main__')",
    ],
)
def test_a_program_that_calls_kcli_goes_on(tmp_path: Path, call: str) -> None:
    (tmp_path / "kcli").write_text(SCRIPT)
    program = tmp_path / "program.py"
    program.write_text(WAITING.format(call=call.replace("PATH", repr(str(tmp_path / "kcli")))))
    done = run(tmp_path, str(program))
    assert done.stdout.splitlines()[1:] == ["seen 0", "after"], done.stderr
    assert (done.returncode, done.stderr) == (0, "at exit ")


@pytest.mark.parametrize("words", [["-m", "cProfile"], ["-m", "trace", "--count", "--summary", "-C", "."]])
def test_those_who_examine_a_run_write_what_they_saw(tmp_path: Path, words: list[str]) -> None:
    """From Python 3.12 on ``sys.getprofile`` does not know of profilers any more."""
    (tmp_path / "kcli").write_text(SCRIPT)
    words = [word.replace(".", str(tmp_path)) if word == "." else word for word in words]
    done = run(tmp_path, *words, str(tmp_path / "kcli"), "--version")
    assert done.returncode == 0, done.stderr
    assert "__main__" in done.stdout
    assert "early" not in done.stderr


def test_a_profile_that_was_asked_for_is_written(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    assert run(tmp_path, "-m", "cProfile", "-o", str(kept), "-m", "kcli", "--version").returncode == 0
    assert kept.stat().st_size > 0
