"""The jars of Spark's own Kafka connector, from the cache or a Maven repository.

pyspark does not have them. There is no connector for each version of Spark in the repositories, so these four are named:
they work with pyspark 4.2 and 4.3. What else they depend on is among Spark's jars.
"""

from __future__ import annotations

import os
from pathlib import Path

from kcli.sandbox.errors import DownloadError
from kcli.sandbox.fetch import Fetcher
from kcli.sandbox.jar_list import repository_of
from kcli.sandbox.paths import cache_root

_JARS = (
    ("org/apache/spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org/apache/spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org/apache/kafka", "kafka-clients", "3.9.2"),
    ("org/apache/commons", "commons-pool2", "2.12.1"),
)


def jars() -> list[Path]:
    """The files, downloaded on first use. Raises DownloadError, also where the library for that is not installed."""
    repository = repository_of(cache_root())
    found = []
    for group, name, version in _JARS:
        path = f"{group}/{name}/{version}/{name}-{version}.jar"
        found.append(repository / path)
        if not found[-1].exists():
            _fetch(path, found[-1])
    return found


def _fetch(path: str, target: Path) -> None:
    try:
        from jgo.constants import MAVEN_CENTRAL_URL
    except ImportError as error:
        raise DownloadError("Spark's Kafka connector is not in the cache", why=str(error)) from None
    base = os.environ.get("KCLI_MAVEN_REPO") or str(MAVEN_CENTRAL_URL)
    Fetcher(base).fetch(path, target, on_bytes=lambda _count: None)
