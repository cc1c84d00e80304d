"""The exit codes, for help and the manual: all of them, and those of a command."""

from collections.abc import Mapping

EXIT_CODES = (
    ("0", "everything requested was done and confirmed"),
    ("1", "run-time error; a named topic or group does not exist; nothing confirmed; the answer was no"),
    ("2", "usage or configuration error; an answer is required, but there is no terminal"),
    ("3", "cluster unreachable, silent, not Kafka, or timed out"),
    ("4", "authentication, authorisation, certificates"),
    ("5", "data integrity: corrupt, lost, truncated, out of range"),
    ("6", "partly done; the report lists what was not"),
    ("7", "refused because of its state: live group, fenced, already exists"),
    (
        "8",
        "a requested check has failed (--expect, --max-lag, --max-lag-time, --fail-if, --verify, --verify-only, acls "
        "check, cluster check, mirror check, pipeline verify)",
    ),
    ("129 130 143", "stopped cleanly by SIGHUP, SIGINT, SIGTERM"),
    ("141", "the reader closed the pipe"),
)

_OF_CLUSTERS = ("3", "4", "5", "6", "7")
_BY_COMMAND = "8"


def exit_codes(particular: Mapping[int, str], *, cluster: bool) -> tuple[tuple[str, str], ...]:
    """The exit codes of one command. ``particular`` are codes that mean something particular for it, ``cluster`` whether
    it contacts one.
    """
    own = {str(code): text for code, text in particular.items()}
    left_out = {_BY_COMMAND} if cluster else {_BY_COMMAND, *_OF_CLUSTERS}
    return tuple(
        (code, own.get(code, text)) for code, text in EXIT_CODES if code in own or code not in left_out
    )
