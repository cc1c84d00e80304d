"""The frame: README and CI run the same command, one version, a package that is complete."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from fnmatch import fnmatchcase
from importlib import metadata
from pathlib import Path

import pytest
import yaml

import kcli
from tests.checks.skips import ALLOWED, read_allowed
from tools.packaging.platforms import VERSIONS

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def project_files() -> list[Path]:
    """Every file of the project, as paths relative to its top; nothing that tools have made."""
    made = {".cache", ".git", "build", "dist", "__pycache__"}
    files = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [n for n in folders if n not in made and not n.endswith(("_cache", ".egg-info"))]
        files += [Path(folder, name).relative_to(ROOT) for name in names if name not in made]
    return sorted(path for path in files if path.suffix not in {".pyc", ".so"})


def commands_of_readme() -> list[str]:
    """The commands of README's first block of code, without their comments."""
    block = re.search(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    assert block
    return [line.partition("#")[0].strip() for line in block[1].splitlines()]


def test_readme_says_what_kcli_is_and_then_the_two_commands():
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if line]
    assert lines[0] == "# kcli"
    assert lines[1].startswith("kcli is a command-line suite for Apache Kafka")
    assert "```sh" in lines[:6]
    assert commands_of_readme() == ["make demo", "make test"]


def test_readme_is_short():
    assert (ROOT / "README.md").read_text().count("\n") < 120


def test_issue_forms_ask_for_what_is_needed():
    forms = {
        path.name: yaml.safe_load(path.read_text())
        for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")
    }
    labels = [part["attributes"].get("label", "") for part in forms["bug.yml"]["body"]]
    for wanted in ("kcli --version", "kcli config show", "kcli doctor", "What you expected"):
        assert any(label.startswith(wanted) for label in labels), wanted
    assert forms["feature.yml"]["body"]


def test_ci_runs_exactly_the_test_command_of_the_readme():
    script = ROOT / ".ci" / "run"
    lines = [line.strip() for line in script.read_text().splitlines()]
    assert lines[-1] == commands_of_readme()[1]
    assert [line for line in lines if re.search(r"\b(make|pytest)\b", line)] == lines[-1:]
    assert os.access(script, os.X_OK)


def test_version_is_written_down_once():
    assert "version" in PYPROJECT["project"]["dynamic"]
    holders = [
        path
        for path in project_files()
        if path.suffix in {".py", ".toml"} and path.parts[0] != "tests"
        if f'"{kcli.__version__}"' in (ROOT / path).read_text()
    ]
    assert holders == [Path("kcli/core/version.py")]
    assert metadata.version("kcli-kafka") == kcli.__version__
    assert f"\n## [{kcli.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


UNWANTED = {
    # Written in two parts, so that this file does not find itself.
    "a note to oneself": re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b"),
    "a folder of one machine": re.compile(r"(?<![\w.}/])/(wo" + r"rk|ro" + r"ot)/"),
    "a host of a package registry": re.compile(
        r"\b(py" + r"pi\.org|python" + r"hosted|repo1?\.maven|deb\.debian|npm" + r"js\.org)"
    ),
}


@pytest.mark.parametrize("what", UNWANTED)
def test_no_file_holds(what):
    found = []
    for path in project_files():
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # sample data
        for number, line in enumerate(text.splitlines(), 1):
            if UNWANTED[what].search(line):
                found.append(f"{path}:{number}: {line.strip()[:120]}")
    assert not found, "\n".join(found)


def test_allowed_skips_name_tests_that_exist():
    files = [path.as_posix() for path in project_files()]
    for entry in read_allowed((ROOT / ALLOWED).read_text()):
        of_file = entry.pattern.partition("::")[0]
        assert any(fnmatchcase(path, of_file) for path in files), entry


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the sdist and the pure wheel; built from a copy, and without a network."""
    tree = tmp_path_factory.mktemp("tree")
    for path in project_files():
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)
    dist = tree / "dist"
    dist.mkdir()
    backend = PYPROJECT["build-system"]["build-backend"]
    script = f"import {backend} as b; b.build_sdist('dist'); b.build_wheel('dist')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tree,
        env=os.environ | {"KCLI_NO_EXT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "deprecat" not in done.stderr.lower(), done.stderr
    return dist


def package_files() -> set[str]:
    kept = {".py", ".pyi", ".typed", ".json"}
    inside = (path for path in project_files() if path.parts[0] == "kcli")
    return {path.as_posix() for path in inside if path.suffix in kept or path.name == "py.typed"}


def test_wheel_is_pure_and_holds_the_package_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"kcli_kafka-{kcli.__version__}-py3-none-any.whl"
    info = f"kcli_kafka-{kcli.__version__}.dist-info/"
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if not name.startswith(info)} == package_files() | shared_files()
    assert f"{info}licenses/LICENSE" in names


SHARED = {
    "kcli.bash": "bash-completion/completions",
    "_kcli": "zsh/site-functions",
    "kcli.fish": "fish/vendor_completions.d",
}
"""Where the shells search below the prefix of an installation."""


def shared_files() -> set[str]:
    """Every man page and completion script, under the names that an installer copies to its prefix."""
    folder = f"kcli_kafka-{kcli.__version__}.data/data/share"
    pages = [path for path in project_files() if path.parts[0] == "man"]
    scripts = [path for path in project_files() if path.parts[0] == "completions"]
    assert len(pages) > 80
    assert {path.name for path in scripts} == SHARED.keys()
    return {f"{folder}/man/man{path.suffix[1:]}/{path.name}" for path in pages} | {
        f"{folder}/{SHARED[path.name]}/{path.name}" for path in scripts
    }


def test_wheel_says_what_it_needs_and_how_it_is_called(built):
    (wheel,) = built.glob("*.whl")
    info = f"kcli_kafka-{kcli.__version__}.dist-info/"
    archive = zipfile.ZipFile(wheel)
    about = email.message_from_bytes(archive.read(f"{info}METADATA"))
    assert about["Version"] == kcli.__version__
    assert about["Requires-Python"] == PYPROJECT["project"]["requires-python"]
    assert about["License-Expression"] == "Apache-2.0"
    assert {line.rpartition(" ")[2] for line in about.get_all("Classifier") if ":: 3." in line} == {
        f"3.{minor}" for minor in VERSIONS
    }
    assert "make demo" in about.get_payload()
    assert "kcli = kcli.__main__:main" in archive.read(f"{info}entry_points.txt").decode()


def test_sdist_holds_what_make_test_needs(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    ours = {path.as_posix() for path in project_files() if path.name != ".gitignore"}
    assert ours - names == set()
