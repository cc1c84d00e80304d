"""``--checkpoint FILE``: how far the input is confirmed, so that a killed run can be resumed.

Written atomically, so there is always a complete file. It records its identity: a run with other flags, another topic
or another input refuses it. The same name is another topic if its id has changed: what is confirmed went with the
old one, so the run ends, at its start or as soon as metadata shows it. A lock file beside it excludes a second run.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kcli.core.errors import ConfigError, DataLossError
from kcli.files.atomic import replace_file
from kcli.files.lock import file_lock, is_locked, locked_error
from kcli.flows.inputs.item import InputPosition
from kcli.flows.produce.failed_file import cannot_open, cannot_write

KIND = "ProduceCheckpoint"
_USING = "using the checkpoint {}"


class Identity(msgspec.Struct, frozen=True):
    """The identity of a checkpoint, which a resumed run must match. ``form``: the flags that define what a record is."""

    topic: str
    inputs: tuple[str, ...]
    form: str
    transactional_id: str = ""


class _Document(msgspec.Struct):
    kind: str
    run: str
    identity: Identity
    source: int
    line: int
    offset: int
    crc32: int
    finished: bool = False
    failed: str | None = None
    topic_id: str = ""


class Checkpoint:
    """``run`` names the first run and all that resume it; ``position`` is where this run begins.

    ``failed``: the ``--failed`` file of the run. ``failed_again``: the previous run had the same file, so its lines are
    of this input.
    """

    def __init__(self, path: str, identity: Identity, *, failed: str | None = None) -> None:
        self.path = path
        self.failed = None if failed is None else os.path.abspath(failed)
        self.failed_again = False
        self.run = os.urandom(8).hex()
        self.position = InputPosition()
        self.resumes = self.finished = False
        self._topic_id = ""
        self._present_id: Callable[[], bytes] = bytes
        self._identity = identity
        self._saved: tuple[InputPosition, bool] | None = None

    def load(self) -> None:
        """Reads what an earlier run left, if anything; ConfigError if it belongs to another run."""
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):
                raise ConfigError(
                    f"{self.path} is no checkpoint",
                    why="it is no regular file, and would be replaced by one",
                    do="name another file",
                )
            data = Path(self.path).read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise ConfigError(
                f"cannot read {self.path}",
                why=(error.strerror or str(error)).lower(),
                do="make it readable, or name another file with --checkpoint",
            ) from None
        if not data:
            return
        try:
            found = msgspec.json.decode(data, type=_Document)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{self.path} is no checkpoint", why=str(error).lower(), do="name another file"
            ) from None
        if found.kind != KIND:
            raise ConfigError(
                f"{self.path} is no checkpoint",
                why=f"its kind is {found.kind!r}, not {KIND!r}",
                do="name another file with --checkpoint, or remove this one",
            )
        self._check(found.identity)
        self.run, self.resumes = found.run, True
        self.finished = found.finished
        self.failed_again = self.failed is not None and found.failed == self.failed
        self.position = InputPosition(found.source, found.line - 1, found.offset, found.crc32)
        self._topic_id = found.topic_id

    def watch_topic(self, topic_id: Callable[[], bytes]) -> None:
        """``topic_id`` returns that of the topic that is written, all zeros if it is not known. DataLossError, here and
        when a position is saved, if that is not the topic of the checkpoint.
        """
        self._present_id = topic_id
        self._check_topic()

    def _check_topic(self) -> None:
        topic_id = self._present_id()
        now = topic_id.hex() if any(topic_id) else ""
        if self._topic_id and now and self._topic_id != now:
            raise DataLossError(
                f"topic {self._identity.topic} was deleted and created again",
                why=f"what {self.path} counts as confirmed was stored in the topic that is gone",
                do=f"remove {self.path} to send the whole input to the new topic, or name another checkpoint",
            )
        self._topic_id = self._topic_id or now

    def save(self, position: InputPosition, *, finished: bool = False) -> None:
        """Writes the position; FileError when it cannot be written, and the old one stays. DataLossError: see
        ``watch_topic``.
        """
        self._check_topic()
        if self._saved == (position, finished):
            return
        document = _Document(
            KIND,
            self.run,
            self._identity,
            position.source,
            position.unit + 1,
            position.offset,
            position.crc,
            finished,
            self.failed,
            self._topic_id,
        )
        try:
            replace_file(self.path, msgspec.json.encode(document) + b"\n")
        except OSError as error:
            raise cannot_write(self.path, error) from None
        self._saved = (position, finished)

    def _check(self, then: Identity) -> None:
        now = self._identity
        for what, before, here in (
            ("topic", then.topic, now.topic),
            ("input", " ".join(then.inputs) or "stdin", " ".join(now.inputs) or "stdin"),
            ("transactional id", then.transactional_id, now.transactional_id),
            ("format of the input", then.form, now.form),
        ):
            if before != here:
                raise ConfigError(
                    f"{self.path} is the checkpoint of another run",
                    why=f"its {what} was {before or 'none'}, now it is {here or 'none'}",
                    do="run with the same arguments to resume, or name another checkpoint",
                )


def check_lockable(path: str) -> None:
    """Raises what ``locked`` would, and touches nothing: for a dry run."""
    beside = _lock_of(path)
    if is_locked(beside):
        raise locked_error(beside, _USING.format(path))


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Locks the checkpoint for the block; LockedError (7) if another run holds it."""
    beside = _lock_of(path)
    try:
        lock = file_lock(beside, timeout=0, doing=_USING.format(path))
        lock.__enter__()
    except OSError as error:
        raise cannot_write(str(beside), error) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
        lock.__exit__(None, None, None)


def _lock_of(path: str) -> Path:
    """The lock file of a checkpoint; FileError where there is no folder for it."""
    beside = Path(path + ".lock")
    try:
        os.stat(beside.parent)
    except OSError as error:
        raise cannot_open(path, error) from None
    return beside
