"""The cache of jars, and the choice of a logging back end; no network."""

import hashlib
from pathlib import Path

import pytest

from kcli.sandbox import artifacts
from kcli.sandbox.artifacts import classpath
from kcli.sandbox.download import logging_jars
from kcli.sandbox.errors import ExtraMissingError
from kcli.sandbox.jar_list import Jar, cached_versions, read_jar_list, repository_of, write_jar_list


def fill(cache: Path, version: str = "1.2.3") -> Path:
    jar = repository_of(cache) / "a" / "a.jar"
    jar.parent.mkdir(parents=True, exist_ok=True)
    jar.write_bytes(b"12345")
    sha1 = hashlib.sha1(b"12345").hexdigest()
    write_jar_list(cache, version, [Jar("a/a.jar", 5, sha1)])
    return jar


def test_a_complete_list_needs_neither_network_nor_jgo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = fill(tmp_path)
    monkeypatch.setattr(artifacts, "_download", lambda *_args: pytest.fail("it downloads"))
    assert classpath("1.2.3", cache=tmp_path) == [jar]
    assert cached_versions(tmp_path) == ["1.2.3"]


def test_a_missing_or_cut_jar_makes_the_list_incomplete(tmp_path: Path) -> None:
    jar = fill(tmp_path)
    jar.write_bytes(b"123")
    assert read_jar_list(tmp_path, "1.2.3") is None
    jar.unlink()
    assert read_jar_list(tmp_path, "1.2.3") is None


@pytest.mark.parametrize("text", ["", "{", '{"jars": []}', '{"jars": [{"path": "x"}]}', "[]"])
def test_a_damaged_list_is_no_list(tmp_path: Path, text: str) -> None:
    fill(tmp_path)
    (tmp_path / "kafka" / "1.2.3.json").write_text(text)
    assert read_jar_list(tmp_path, "1.2.3") is None


def test_without_jgo_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, "9.9.9")
    monkeypatch.setattr(artifacts, "find_spec", lambda _name: None)
    with pytest.raises(ExtraMissingError) as caught:
        classpath("1.2.3", cache=tmp_path)
    assert "kcli-kafka[sandbox]" in caught.value.do
    assert caught.value.exit_code == 2
    assert "ready without a network: 9.9.9" in caught.value.why


@pytest.mark.parametrize(
    ("versions", "names"),
    [
        ({"slf4j-api": "1.7.36", "log4j-core": "2.25.4"}, ["log4j-slf4j-impl:2.25.4"]),
        ({"slf4j-api": "2.0.17", "log4j-core": "2.25.4"}, ["log4j-slf4j2-impl:2.25.4"]),
        ({"slf4j-api": "1.7.30"}, ["slf4j-reload4j:1.7.36", "reload4j:1.2.25"]),
    ],
)
def test_slf4j_gets_the_back_end_that_fits(versions: dict[str, str], names: list[str]) -> None:
    assert [f"{name}:{version}" for _group, name, version in logging_jars(versions)] == names
