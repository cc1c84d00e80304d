"""The C kernels as they are shipped: what a wheel and an sdist hold, and that kcli installs without a compiler."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import kcli
from tests.checks.test_project import PYPROJECT, ROOT, package_files, project_files

NATIVE = Path("kcli", "core", "kernels", "native")
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
CAN_BUILD = bool(shutil.which("cc")) and Path(sysconfig.get_path("include"), "Python.h").exists()
needs_compiler = pytest.mark.skipif(not CAN_BUILD, reason="the C kernels cannot be built here")


def sources() -> set[str]:
    return {path.as_posix() for path in project_files() if path.is_relative_to(NATIVE)}


def build(tree: Path, hook: str, **environ: str) -> tuple[Path, str]:
    """What a hook of the build backend makes from a copy of the tree, and what it says."""
    for path in project_files():
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)
    backend = PYPROJECT["build-system"]["build-backend"]
    done = subprocess.run(
        [sys.executable, "-c", f"import {backend} as b; b.{hook}('dist')"],
        cwd=tree,
        env={name: value for name, value in os.environ.items() if name != "KCLI_NO_EXT"} | environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (made,) = (tree / "dist").iterdir()
    return made, done.stdout + done.stderr


def names_in(wheel: Path) -> set[str]:
    """The package in it."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("kcli/")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it is built where there is a compiler, which need not optimize for what is tested here."""
    return build(tmp_path_factory.mktemp("tree"), "build_wheel", CFLAGS="-O0")[0]


@needs_compiler
@pytest.mark.long
def test_one_wheel_holds_the_kernels_for_all_pythons_and_no_source(wheel: Path) -> None:
    own = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    expected = [own, f"{own}t"] if FREE_THREADED else ["cp311", "abi3"]
    assert wheel.stem.split("-")[2:4] == expected
    (kernels,) = names_in(wheel) - package_files()
    assert kernels.startswith("kcli/core/kernels/_native.")
    assert FREE_THREADED or kernels.endswith(".abi3.so")


@needs_compiler
@pytest.mark.long
def test_the_kernels_of_a_wheel_are_what_runs_after_installation(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    done = subprocess.run(
        [sys.executable, "-m", "kcli", "--version", "-v"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "installed"), "KCLI_IMPL": "native"},
        capture_output=True,
        text=True,
    )
    assert "\nrecords: native\n" in done.stdout, done.stderr


@pytest.mark.long
def test_the_sdist_holds_the_sources(tmp_path: Path) -> None:
    sdist, _ = build(tmp_path, "build_sdist")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sources() | {"setup.py"} <= names
    assert {Path(name).suffix for name in sources()} == {".c", ".h"}


@pytest.mark.long
@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"], ids=["missing", "broken"])
def test_without_a_working_compiler_there_is_one_notice_and_a_wheel_without_kernels(
    tmp_path: Path, compiler: str
) -> None:
    wheel, said = build(tmp_path, "build_wheel", CC=compiler)

    assert names_in(wheel) == package_files()
    assert said.count("kcli: going on in pure Python") == 1, said
    if compiler == "no-such-compiler":
        assert wheel.name == f"kcli_kafka-{kcli.__version__}-py3-none-any.whl"


@needs_compiler
def test_the_sources_compile_without_a_warning(tmp_path: Path) -> None:
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wstrict-prototypes", "-Werror"]
    include = sysconfig.get_path("include")
    limited = [] if FREE_THREADED else ["-DPy_LIMITED_API=0x030B0000"]
    files = [str(ROOT / name) for name in sorted(sources()) if name.endswith(".c")]
    command = ["cc", "-std=c11", "-O1", "-fsyntax-only", *strict, *limited, "-isystem", include, *files]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
