"""The result of a check. Pure."""

from kcli.core.classes import dataclass
from kcli.core.errors import KcliError

OK, WARNING, FAILED, SKIPPED = "ok", "warning", "failed", "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has found about ``target``: ``detail``, and unless it is well, its cause and its remedy.

    ``seconds`` it took, None if that says nothing. ``code``: the exit code of a failure, 0 for all others.
    """

    target: str
    check: str
    status: str
    detail: str
    seconds: float | None = None
    why: str = ""
    do: str = ""
    code: int = 0


def well(target: str, check: str, detail: str, seconds: float | None = None) -> Finding:
    """Nothing is wrong."""
    return Finding(target, check, OK, detail, seconds)


def warning(
    target: str, check: str, detail: str, *, why: str, do: str, seconds: float | None = None
) -> Finding:
    """Something that works today, or that concerns only some."""
    return Finding(target, check, WARNING, detail, seconds, why, do)


def failed(
    target: str, check: str, detail: str, *, why: str, do: str, code: int, seconds: float | None = None
) -> Finding:
    """Something that does not work."""
    return Finding(target, check, FAILED, detail, seconds, why, do, code)


def skipped(target: str, check: str, why: str) -> Finding:
    """A check that was not made, and why."""
    return Finding(target, check, SKIPPED, "not checked", why=why)


def failure(target: str, check: str, error: KcliError, seconds: float | None = None) -> Finding:
    """The error of a request."""
    return failed(
        target, check, error.what, why=error.why, do=error.do, code=error.exit_code, seconds=seconds
    )
