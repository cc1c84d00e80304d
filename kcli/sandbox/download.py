"""Downloads the jars of a Kafka version from a Maven repository; its dependencies are resolved by jgo.

Only jgo's Python resolver is used: never ``mvn``, never its downloads of Java or Maven; the files come through
``fetch``. The jars are fetched by a few threads, everything else runs in the caller's.
"""

import difflib
import hashlib
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from jgo.constants import MAVEN_CENTRAL_URL
from jgo.maven import MavenContext, PythonResolver

from kcli.core.classes import replace
from kcli.sandbox.errors import DownloadError, UsageError
from kcli.sandbox.fetch import Fetcher, NotPublishedError
from kcli.sandbox.jar_list import Jar, cached_text, repository_of, write_jar_list
from kcli.sandbox.progress import OnProgress, Progress

GROUP, NAME = "org.apache.kafka", "kafka_2.13"
_LEFT_OUT = ("kafka-tools-api",)
"""Only the tool that prints log segments uses it. The description of 4.4.0 names it, but the repository does not have it
(seen 2026-11-21): with it that version could not be resolved at all."""

_PARALLEL = 4


def download(version: str, cache: Path, on_progress: OnProgress) -> None:
    """Fetch what is missing of ``version`` and record its list of jars; see ``artifacts.classpath`` for the errors."""
    repository = repository_of(cache)
    fetcher = Fetcher(os.environ.get("KCLI_MAVEN_REPO") or str(MAVEN_CENTRAL_URL))
    counter = _Counter(on_progress)
    try:
        paths = _resolve(version, repository, fetcher, counter)
        jars = _fetch_all(paths, repository, fetcher, counter)
    except DownloadError as error:
        if not error.do:
            error.do = "try again; a version that never resolves is worth an issue"
        if not isinstance(error, NotPublishedError):
            error.why = "; ".join(filter(None, (error.why, cached_text(cache))))
        raise
    write_jar_list(cache, version, jars)
    counter.stage("done")


class _Counter:
    """Adds up what the fetching threads report and passes snapshots on; one lock guards both."""

    def __init__(self, listener: OnProgress) -> None:
        self._listener = listener
        self._lock = threading.Lock()
        self._now = Progress("resolve")

    def stage(self, name: str) -> None:
        self._change(stage=name)

    def start_download(self, jars: int, size: int) -> None:
        self._change(stage="download", jars_done=0, jars_total=jars, bytes_done=0, bytes_total=size)

    def add_jar(self) -> None:
        with self._lock:
            self._now = replace(self._now, jars_done=self._now.jars_done + 1)
            self._listener(self._now)

    def add_bytes(self, count: int) -> None:
        with self._lock:
            self._now = replace(self._now, bytes_done=self._now.bytes_done + count)
            self._listener(self._now)

    def _change(self, **fields: Any) -> None:
        with self._lock:
            self._now = replace(self._now, **fields)
            self._listener(self._now)


def _resolve(version: str, repository: Path, fetcher: Fetcher, counter: _Counter) -> list[str]:
    """The repository paths of all jars needed, Kafka's own first."""
    context = _maven_context(repository, fetcher, counter)
    counter.stage("resolve")
    project = context.project(GROUP, NAME)
    try:
        project.at_version(version).pom()
    except NotPublishedError as error:
        raise _unknown_version(version, repository, fetcher) from error
    left_out = [context.project(GROUP, name) for name in _LEFT_OUT]
    wanted = context.create_dependency(f"{GROUP}:{NAME}:{version}", exclusions=left_out)
    inputs, transitive = context.resolver.resolve([wanted])
    artifacts = [dependency.artifact for dependency in (*inputs, *transitive)]
    versions = {artifact.artifactId: artifact.version for artifact in artifacts}
    for group, name, binding in logging_jars(versions):
        artifacts.append(context.project(group, name).at_version(binding).artifact())
    return [(a.component.path_prefix / a.filename).as_posix() for a in artifacts]


def logging_jars(versions: dict[str, str]) -> list[tuple[str, str, str]]:
    """What must join ``versions`` (artifact -> version) so that slf4j has a back end: (group,
    artifact, version).

    Kafka's download has one, its Maven descriptions do not. From 4.0 on they bring log4j 2 and lack
    the bridge to it; before that there is no log4j at all, though ``kafka.utils.Log4jController``
    refers to version 1, whose maintained form is reload4j.
    """
    slf4j = versions.get("slf4j-api", "1.7.36")
    modern = not slf4j.startswith("1.")
    log4j = versions.get("log4j-core")
    if log4j:
        bridge = "log4j-slf4j2-impl" if modern else "log4j-slf4j-impl"
        return [("org.apache.logging.log4j", bridge, log4j)]
    return [
        ("org.slf4j", "slf4j-reload4j", slf4j if modern else "1.7.36"),
        ("ch.qos.reload4j", "reload4j", "1.2.25"),
    ]


def _fetch_all(paths: list[str], repository: Path, fetcher: Fetcher, counter: _Counter) -> list[Jar]:
    """Fetch what is missing, a few at a time; the first failure ends it and is raised."""
    missing = [path for path in paths if not (repository / path).exists()]
    with ThreadPoolExecutor(_PARALLEL, thread_name_prefix="kcli-jars") as pool:
        try:
            sizes = pool.map(fetcher.size, missing)
            counter.start_download(len(missing), sum(sizes))
            for _ in pool.map(lambda path: _fetch_one(path, repository, fetcher, counter), missing):
                pass
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [_describe(path, repository / path) for path in paths]


def _fetch_one(path: str, repository: Path, fetcher: Fetcher, counter: _Counter) -> None:
    fetcher.fetch(path, repository / path, on_bytes=counter.add_bytes)
    counter.add_jar()


def _describe(path: str, file: Path) -> Jar:
    content = file.read_bytes()
    sha1 = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    return Jar(path, len(content), sha1)


def _maven_context(repository: Path, fetcher: Fetcher, counter: _Counter) -> MavenContext:
    """jgo's resolver, with ``fetch`` in place of its own download.

    jgo silently leaves out a dependency whose description raises an OSError, ValueError,
    RuntimeError or KeyError: a network that fails half-way would give a classpath with holes.
    ``DownloadError`` is none of these, so it comes through.
    """

    class CheckedResolver(PythonResolver):
        def download(self, artifact: Any) -> Path:
            target: Path = artifact.cached_path
            path = (artifact.component.path_prefix / artifact.filename).as_posix()
            fetcher.fetch(path, target, on_bytes=lambda _count: None)
            counter.add_jar()
            return target

    return MavenContext(
        resolver=CheckedResolver(),
        repo_cache=repository,
        local_repos=[],
        remote_repos={"central": fetcher.base},
    )


def _unknown_version(version: str, repository: Path, fetcher: Fetcher) -> DownloadError | UsageError:
    folder = f"{GROUP.replace('.', '/')}/{NAME}"
    listing = repository / folder / "maven-metadata-central.xml"
    try:
        fetcher.fetch(f"{folder}/maven-metadata.xml", listing, on_bytes=lambda _count: None)
    except DownloadError as error:
        return error
    known = re.findall(r"<version>([^<]+)</version>", listing.read_text("utf-8"))
    near = difflib.get_close_matches(version, known, n=4, cutoff=0.4)  # noqa: TID251 - less near than near_names
    return UsageError(
        f"Kafka {version} is not published as {NAME}",
        why=f"versions go from {known[0]} to {known[-1]}" if known else "",
        do=f"perhaps --kafka-version {' or '.join(near)}" if near else "",
    )
