"""From a Kafka version to the list of its jars: from the cache, else downloaded (``download``).

One process downloads at a time (a lock in the cache).
"""

from importlib.util import find_spec
from pathlib import Path

from kcli.core.extras import installation
from kcli.files.lock import file_lock
from kcli.sandbox.errors import DownloadError, ExtraMissingError
from kcli.sandbox.jar_list import cached_text, read_jar_list
from kcli.sandbox.paths import cache_root
from kcli.sandbox.progress import OnProgress, Progress, ignore_progress

_LOCK_TIMEOUT = 600.0


def classpath(
    version: str, *, cache: Path | None = None, on_progress: OnProgress = ignore_progress
) -> list[Path]:
    """The jars that run Kafka ``version``, downloaded on first use; offline and instant once they are cached.

    Raises ``UsageError`` for a version that is not published, ``DownloadError`` when it cannot be fetched,
    ``ExtraMissingError`` without the library that does it.
    """
    cache = cache or cache_root()
    jars = read_jar_list(cache, version)
    if jars is not None:
        return jars
    with file_lock(
        cache / "maven.lock",
        timeout=_LOCK_TIMEOUT,
        doing="downloading Kafka",
        on_wait=lambda: on_progress(Progress("wait")),
    ):
        jars = read_jar_list(cache, version)
        if jars is None:
            _download(version, cache, on_progress)
            jars = read_jar_list(cache, version)
    if jars is None:
        raise DownloadError(
            f"the jars of Kafka {version} vanished from {cache}",
            why="the list of its jars was written, and cannot be read back",
            do="find out which program empties that folder",
        )
    return jars


def check_obtainable(version: str, cache: Path | None = None) -> None:
    """ExtraMissingError for jars that are not in the cache, without what downloads them. Downloads nothing."""
    cache = cache or cache_root()
    if read_jar_list(cache, version) is None:
        _check_downloadable(version, cache)


def _check_downloadable(version: str, cache: Path) -> None:
    if find_spec("jgo") is None:
        raise ExtraMissingError(
            f"Kafka {version} is not in the cache, and jgo, which finds its jars, is not installed",
            why=cached_text(cache),
            do=installation("sandbox"),
        )


def _download(version: str, cache: Path, on_progress: OnProgress) -> None:
    _check_downloadable(version, cache)
    from kcli.sandbox.download import download  # needs the optional extra, and only the first start needs it

    download(version, cache, on_progress)
