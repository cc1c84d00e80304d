"""Google Cloud Storage, Azure and HDFS, by pyarrow's file systems.

The destructor of a stream of pyarrow completes what was written so far, and Azure shows a blob from its first byte on:
everything is written under a temporary name, and moved. On GCS that is a copy within the store, which is complete at
once; on Azure with a hierarchical namespace and on HDFS it is a rename; on Azure without, a copy of at most 256 MiB.
There are no conditional writes: versions are compared before.

Imports pyarrow: the module is imported where such a store is used.
"""

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.fs as pafs

from kcli.core.errors import KcliError
from kcli.pipeline.store.errors import StoreDeniedError, StoreError, away, no_bucket, text_of
from kcli.pipeline.store.new_file import NewFile
from kcli.pipeline.store.remote_file import RemoteFile
from kcli.pipeline.store.store import ABSENT, Document, changed

_TEMPORARY = ".tmp"
_PREVIOUS = ".previous"
_IS_TEMPORARY = re.compile(rf"/\.[^/]*\.[0-9a-f]{{16}}{re.escape(_TEMPORARY)}$")
_DENIED = re.compile(
    r"\b(401|403|PERMISSION_DENIED|UNAUTHENTICATED|Auth[a-z]*Fail[a-z]*|AuthorizationFailure|AccessControlException)\b"
    r"|credential",
    re.IGNORECASE,
)
_NO_BUCKET = re.compile(r"ContainerNotFound|FilesystemNotFound|bucket does not exist", re.IGNORECASE)
_AWAY = re.compile(
    r"UNAVAILABLE|DEADLINE_EXCEEDED|connect|timed? ?out|CURL error|resolve|\b(429|500|502|503|504)\b",
    re.IGNORECASE,
)


class ArrowStore:
    """See ``Store``. ``root``: the folder within ``filesystem``, whose first part is the ``bucket``: empty on HDFS, which
    has none. ``chain``: where credentials come from.
    """

    locks = False

    def __init__(self, url: str, filesystem: Any, root: str, *, bucket: str, chain: str) -> None:
        self.url = url
        self.filesystem = filesystem
        self._root = root
        self._bucket = bucket
        self._kind = "container" if url.startswith("abfss:") else "bucket"
        self._chain = chain

    def name(self, path: str) -> str:
        """See ``Store``."""
        return f"{self.url}/{path}" if path else self.url

    def size(self, path: str) -> int | None:
        """See ``Store``."""
        with self.errors(path):
            found = self.filesystem.get_file_info(self.full(path))
        return found.size if found.type == pafs.FileType.File else None

    def open(self, path: str) -> BinaryIO:
        """See ``Store``."""
        with self.errors(path):
            stream = self.filesystem.open_input_file(self.full(path))
            size = stream.size()

        def fetch(start: int, stop: int) -> bytes:
            with self.errors(path):
                data = bytes(stream.read_at(stop - start, start))
            if len(data) != stop - start:
                raise changed(self.name(path))
            return data

        return cast(BinaryIO, RemoteFile(size, fetch))

    def new(self, path: str) -> NewFile:
        """See ``Store``."""
        return _NewArrowFile(self, path)

    def read(self, path: str) -> Document | None:
        """See ``Store``. A document that is being replaced on HDFS is the previous one."""
        for each in (path, path + _PREVIOUS):
            with contextlib.suppress(FileNotFoundError), self.errors(each):
                with self.filesystem.open_input_file(self.full(each)) as stream:
                    data = bytes(stream.read())
                return Document(data, hashlib.sha256(data).hexdigest())
        self._check_bucket()
        return None

    def put(self, path: str, data: bytes, version: str) -> str:
        """See ``Store``."""
        found = self.read(path)
        new = hashlib.sha256(data).hexdigest()
        if found is not None and found.data == data:
            return new
        if (ABSENT if found is None else found.version) != version:
            raise changed(self.name(path))
        with _NewArrowFile(self, path) as file:
            file.write(data)
            file.replace()
        return new

    def delete(self, path: str) -> None:
        """See ``Store``."""
        with contextlib.suppress(FileNotFoundError), self.errors(path):
            self.filesystem.delete_file(self.full(path))

    def names(self) -> Iterable[str]:
        """See ``Store``."""
        return [found.base_name for found in self._listed(recursive=False)]

    def remove_leftovers(self) -> None:
        """See ``Store``."""
        for found in self._listed(recursive=True):
            if _IS_TEMPORARY.search(found.path):
                with contextlib.suppress(FileNotFoundError), self.errors(""):
                    self.filesystem.delete_file(found.path)

    def writing(self) -> AbstractContextManager[None]:
        """See ``Store``."""
        return nullcontext()

    # for files

    def full(self, path: str) -> str:
        """The path in the file system."""
        return f"{self._root}/{path}"

    @contextmanager
    def errors(self, path: str) -> Iterator[None]:
        """Errors of pyarrow in the block as kcli's, but for FileNotFoundError."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            text = text_of(error)
            if isinstance(error, FileNotFoundError) and not _NO_BUCKET.search(text):
                raise
            raise self._typed(error, self.name(path), text) from error

    def _typed(self, error: Exception, name: str, text: str) -> KcliError:
        if _NO_BUCKET.search(text):
            return no_bucket(self.url, f"{self._kind} {self._bucket}")
        if _DENIED.search(text) or getattr(error, "errno", 0) == errno.EACCES:
            return StoreDeniedError(
                f"{name}: access denied", why=text, do=f"check the credentials: {self._chain}"
            )
        if _AWAY.search(text):
            return away(name, text, "the endpoint")
        return StoreError(f"{name}: the store failed", why=text)

    def _check_bucket(self) -> None:
        """Errors for a bucket that does not exist, which looks like one without the file."""
        if self._bucket:
            with self.errors(""):
                found = self.filesystem.get_file_info(self._bucket)
            if found.type == pafs.FileType.NotFound:
                raise no_bucket(self.url, f"{self._kind} {self._bucket}")

    def _listed(self, *, recursive: bool) -> list[Any]:
        selector = pafs.FileSelector(self._root, recursive=recursive, allow_not_found=True)
        with contextlib.suppress(FileNotFoundError), self.errors(""):
            return list(self.filesystem.get_file_info(selector))
        return []


class _NewArrowFile(NewFile):
    """Under a temporary name until it is complete."""

    def __init__(self, store: ArrowStore, path: str) -> None:
        super().__init__(store.name(path))
        self._store = store
        self._path = path
        folder, last = os.path.split(path)
        self._temporary = os.path.join(folder, f".{last}.{os.urandom(8).hex()}{_TEMPORARY}")
        with store.errors(path):
            if store.filesystem.type_name == "hdfs":
                store.filesystem.create_dir(os.path.dirname(store.full(path)))
            self._stream = self._opened()

    def append(self, data: memoryview) -> None:
        """See ``NewFile``."""
        with self._store.errors(self._path):
            self._stream.write(data)

    def finish(self) -> bool:
        """See ``NewFile``."""
        if self._store.size(self._path) is not None:
            return False
        self._end()
        self._move(self._temporary, self._path)
        return True

    def replace(self) -> None:
        """As ``commit``, in the place of what has the name."""
        self._end()
        try:
            self._move(self._temporary, self._path)
        except (
            FileExistsError,
            StoreError,
        ):  # HDFS does not replace: ``read`` finds the previous one meanwhile
            if self._store.filesystem.type_name != "hdfs":
                raise
            self._store.delete(self._path + _PREVIOUS)
            self._move(self._path, self._path + _PREVIOUS)
            self._move(self._temporary, self._path)
            self._store.delete(self._path + _PREVIOUS)

    def discard(self) -> None:
        """See ``NewFile``. What cannot be removed now is removed by the next run."""
        if self._temporary:
            with contextlib.suppress(pa.ArrowException, OSError):
                self._stream.close()
            with contextlib.suppress(KcliError):
                self._store.delete(self._temporary)
            self._temporary = ""

    def _opened(self) -> Any:
        try:
            return self._store.filesystem.open_output_stream(self._store.full(self._temporary))
        except FileNotFoundError as error:
            raise OSError(f"bucket does not exist: {error}") from error

    def _end(self) -> None:
        with self._store.errors(self._path):
            self._stream.close()

    def _move(self, source: str, target: str) -> None:
        """In one step for readers of ``target``."""
        filesystem, full = self._store.filesystem, self._store.full
        with self._store.errors(target):
            try:
                filesystem.move(full(source), full(target))
            except pa.ArrowNotImplementedError:  # Azure without a hierarchical namespace
                filesystem.copy_file(full(source), full(target))
                filesystem.delete_file(full(source))
