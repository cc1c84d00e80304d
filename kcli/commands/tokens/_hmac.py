"""Where the HMAC of a new token goes: a new file that only its owner can read, or stdout. Nowhere else."""

from __future__ import annotations

import contextlib
import os

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.secret import Secret
from kcli.files.atomic import described, sync_folder
from kcli.output.stdout import Output


class HmacFileError(KcliError):
    """The file exists already, or cannot be made."""

    exit_code = ExitCode.REFUSED


class HmacFile:
    """A file of mode 0600 that did not exist: it is made before the token, so that no token is without its HMAC."""

    def __init__(self, path: str) -> None:
        self._path = self.name = path
        self._fd = -1
        self._written = False

    def check(self) -> None:
        """HmacFileError where there is something of this name, or no folder for it."""
        if os.path.lexists(self._path):
            raise self._exists()
        folder = os.path.dirname(os.path.abspath(self._path))
        if not os.access(folder, os.W_OK | os.X_OK):
            why = "the folder cannot be written to" if os.path.isdir(folder) else "there is no such folder"
            raise HmacFileError(f"cannot write {self._path}", why=why, do="choose another --hmac-file")

    def open(self) -> None:
        """Makes the empty file. Not through a link: the file must be new."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._fd = os.open(self._path, flags, 0o600)
        except FileExistsError:
            raise self._exists() from None
        except OSError as error:
            what, why, do = described(error)
            raise HmacFileError(what, why=why, do=do) from None

    def put(self, hmac: Secret) -> None:
        """Writes it with a line end, and waits for the disk."""
        data = f"{hmac.reveal()}\n".encode()
        while data:
            data = data[os.write(self._fd, data) :]
        os.fsync(self._fd)
        sync_folder(os.path.dirname(os.path.abspath(self._path)))
        self._written = True

    def close(self) -> None:
        """Removes a file in which nothing, or not all of it, was written."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            if not self._written:
                with contextlib.suppress(OSError):
                    os.unlink(self._path)

    def _exists(self) -> HmacFileError:
        return HmacFileError(
            f"{self._path} exists already",
            why="the HMAC of a token is written to a new file, that only you can read; nothing was done",
            do="choose another --hmac-file, or remove this one",
        )


class HmacOnStdout:
    """A line on stdout."""

    name = "stdout"

    def __init__(self, out: Output) -> None:
        self._out = out

    def check(self) -> None:
        """Nothing stands against it."""

    def open(self) -> None:
        """BrokenPipeError if nobody reads it."""
        self._out.check_reader()

    def put(self, hmac: Secret) -> None:
        """Writes it and flushes."""
        self._out.text(f"{hmac.reveal()}\n")
        self._out.flush()

    def close(self) -> None:
        """Stdout stays open."""
