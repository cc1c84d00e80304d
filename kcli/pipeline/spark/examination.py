"""Examines step by step whether jobs can run on Spark, and reach the cluster from there. A step that fails ends it."""

import os
import sys
from collections.abc import Iterator

from kcli.core.errors import KcliError
from kcli.flows.doctor.findings import FAILED, Finding, failure, well
from kcli.flows.stop import Stop
from kcli.pipeline.spark.java import spark_java
from kcli.pipeline.spark.libraries import LIBRARIES, check_library, installed
from kcli.pipeline.spark.subject import Subject

LIBRARY, JAVA = "libraries", "java"


def examine(subject: Subject, stop: Stop) -> Iterator[Finding]:
    """The findings as they are made."""
    for step in (_libraries, _java):
        found = list(step(subject))
        yield from found
        if any(one.status == FAILED for one in found):
            return
    from kcli.pipeline.spark.session_examination import examine_session  # pyspark, which is there

    yield from examine_session(subject, stop)


def _libraries(_subject: Subject) -> Iterator[Finding]:
    yield well(LIBRARY, "python", f"{sys.version.split()[0]} ({sys.executable})")
    for library in LIBRARIES:
        version = installed(library.name)
        try:
            check_library(library, version)
        except KcliError as error:
            yield failure(LIBRARY, library.name, error)
        else:
            yield well(LIBRARY, library.name, str(version))


def _java(subject: Subject) -> Iterator[Finding]:
    try:
        found = spark_java(subject.java_home)
    except KcliError as error:
        yield failure(JAVA, "java", error)
        return
    java = found.java
    wrapped = (
        "" if os.path.dirname(os.path.dirname(os.path.realpath(java.path))) == found.home else ", wrapped"
    )
    yield well(JAVA, "java", f"Java {java.version} from {java.source} ({java.path}{wrapped})")
