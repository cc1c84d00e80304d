"""The generated files are those of this tree, and good: no drift, pages that mandoc accepts, scripts that parse."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kcli.docgen import __main__ as driver
from kcli.docgen.describe import CommandDoc, walk
from tests.command_lines import invocations, parsed

ROOT = Path(__file__).resolve().parents[2]


def docs() -> list[CommandDoc]:
    from kcli.cli import cli

    return list(walk(cli, "kcli"))


def test_nothing_generated_is_stale() -> None:
    assert driver.main(["--check"]) == 0, "run: python -m kcli.docgen"


def test_drift_is_found_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(driver, "ROOT", tmp_path)
    assert driver.main([]) == 0
    assert driver.main(["--check"]) == 0
    page, left_over = tmp_path / "man" / "kcli.1", tmp_path / "man" / "kcli-gone.1"
    page.write_text(page.read_text() + "edited by hand\n")
    left_over.write_text("")
    capsys.readouterr()
    assert driver.main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "man/kcli.1" in said
    assert "man/kcli-gone.1" in said
    assert driver.main([]) == 0
    assert not left_over.exists()
    assert driver.main(["--check"]) == 0


def test_every_command_has_a_page_a_summary_and_examples() -> None:
    for doc in docs():
        assert (ROOT / "man" / ("-".join(doc.path) + ".1")).exists()
        assert doc.summary, doc.path
        assert doc.examples, doc.path
        for option in doc.options:
            assert option.help, (doc.path, option.names)


def test_examples_parse() -> None:
    """What help tells people to type is legal: every ``kcli …`` of an example goes through the parser."""
    for doc in docs():
        for example in doc.examples:
            for words in invocations(example.line):
                parsed(words)


def test_mandoc_accepts_every_page() -> None:
    mandoc = shutil.which("mandoc")
    if mandoc is None:
        pytest.skip("mandoc is not installed")
    pages = sorted((ROOT / "man").iterdir())
    done = subprocess.run([mandoc, "-Tlint", "-W", "warning", *pages], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("shell", "script"), [("bash", "kcli.bash"), ("zsh", "_kcli"), ("fish", "kcli.fish")]
)
def test_scripts_parse(shell: str, script: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([path, "-n", ROOT / "completions" / script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
