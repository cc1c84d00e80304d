"""requirements.lock has every run-time dependency, at a version that pyproject.toml allows, with its hashes."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()
FOR_DEVELOPERS = ("dev", "test")


def wanted() -> list[Requirement]:
    """What kcli and its extras for users need, without themselves."""
    extras = [lines for name, lines in PROJECT["optional-dependencies"].items() if name not in FOR_DEVELOPERS]
    found = [Requirement(line) for lines in [PROJECT["dependencies"], *extras] for line in lines]
    return [one for one in found if one.name != PROJECT["name"]]


def locked(text: str) -> dict[str, tuple[str, int]]:
    """Version and number of hashes of each package."""
    found = {}
    for entry in text.replace("\\\n", " ").splitlines():
        requirement = Requirement(entry.partition("--hash")[0])
        (exact,) = requirement.specifier
        assert exact.operator == "=="
        hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}(?= |$)", entry)
        assert len(hashes) == entry.count("--hash")
        found[normal(requirement.name)] = (exact.version, len(hashes))
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def faults(text: str) -> list[str]:
    """What is wrong with a lock."""
    packages = locked(text)
    wrong = [f"{name} has no hash" for name, (_, hashes) in packages.items() if not hashes]
    for one in wanted():
        version, _ = packages.get(normal(one.name), ("", 0))
        if not version:
            wrong.append(f"{one.name} is missing")
        elif version not in one.specifier:
            wrong.append(f"{one} is locked at {version}")
    return wrong


@pytest.mark.case("X28")
def test_the_lock_has_all_that_kcli_needs_at_run_time() -> None:
    assert not faults(LOCK), "make lock"


@pytest.mark.case("X28")
def test_the_lock_names_no_registry_and_no_folder() -> None:
    assert not re.search(r"https?:|file:|^-|^/|\.whl", LOCK, re.M)


@pytest.mark.case("X31")
@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [
        (r"(?m)^click==.*\n(?:    .*\n)+", "", "click is missing"),
        (r"(?m)^(click==).*? \\", r"\g<1>7.0 \\", "click<8.6,>=8.2 is locked at 7.0"),
        (r"(?m)^(click==[^ ]*).*\n(?:    .*\n)+", r"\g<1>\n", "click has no hash"),
    ],
)
def test_the_check_finds(pattern: str, text: str, said: str) -> None:
    assert said in faults(re.sub(pattern, text, LOCK))
