"""Exit codes: what they mean, which of several applies, and which one an error of a broker has.

The table is part of the contract (``kcli help exit-codes``). No other module has the numbers: each error type names its
code, and a command's is made of those of its errors.
"""

from collections.abc import Iterable

from kcli.core.classes import IntEnum


class ExitCode(IntEnum):
    """The exit status of a command. ``kcli.docgen.exit_codes`` has the sentences of the manual."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    DENIED = 4
    DATA = 5
    PARTLY = 6
    REFUSED = 7
    CHECK = 8
    HANGUP = 129
    INTERRUPTED = 130
    CLOSED_PIPE = 141
    TERMINATED = 143


def signalled(number: int) -> int:
    """The exit status after an orderly stop by a signal."""
    return 128 + number


_SIGNALS = frozenset((ExitCode.HANGUP, ExitCode.INTERRUPTED, ExitCode.TERMINATED))
_BEFORE_PARTLY = (ExitCode.DATA, ExitCode.DENIED, ExitCode.REFUSED, ExitCode.UNREACHABLE)
_AFTER_PARTLY = (ExitCode.USAGE, ExitCode.CHECK, ExitCode.FAILED)


def worst(codes: Iterable[int], *, done: bool) -> int:
    """The one exit status for many: a signal, 5, 4, 7, 3, then 6 if anything was done, 2, 8, 1; 0 for none."""
    left = {code for code in codes if code}
    for code in sorted(left & _SIGNALS):
        return code
    for code in _BEFORE_PARTLY:
        if code in left:
            return code
    if ExitCode.PARTLY in left or (done and left - {ExitCode.CHECK}):
        return ExitCode.PARTLY
    for code in _AFTER_PARTLY:
        if code in left:
            return code
    return min(left, default=ExitCode.DONE)


def of_broker_error(code: int) -> ExitCode:
    """The exit status for Kafka's error ``code``."""
    return _BY_BROKER_CODE.get(code, ExitCode.FAILED)


_BY_BROKER_CODE = {
    -2: ExitCode.PARTLY,  # NOT_IN_LOG_DIRS
    1: ExitCode.DATA,  # OFFSET_OUT_OF_RANGE
    2: ExitCode.DATA,  # CORRUPT_MESSAGE
    100: ExitCode.DATA,  # UNKNOWN_TOPIC_ID
    103: ExitCode.DATA,  # INCONSISTENT_TOPIC_ID
    7: ExitCode.UNREACHABLE,  # REQUEST_TIMED_OUT
    29: ExitCode.DENIED,  # *_AUTHORIZATION_FAILED
    30: ExitCode.DENIED,
    31: ExitCode.DENIED,
    53: ExitCode.DENIED,
    63: ExitCode.DENIED,  # DELEGATION_TOKEN_OWNER_MISMATCH
    65: ExitCode.DENIED,
    33: ExitCode.DENIED,  # SASL
    34: ExitCode.DENIED,
    58: ExitCode.DENIED,
    40: ExitCode.USAGE,  # INVALID_CONFIG
    35: ExitCode.REFUSED,  # UNSUPPORTED_VERSION
    36: ExitCode.REFUSED,  # TOPIC_ALREADY_EXISTS
    44: ExitCode.REFUSED,  # POLICY_VIOLATION
    47: ExitCode.REFUSED,  # INVALID_PRODUCER_EPOCH
    54: ExitCode.REFUSED,  # SECURITY_DISABLED
    60: ExitCode.REFUSED,  # REASSIGNMENT_IN_PROGRESS
    61: ExitCode.REFUSED,  # DELEGATION_TOKEN_AUTH_DISABLED
    64: ExitCode.REFUSED,  # DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    66: ExitCode.REFUSED,  # DELEGATION_TOKEN_EXPIRED
    68: ExitCode.REFUSED,  # NON_EMPTY_GROUP
    80: ExitCode.REFUSED,  # PREFERRED_LEADER_NOT_AVAILABLE
    82: ExitCode.REFUSED,  # FENCED_INSTANCE_ID
    83: ExitCode.REFUSED,  # ELIGIBLE_LEADERS_NOT_AVAILABLE
    85: ExitCode.REFUSED,  # NO_REASSIGNMENT_IN_PROGRESS
    86: ExitCode.REFUSED,  # GROUP_SUBSCRIBED_TO_TOPIC
    90: ExitCode.REFUSED,  # PRODUCER_FENCED
    92: ExitCode.REFUSED,  # DUPLICATE_RESOURCE
    93: ExitCode.REFUSED,  # UNACCEPTABLE_CREDENTIAL
    95: ExitCode.REFUSED,  # INVALID_UPDATE_VERSION
    96: ExitCode.REFUSED,  # FEATURE_UPDATE_FAILED
    125: ExitCode.REFUSED,  # INVALID_VOTER_KEY
    126: ExitCode.REFUSED,  # DUPLICATE_VOTER
}
