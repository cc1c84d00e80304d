"""Errors of sandboxes, as types. Texts are written where the cause is known."""

from collections.abc import Sequence

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode


class SandboxError(KcliError):
    """Any failure to start, find or stop a sandbox."""


class UsageError(SandboxError):
    """An invalid setting: an unknown version, a bad name, a count of brokers below one."""

    exit_code = ExitCode.USAGE


class SeveralSandboxesError(UsageError):
    """More than one sandbox runs and none is called ``default``: the user has to name one."""


class ExtraMissingError(SandboxError):
    """What the extra ``sandbox`` brings is not there: a Java that is new enough, jgo, cryptography."""

    exit_code = ExitCode.USAGE


class DownloadError(SandboxError):
    """The jars could not be fetched: no network, a repository that refuses, a wrong checksum."""


class StartError(SandboxError):
    """A broker ended, or did not respond in time, while starting. ``log_lines``: the end of its log."""

    def __init__(self, what: str, *, why: str = "", do: str = "", log_lines: Sequence[str] = ()) -> None:
        super().__init__(what, why=why, do=do)
        self.log_lines = tuple(log_lines)


class RefusedError(SandboxError):
    """The state forbids it: a port is taken, or the sandbox is up (or keeps data) with other settings."""

    exit_code = ExitCode.REFUSED
