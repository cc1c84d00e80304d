"""The errors, as types: a subclass exists where some caller distinguishes it from the others.

Every error says what failed and where, why, and what to do about it; the command line prints these as three lines and
exits with ``exit_code`` (the table of codes is part of the contract: ``kcli --help``).
"""

from collections.abc import Iterable, Mapping

from kcli.core.error_codes import NOT_IN_LOG_DIRS, REMEDIES, error_code
from kcli.core.exit_codes import ExitCode, of_broker_error
from kcli.core.permissions import Permission
from kcli.core.types import TopicPartition


class KcliError(Exception):
    """The base of all errors raised on purpose.

    ``what`` says what failed and where, ``why`` the cause, ``do`` the next step; the latter two may be empty. ``str`` is
    the first two; the third is a note, which Python and notebooks show below.
    ``part`` and ``place``, where they are known: what could not be read, as ``groups of broker 2``, and the broker or the
    partitions that it is at. ``each``: the errors that this one counts; they are reported before it.
    """

    exit_code: int = ExitCode.FAILED
    part: str = ""
    place: str = ""
    each: tuple["KcliError", ...] = ()

    def __init__(self, what: str, *, why: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.do = do
        if do:
            self.add_note(f"do: {do}")

    def __str__(self) -> str:
        return f"{self.what}: {self.why}" if self.why else self.what


class ConfigError(KcliError):
    """An option or a configuration file is wrong; nothing was sent."""

    exit_code = ExitCode.USAGE


class ConnectError(KcliError):
    """A broker cannot be reached, does not respond, or is not Kafka."""

    exit_code = ExitCode.UNREACHABLE


class TooManyFilesError(ConnectError):
    """This process, or this machine, cannot open another socket or file: it says nothing about the broker."""


class NotKafkaError(ConnectError):
    """The peer responds, but does not speak Kafka: reconnecting cannot help."""


class OutcomeUnknownError(ConnectError):
    """The connection ended between a request and its response: the request may or may not have taken effect."""


class UnansweredError(OutcomeUnknownError):
    """A broker closed a new connection at its first request, as listeners with SASL do to clients without."""


class RequestTimeoutError(OutcomeUnknownError):
    """No response in time. The connection was closed: a broker responds in order, so nothing else can arrive."""


class TimedOutError(KcliError):
    """The operation did not finish before its deadline."""

    exit_code = ExitCode.UNREACHABLE


class NotConnectedError(TimedOutError):
    """There was no connection to a broker until the deadline: it was not asked."""


class NoLeaderError(TimedOutError):
    """A partition has no leader: an election is under way, or none of its replicas can lead."""


class NotInLogDirsError(NoLeaderError):
    """Log directories are read, and a partition is in none of them."""

    exit_code = ExitCode.PARTLY


class AuthError(KcliError):
    """Authentication, authorisation or a certificate."""

    exit_code = ExitCode.DENIED


class ProxyRefusedError(AuthError):
    """A proxy does not accept this client, whatever brokers think of it."""


class ProtocolError(KcliError):
    """The peer sent bytes that violate the protocol; its connection is closed."""

    exit_code = ExitCode.DATA


class CorruptRecordsError(ProtocolError):
    """A record batch that fails its checksum, contradicts its header, or is too large when decompressed.

    ``tp`` is its partition: the bytes do not contain it, so the reader adds it (``in_partition``). ``next_offset`` is the
    offset after the batch, −1 if its header is damaged as well.
    """

    def __init__(
        self,
        what: str,
        *,
        why: str = "",
        do: str = "",
        tp: TopicPartition | None = None,
        next_offset: int = -1,
    ) -> None:
        super().__init__(what if tp is None else f"{tp}: {what}", why=why, do=do)
        self.tp = tp
        self.next_offset = next_offset

    def in_partition(self, tp: TopicPartition) -> "CorruptRecordsError":
        """The same error with the partition in front, and a remedy; unchanged if it has a partition already."""
        if self.tp is not None:
            return self
        return CorruptRecordsError(
            self.what, why=self.why, do=self.do or _DAMAGED, tp=tp, next_offset=self.next_offset
        )


_DAMAGED = "the broker's copy of the log is damaged: restore it from a replica, or read past it"


class DamagedFileError(CorruptRecordsError):
    """A file of a log directory is damaged: ``path`` and ``position`` say where, ``offset`` what should be there.

    ``offset`` and ``next_offset`` are −1 where nothing says so.
    """

    def __init__(
        self,
        path: str,
        position: int,
        *,
        why: str,
        do: str = "",
        offset: int = -1,
        next_offset: int = -1,
        tp: TopicPartition | None = None,
    ) -> None:
        where = f"{printable(path)} at byte {position}" + (f" (offset {offset})" if offset >= 0 else "")
        super().__init__(where, why=why, do=do, tp=tp, next_offset=next_offset)
        self.path = path
        self.position = position
        self.offset = offset

    def from_offset(self, offset: int) -> "DamagedFileError":
        """The same for who reads from this offset on: what is before it is not asked for, and may be whole."""
        if self.offset >= offset:
            return self
        return DamagedFileError(
            self.path,
            self.position,
            why=self.why,
            do=self.do,
            offset=offset,
            next_offset=self.next_offset,
            tp=self.tp,
        )

    def in_partition(self, tp: TopicPartition) -> "DamagedFileError":
        """See CorruptRecordsError."""
        if self.tp is not None:
            return self
        return DamagedFileError(
            self.path,
            self.position,
            why=self.why,
            do=self.do or _DAMAGED,
            offset=self.offset,
            next_offset=self.next_offset,
            tp=tp,
        )


def printable(path: str) -> str:
    """A path as it can be printed, whatever bytes are in it."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


class UnreadableFileError(KcliError):
    """A file or folder cannot be read: no permission, a failing disk, not a file at all."""


class FileGoneError(UnreadableFileError):
    """A file that was there a moment ago is not any more: a broker that runs has deleted or replaced it."""


class StoppedError(KcliError):
    """A decompression ended early because its thread is to stop (``codecs.decompress``); the batch is not damaged."""


class DataLossError(KcliError):
    """Requested records do not exist: out of range, truncated, or the topic was created anew."""

    exit_code = ExitCode.DATA


class UnsupportedError(KcliError):
    """The broker is too old or too new for the operation."""

    exit_code = ExitCode.REFUSED


class NotValidatedError(UnsupportedError):
    """The broker is not known to honour ``validateOnly``: the request was not sent, since it might make the change."""


class WrongClusterError(KcliError):
    """The brokers belong to another cluster than ``cluster.id`` names; nothing was requested from them."""

    exit_code = ExitCode.REFUSED


class NotFoundError(KcliError):
    """The given topic, partition or group does not exist."""

    exit_code = ExitCode.FAILED


class BatchRefusedError(KcliError):
    """Nothing is wrong with the record: it was not stored because the broker refused another one of its batch."""


class UnknownPartitionError(NotFoundError):
    """A record, or the user, gives a partition that its topic does not have."""


class BufferFullError(TimedOutError):
    """``buffer.memory`` stayed full for ``max.block.ms``: records are sent faster than they are acknowledged."""


class ClosedError(KcliError):
    """The client was closed before or during the call."""


class TransactionStateError(KcliError):
    """A transactional call that its producer's state does not allow; nothing was sent."""

    exit_code = ExitCode.REFUSED


class TransactionAbortableError(KcliError):
    """The transaction cannot be committed any more: abort it and begin a new one."""


class TransactionUnknownError(OutcomeUnknownError):
    """The end of a transaction was not acknowledged: it may be committed, aborted, or still open."""


class ProducerFencedError(KcliError):
    """Another producer with the same ``transactional.id`` took over, or the transaction was open for too long."""

    exit_code = ExitCode.REFUSED


class MembershipError(KcliError):
    """The group does not accept this member (any more): fenced, full, or of another kind."""

    exit_code = ExitCode.REFUSED


class CommitFailedError(KcliError):
    """Offsets were not committed; ``errors`` says why, per partition (KIP-211's CommitFailedException and others)."""

    def __init__(
        self, what: str, errors: Mapping[TopicPartition, KcliError] | None = None, *, do: str = ""
    ) -> None:
        self.errors = dict(errors or {})
        super().__init__(what, why=str(next(iter(self.errors.values()), "")), do=do)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """The exit code of the errors in it if the peer sent nonsense (5) or refused the client (4), else 7."""
        causes = {error.exit_code for error in self.errors.values()}
        return next((code for code in (ExitCode.DATA, ExitCode.DENIED) if code in causes), ExitCode.REFUSED)


class NoOffsetError(KcliError):
    """A partition has no committed offset, and ``auto.offset.reset=none`` forbids choosing one."""

    exit_code = ExitCode.DATA


class PartlyFailedError(KcliError):
    """Some of several operations failed; ``first`` is the first error and determines cause, remedy and exit code."""

    def __init__(self, what: str, first: KcliError) -> None:
        super().__init__(what, why=str(first), do=first.do)
        self.first = first

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """The exit code of the first error."""
        return self.first.exit_code


class PartlyQueuedError(PartlyFailedError):
    """A stream of records ended in an error after ``rows`` of them were queued; ``first`` is the error."""

    def __init__(self, rows: int, first: KcliError) -> None:
        super().__init__(f"{rows:,} rows were queued, those after them were not", first)
        self.rows = rows


_DUMP = "Request Request("
"""What brokers report in place of a message for some refused requests: the object of the request."""


class BrokerError(KcliError):
    """A broker responded with an error code. ``code`` is Kafka's number; ``where`` says what it concerns.

    ``needs``: the permissions that the request needs; the error names the one that its code says is missing.
    """

    def __init__(
        self, code: int, where: str, *, message: str = "", do: str = "", needs: Iterable[Permission] = ()
    ) -> None:
        row = error_code(code)
        text = row.text if not message or message.startswith(_DUMP) else message
        lacking = next((each for each in needs if each.code == code), None)
        if lacking:
            text, do = lacking.lack, do or lacking.grant
        why = f"{row.name} ({code})" + (f": {text}" if text else "")
        if code == NOT_IN_LOG_DIRS:  # no broker has said so
            why = text
        super().__init__(where, why=why, do=do or REMEDIES.get(code, ""))
        self.code = code
        self.name = row.name
        self.where = where

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """4 for authorisation, 7 if the broker's state forbids the request, 5 for data loss, 2 for a value; else 1."""
        return of_broker_error(self.code)


class RefusedError(BrokerError):
    """A broker refused records for what they are, whatever its code: nothing that is stored is damaged."""

    exit_code = ExitCode.FAILED


class RecordRefusedError(RefusedError):
    """A broker refused this record for what it is, such as a missing key or its timestamp (KIP-467)."""


def too_old(what: str, needed: int, offered: int) -> UnsupportedError:
    """The error for a broker whose version does not support the request; ``what`` names broker and operation."""
    return UnsupportedError(
        what,
        why=f"this needs version {needed}, but the broker offers only {offered}",
        do="do without it, or use a newer broker",
    )
