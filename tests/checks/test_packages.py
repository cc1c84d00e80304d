"""What builds and checks packages names what is there: targets, checks, commands, versions of Python, pinned actions."""

import base64
import hashlib
import os
import re
import shlex
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.fake.cluster import FakeCluster
from tests.lines import PATHS
from tests.packages.every_command import (
    IN_ORDER,
    LATE,
    LINES,
    NAME_CLUSTERS,
    STATUS,
    WITH_JAVA,
    WITH_SPARK,
)
from tests.packages.installations import CHECKS
from tests.run import kcli_process
from tools.packaging.merge import merge
from tools.packaging.native import FREE_THREADED_VERSION, PLATFORMS, STABLE, suffix, wheel_with
from tools.packaging.platforms import VERSIONS, of_python

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_command_is_run_by_each_package() -> None:
    assert LINES.keys() == set(PATHS)
    assert STATUS.keys() | WITH_SPARK | WITH_JAVA | NAME_CLUSTERS | set(LATE) <= LINES.keys()


def test_the_lines_of_profiles_find_what_others_of_them_have_made(tmp_path: Path) -> None:
    with FakeCluster(1) as cluster:
        for leaf in (one for one in IN_ORDER if one.startswith("profile ")):
            words = shlex.split(LINES[leaf].format(dir=tmp_path, broker=cluster.bootstrap, name="here"))
            done = kcli_process(*leaf.split(), *words, XDG_CONFIG_HOME=str(tmp_path))
            assert done.code == STATUS.get(leaf, 0), (leaf, done.err)


def test_the_script_of_the_deb_may_be_imported_by_processes_that_it_starts() -> None:
    script = (ROOT / "tools" / "packaging" / "deb.sh").read_text()
    assert re.search(
        r"^from kcli.__main__ import main\n\nif __name__ == \"__main__\":.*\n    main\(\)\nEND$", script, re.M
    )


def test_scripts_run_the_tools_of_the_build_from_their_environment() -> None:
    """Whoever has one of them on the PATH as well does not see that it is another one, or none for others."""
    folder = ROOT / "tools" / "packaging"
    tools = [line.partition("==")[0] for line in (folder / "requirements.txt").read_text().splitlines()]
    tools = [name for name in tools if name and not name.startswith("#")]
    bare = re.compile(rf"^\s*(?:\w+=\S+ )*(?:{'|'.join(tools)}|pyproject-build) ")
    found = {
        f"{path.name}: {line}"
        for path in [*folder.glob("*.sh"), *(ROOT / "tools").glob("*.sh")]
        for line in re.split(r"\n|&&|\|\||\$\(|; ", path.read_text())
        if bare.match(line)
    }
    assert len(tools) > 5
    assert not found
    assert bare.match("twine check --strict")


# --- workflows -----------------------------------------------------------------------------------------


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return found


def lines(path: Path) -> list[str]:
    """All that the steps run."""
    steps = [step for job in jobs(path).values() for step in job["steps"]]
    return [line for step in steps for line in step.get("run", "").splitlines()]


def unpinned(text: str) -> list[str]:
    """Actions that are not named by commit, with their full version behind it."""
    used = re.findall(r"uses: (.*)", text)
    return [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)]


def test_there_are_the_two_workflows() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path: Path) -> None:
    assert path.read_text().count("uses:") >= 1
    assert unpinned(path.read_text()) == []


@pytest.mark.parametrize("reference", ["main", "v4", "3d3c42e5aac5ba805825da76410c181273ba90b1"])
def test_actions_without_commit_and_version_are_found(reference: str) -> None:
    assert unpinned(f"- uses: actions/checkout@{reference}\n") == [f"actions/checkout@{reference}"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_targets_of_make_and_checks_that_a_workflow_names_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
    checks = []
    for line in lines(path):
        assert set(re.findall(r"\bmake ([a-z-]+)", line)) <= targets, line
        for quoted, word in re.findall(r"CHECKS=(?:'([^']*)'|(\S+))", line):
            checks += (quoted or word).split()
    if path.name == "release.yml":
        pythons = jobs(path)["smoke"]["strategy"]["matrix"]["python"]
        assert pythons == [f"3.{minor}" for minor in VERSIONS]
        assert "python${{" in checks
        named = {check for check in checks if not check.startswith("python$")} | {
            f"python{one}" for one in pythons
        }
        assert named == CHECKS.keys()


def test_ci_runs_what_runs_everywhere() -> None:
    assert lines(WORKFLOWS[0]) == [".ci/run"]


def test_only_what_publishes_may_write_and_after_all_checks() -> None:
    text = yaml.safe_load(WORKFLOWS[1].read_text())
    assert text["permissions"] == {"contents": "read"}
    assert [name for name, job in text["jobs"].items() if "permissions" in job] == ["publish"]
    publish = text["jobs"]["publish"]
    assert set(publish["needs"]) == text["jobs"].keys() - {"publish"}
    assert publish["permissions"]["id-token"] == "write"
    assert "secrets." not in WORKFLOWS[1].read_text()


# --- what the packages are for -------------------------------------------------------------------------


def test_all_that_names_versions_of_python_names_the_same() -> None:
    newest = VERSIONS[-1]
    assert (
        f"python3 (>= 3.{VERSIONS[0]}), python3 (<< 3.{newest + 1})"
        in (ROOT / "tools" / "packaging" / "deb.sh").read_text()
    )
    assert (
        f"for minor in {' '.join(map(str, VERSIONS))}; do"
        in (ROOT / "tools" / "packaging" / "deb.sh").read_text()
    )
    assert (3, newest) == FREE_THREADED_VERSION
    assert (f"-DPy_LIMITED_API=0x03{VERSIONS[0]:02X}0000",) == STABLE
    assert PYPROJECT["project"]["requires-python"] == f">=3.{VERSIONS[0]}"


def test_a_platform_of_the_pex_takes_wheels_of_the_stable_abi_and_of_older_libraries() -> None:
    tags = of_python(13, "x86_64")["compatible_tags"]
    assert isinstance(tags, list)
    wanted = ["cp313-cp313-manylinux_2_28_x86_64", "cp311-abi3-manylinux2014_x86_64", "py3-none-any"]
    assert [tag for tag in tags if tag in wanted] == wanted
    assert not [tag for tag in tags if "manylinux_2_29" in tag or "cp314" in tag]


def test_docker_copies_what_is_not_ignored_and_runs_as_nobody_special() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    kept = re.findall(r"^!(.*)", (ROOT / ".dockerignore").read_text(), re.M)
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.M)
    assert copied == ["requirements.lock dist/kcli_kafka-*-abi3-manylinux*.whl"]
    assert kept == ["requirements.lock", "dist/*.whl"]
    assert re.search(r"^USER [1-9]\d*$", dockerfile, re.M)


def test_the_page_names_the_extras_that_packages_lack() -> None:
    """All others are in each of them."""
    page = " ".join((ROOT / "docs" / "install.md").read_text().split())
    said = re.search(r"all extras except ([^.]*)\.", page)
    image = re.search(r"the image has neither ([^.]*)\.", page)
    assert said
    assert image
    lacking, of_image = (set(re.findall(r"`([a-z0-9-]+)`", one[1])) for one in (said, image))
    schemas = {"avro", "protobuf", "jsonschema"}
    extras = PYPROJECT["project"]["optional-dependencies"].keys() - {"dev", "test", "yaml"} - schemas
    listed = re.search(r"^extras='(.*)'$", (ROOT / "tools" / "packaging" / "extras.sh").read_text(), re.M)
    assert listed
    assert set(listed[1].split()) == extras - lacking
    copied = re.search(r"wheel\}\[([a-z0-9,-]+)\]", (ROOT / "Dockerfile").read_text())
    assert copied
    assert set(copied[1].split(",")) == extras - lacking - of_image


def default_installation() -> dict[str, int]:
    """The bytes of files of each distribution that kcli needs without an extra."""
    found: dict[str, int] = {}
    todo = list(PYPROJECT["project"]["dependencies"])
    while todo:
        requirement = Requirement(todo.pop())
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        one = metadata.distribution(requirement.name)
        name = canonicalize_name(requirement.name)
        if name not in found:
            files = [file.locate() for file in one.files or () if file.suffix != ".pyc"]
            found[name] = sum(os.path.getsize(path) for path in files if os.path.exists(path))
            todo += one.requires or ()
    return found


def test_the_page_names_what_weighs_a_megabyte() -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ([0-9.]+) \|", page, re.M)
    said = {canonicalize_name(row[0].partition(",")[0]): float(row[1]) for row in rows}
    heavy = {name: size / 1e6 for name, size in default_installation().items() if size >= 1e6}
    assert len(heavy) >= 5
    assert {name for name in heavy if not 0.75 <= heavy[name] / said.get(name, 0.01) <= 1.25} == set()
    (total,) = re.findall(r"default installation is (\d+) MB", page)
    assert abs(sum(float(row[1]) for row in rows) - int(total)) < 1


# --- wheels with the C kernels --------------------------------------------------------------------------


def test_a_wheel_of_a_platform_is_the_pure_one_with_an_extension(tmp_path: Path) -> None:
    info = "kcli_kafka-1.dist-info"
    with zipfile.ZipFile(tmp_path / "kcli_kafka-1-py3-none-any.whl", "w") as pure:
        pure.writestr("kcli/core/kernels/__init__.py", "")
        pure.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n")
        pure.writestr(
            f"{info}/RECORD", f"kcli/core/kernels/__init__.py,x,0\n{info}/WHEEL,x,1\n{info}/RECORD,,\n"
        )
    tag = f"cp311-abi3-{next(iter(PLATFORMS))}"
    made = wheel_with(
        Path(pure.filename or ""), b"machine code", "kcli/core/kernels/_native.abi3.so", tag, tmp_path
    )
    assert made.name == f"kcli_kafka-1-{tag}.whl"
    with zipfile.ZipFile(made) as wheel:
        assert wheel.testzip() is None
        assert wheel.read("kcli/core/kernels/_native.abi3.so") == b"machine code"
        assert wheel.read(f"{info}/WHEEL").decode().splitlines()[1:] == [
            "Root-Is-Purelib: false",
            "Tag: cp311-abi3-manylinux_2_17_x86_64",
            "Tag: cp311-abi3-manylinux2014_x86_64",
            "",
        ]
        rows = [row.split(",") for row in wheel.read(f"{info}/RECORD").decode().splitlines()]
        assert sorted(row[0] for row in rows) == sorted(wheel.namelist())
        for name, digest, size in rows:
            if digest.startswith("sha256="):
                data = wheel.read(name)
                hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
                assert (digest, int(size)) == (f"sha256={hashed}", len(data))


def test_an_extension_has_the_name_that_python_looks_for() -> None:
    assert {suffix("abi3", zig) for zig in PLATFORMS.values()} == {".abi3.so"}
    assert [suffix("cp314t", zig) for zig in PLATFORMS.values()] == [
        ".cpython-314t-x86_64-linux-gnu.so",
        ".cpython-314t-aarch64-linux-gnu.so",
        ".cpython-314t-x86_64-linux-musl.so",
        ".cpython-314t-aarch64-linux-musl.so",
        ".cpython-314t-darwin.so",
        ".cpython-314t-darwin.so",
    ]


# --- libraries of several versions of Python in one folder ----------------------------------------------


def put(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_merged_libraries_have_the_modules_of_both_versions(tmp_path: Path) -> None:
    info = tmp_path / "site" / "lib-1.dist-info"
    for number in ("311", "312"):
        one = put(tmp_path / number, lib__init="same", bin__kcli="#!/here")
        put(one / "lib", **{f"c{number}": number})
        put(one / "lib-1.dist-info", RECORD=f"lib/init,,\nlib/c{number},,\nbin/kcli,,\n", WHEEL=number)
        assert merge(one, tmp_path / "site") == []
    assert sorted(path.name for path in (tmp_path / "site" / "lib").iterdir()) == ["c311", "c312", "init"]
    assert (info / "RECORD").read_text() == "lib/c311,,\nlib/c312,,\nlib/init,,\n"
    assert (info / "WHEEL").read_text() == "311"
    assert not (tmp_path / "site" / "bin").exists()


def test_libraries_that_differ_are_not_merged(tmp_path: Path) -> None:
    put(tmp_path / "site", lib__init="old")
    assert merge(put(tmp_path / "other", lib__init="new"), tmp_path / "site") == ["lib/init"]
