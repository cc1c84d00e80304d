"""Brings kcli to the executors of a cluster: an archive with kcli, its C extension, and the libraries that tasks import.

Spark unpacks it into the working folder of each executor (``spark.archives``), where PYTHONPATH finds it. It fits one
minor version of Python and one platform, which are part of its name; made once, it stays in kcli's cache.
"""

import hashlib
import os
import re
import sys
import sysconfig
import tarfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import kcli
from kcli.core.errors import KcliError
from kcli.core.version import __version__
from kcli.files.atomic import sync_folder
from kcli.files.xdg import cache_home
from kcli.pipeline.spark.libraries import LIBRARIES, check_library, installed

DEPS = "deps"
"""The folder on the executors."""

_PACKAGE = "kcli-kafka"
_FOR_TASKS = ("fast", "avro", "protobuf", "jsonschema", "glue", "lake")
"""Extras of kcli that tasks use where they are installed."""
_ARROW = "pyarrow"
_NOT_NEEDED = {
    *("grpcio-tools", "googleapis-common-protos"),  # they compile .proto files, which only the driver does
    *("deltalake", "pyiceberg"),  # the driver commits to tables: tasks write files of Parquet
    *("rich", "textual"),  # tasks print nothing
}
_SKIPPED = re.compile(
    r"(^|/)(__pycache__|tests?|include|includes|sboms)/|\.(pyc|pyi|pxd|pxi|pyx|h|hpp|c|cc|cmake)$|^\.\./"
    r"|^botocore/data/(?!s3/|glue/|sso|sts/|signin/)[^/]+/"
    # of kcli, what its lower layers do not import
    r"|^kcli/(commands|docgen|exporter|tui)/"
    # of pyarrow, sources, and clients and servers of Flight
    r"|^pyarrow/(src/|_flight\.|flight\.py$|_pyarrow_cpp_tests\.|libarrow_(python_)?flight\.)"
    # names of one library for linkers: what runs loads libarrow_python.so.2600
    r"|^pyarrow/lib\w+\.(so|so\.\d+\.\d+\.\d+)$"
)
_KEPT = 3  # archives of other versions that stay in the cache


class PackError(KcliError):
    """The archive cannot be written."""


def archives(given: str, note: Callable[[str], object]) -> str:
    """``spark.archives`` of a session on a cluster: the user's, and kcli's unless the user names one as ``…#deps``."""
    if any(each.strip().endswith("#" + DEPS) for each in given.split(",")):
        return given
    return ",".join(filter(None, [given, f"{cached_pack(note)}#{DEPS}"]))


def cached_pack(note: Callable[[str], object] = str) -> str:
    """The archive for this Python and platform, made if it is not in the cache."""
    folder = cache_folder()
    path = folder / pack_name()
    if not path.is_file():
        note(f"packing kcli and its libraries for the executors: {path} (once)")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(str(folder), error) from None
        write_pack(str(path))
        _prune(folder, path)
    else:
        os.utime(path)
    return str(path)


def cache_folder() -> Path:
    """Where archives are kept."""
    return cache_home() / "spark"


def pack_name() -> str:
    """Python and platform, the version of kcli, and what is inside."""
    files = [
        f"{name}:{state.st_size}:{state.st_mtime_ns}"
        for name, path in _kcli_files()
        if (state := path.stat())
    ]
    versions = [f"{each.name}={each.version}" for each in _distributions()]
    digest = hashlib.sha256("\n".join([*files, *sorted(versions)]).encode()).hexdigest()[:12]
    return f"kcli-{__version__}-{python_tag()}-{platform_tag()}-{digest}.tar.gz"


def python_tag() -> str:
    """``cp311``"""
    implementation = "cp" if sys.implementation.name == "cpython" else sys.implementation.name
    return f"{implementation}{sys.version_info[0]}{sys.version_info[1]}"


def platform_tag() -> str:
    """``linux_x86_64``"""
    return re.sub(r"[^a-z0-9]+", "_", sysconfig.get_platform().lower())


def check_packable() -> None:
    """ConfigError unless this machine has the pyarrow that tasks need: it is in the archive."""
    for library in LIBRARIES:
        if library.name == "pyarrow":
            check_library(library, installed(library.name), otherwise="")


def facts() -> dict[str, object]:
    """What an archive says about itself."""
    return {
        "kcli": __version__,
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "platform": platform_tag(),
        "distributions": {each.name: each.version for each in _distributions()},
    }


def write_pack(path: str) -> int:
    """Writes the archive to ``path``; returns its size in bytes."""
    temporary = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        with tarfile.open(temporary, "x:gz", compresslevel=6) as archive:
            for name, file in _files():
                archive.add(file, name, recursive=False)
        size = os.path.getsize(temporary)
        os.replace(temporary, path)
        sync_folder(os.path.dirname(os.path.abspath(path)))
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return size


def _unwritable(path: str, error: OSError) -> PackError:
    return PackError(
        f"cannot write {path}",
        why=error.strerror or str(error),
        do="name a writable file with `kcli pipeline pack --file FILE`, or set XDG_CACHE_HOME",
    )


def _files() -> Iterator[tuple[str, Path]]:
    """The files of the archive, each with its name in it."""
    yield from _kcli_files()
    for distribution in _distributions():
        for file in distribution.files or ():
            name = file.as_posix()
            found = Path(str(distribution.locate_file(file)))
            if not _SKIPPED.search(name) and found.is_file():
                yield name, found


def _kcli_files() -> Iterator[tuple[str, Path]]:
    """The files of the kcli that is imported, which may be an editable installation."""
    root = Path(os.path.abspath(kcli.__file__)).parent
    for path in sorted(root.rglob("*")):
        name = f"kcli/{path.relative_to(root).as_posix()}"
        if path.suffix in (".py", ".so") and not _SKIPPED.search(name):
            yield name, path


def _distributions() -> list[metadata.Distribution]:
    """kcli's dependencies, those of the extras that tasks use, and pyarrow, as far as they are installed."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [*_required(_PACKAGE, _FOR_TASKS), _ARROW]
    while waiting:
        name = _normal(waiting.pop())
        if name in found or name in _NOT_NEEDED:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # for another platform, or of an extra that is not installed
            continue
        waiting += _required(name)
    return [found[name] for name in sorted(found)]


def _required(name: str, extras: tuple[str, ...] = ()) -> list[str]:
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:  # kcli runs from its sources
        return []
    found = []
    for line in lines:
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", line)
        if extra is None or extra[1] in extras:
            match = re.match(r"[A-Za-z0-9._-]+", line)
            if match and match[0] != _PACKAGE:
                found.append(match[0])
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _prune(folder: Path, newest: Path) -> None:
    """Removes the archives of other versions, but the last ones used."""
    others = sorted(folder.glob("kcli-*.tar.gz"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in [each for each in others if each != newest][_KEPT - 1 :]:
        path.unlink(missing_ok=True)
