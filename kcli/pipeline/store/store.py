"""What an export needs of the place that has its files, and what such a place promises.

A store has files by relative paths with ``/``, below one URL or folder, which is all that travels to tasks: each process
opens the store anew, with the credentials of its own environment. The promises, of each implementation:

* A file that was begun has no name. ``commit`` gives it one at once and whole: nobody ever sees a part, whatever is
  killed. So a file that is there is complete. The first to commit has the name; the second one's bytes are discarded.
* ``read`` and ``size`` are of now. ``names`` may be late (a listing), and nothing may depend on it but courtesy: whether
  something else is in a new folder, and what killed runs have left.
* ``put`` replaces a small document whole, and only the version that was read before: of two runs at once, one is refused.
  An export is what its manifest names, and the manifest is put last.
* Errors are KcliError: see ``errors``. Retries and waits inside are bounded.

``folder`` keeps the promises by temporary names, hard links and a lock; ``s3`` by multipart uploads and conditional
writes; ``arrow_fs`` (GCS, Azure, HDFS) by temporary names. It compares versions itself, just before: two runs that put in
the same instant are not told apart there. To be opened by ``urls.open_store``.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.pipeline.store.new_file import NewFile

ABSENT = ""
"""The version of a document that is not there."""
_AT_ONCE = 8


class Document(NamedTuple):
    """What ``read`` found. ``version`` is never ``ABSENT``, and another one for other bytes."""

    data: bytes
    version: str


class ChangedError(KcliError):
    """A document was replaced since it was read."""

    exit_code = ExitCode.REFUSED


class Store(Protocol):
    """See above. ``url``: an absolute path or a URL, without credentials; messages show it. ``locks``: whether
    ``writing`` knows of every other run that is alive; else a ``Lease`` does.
    """

    url: str
    locks: bool

    def name(self, path: str) -> str:
        """The full name of a file, for messages."""

    def size(self, path: str) -> int | None:
        """The size of a file; None if it is not there."""

    def open(self, path: str) -> BinaryIO:
        """A file for reading, which can seek; FileNotFoundError if it is not there."""

    def new(self, path: str) -> NewFile:
        """A file to be written, which has no name yet."""

    def read(self, path: str) -> Document | None:
        """A small document; None if it is not there."""

    def put(self, path: str, data: bytes, version: str) -> str:
        """Replaces the document of that version, or makes one if that is ``ABSENT``; returns the new version when it is
        lasting. ChangedError if it has another version now, and other bytes than ``data``.
        """

    def delete(self, path: str) -> None:
        """Removes a file, if it is there."""

    def names(self) -> Iterable[str]:
        """The names directly below ``url``, as far as the store lists them; none for a folder that does not exist."""

    def remove_leftovers(self) -> None:
        """Removes what killed runs have begun: files without a name, as far as the store lists them."""

    def writing(self) -> AbstractContextManager[None]:
        """Around a run that writes: makes the folder, and refuses a second run at once where the store can know of it."""


def sizes(store: Store, paths: Iterable[str]) -> list[int | None]:
    """The sizes of many files: a request to an object store takes long, and several are under way at once."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(store.size, paths))


def documents(store: Store, paths: Iterable[str]) -> list[Document | None]:
    """Many small documents, several at once as well."""
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(store.read, paths))


def changed(name: str) -> ChangedError:
    """The error of ``put``."""
    return ChangedError(
        f"{name} was replaced by another run",
        why="it is not what this run has read or written",
        do="wait until the other run has ended, then run the command again",
    )
