"""Errors of one partition in the mirror's terms: which side, which offsets, what to do. Pure."""

from kcli.core.cluster.retry import classify_error
from kcli.core.consumer.fetcher import OutOfRangeError
from kcli.core.consumer.partition_recovery import TopicRecreatedError
from kcli.core.consumer.positions import TruncatedError
from kcli.core.error_codes import MESSAGE_TOO_LARGE, UNKNOWN_SERVER_ERROR, UNSUPPORTED_COMPRESSION_TYPE
from kcli.core.errors import (
    BrokerError,
    ConnectError,
    DataLossError,
    KcliError,
    NotFoundError,
    NotInLogDirsError,
    RecordRefusedError,
    TimedOutError,
)
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition


def _reset(topic: str) -> str:
    return f"`kcli mirror reset {topic} --from HOST:PORT --to HOST:PORT --offset SPEC`"


def begin_anew(topic: str) -> str:
    """What can be done where the target has nothing of a topic any more."""
    return f"{_reset(topic)} with --offset earliest copies it again"


def copy_again(topic: str) -> str:
    """What can be done when a job's earlier copy of a topic no longer fits."""
    return f"{_reset(topic)} moves the position; earliest copies all again, behind what the target has of it"


def moved_by(topic: str) -> str:
    """How the position of a topic is moved, where an option does not do it."""
    return f"leave --offset out; {_reset(topic)} moves the position"


def moved_back(topic: str) -> str:
    """How a gap of a topic is copied later, as far as the source still has it."""
    return f"{_reset(topic)} with the first offset of the gap copies it, and again what follows"


class TargetChangedError(KcliError):
    """The target no longer holds an exact copy: its configuration was changed."""

    exit_code = ExitCode.REFUSED


class SourceDeletedError(NotFoundError):
    """The topic of the source does not exist any more."""


def may_pass(error: KcliError) -> bool:
    """Whether the request may succeed later: a broker that is away, an election, a topic that is being created. What
    log directories do not have never comes.
    """
    if isinstance(error, NotInLogDirsError):
        return False
    transient = ConnectError, TimedOutError, NotFoundError
    return isinstance(error, transient) or classify_error(error).retriable


def is_outage(error: KcliError) -> bool:
    """Whether a copy waits for the end of what caused the error: brokers that are away, elections, time-outs, a log whose
    bounds could not be looked up. False for what ends it: lost or damaged data, a topic that is gone, permissions.
    """
    if isinstance(error, OutOfRangeError):
        return error.start < 0
    if isinstance(error, NotFoundError | DataLossError):
        return False
    if isinstance(error, BrokerError) and error.code == UNKNOWN_SERVER_ERROR:
        return True  # brokers have no better name for a disk or a remote log that fails for a while
    return may_pass(error)


def of_source(error: KcliError, tp: TopicPartition, position: int) -> KcliError:
    """The error that ends the copy of ``tp`` at ``position``."""
    if isinstance(error, OutOfRangeError) and error.start > position:
        return removed_at_source(tp, position, error.start, error.end)
    if isinstance(error, OutOfRangeError):
        return DataLossError(
            f"{tp} of the source: offset {position} is out of range",
            why=f"the log goes from {error.start} to {error.end}: it was truncated, or the topic was recreated",
            do=copy_again(tp.topic),
        )
    if isinstance(error, TruncatedError):
        return DataLossError(
            error.what.replace(f"{tp}: the log", f"{tp} of the source: the log", 1),
            why=f"{error.why}; they were copied before",
            do=copy_again(tp.topic),
        )
    if isinstance(error, TopicRecreatedError):
        return recreated_source(tp, position)
    if isinstance(error, NotFoundError):
        return deleted_source(tp)
    return error


def removed_at_source(tp: TopicPartition, position: int, start: int, end: int) -> KcliError:
    """The log of the source goes from ``start`` to ``end``, and was copied up to ``position``, before its start."""
    return DataLossError(
        f"{tp} of the source: offset {position} is out of range",
        why=f"offsets {position} to {start - 1} were removed before they were copied; the log goes from {start} to {end}",
        do="--on-gap record copies what is left and reports the gap",
    )


def deleted_source(tp: TopicPartition) -> SourceDeletedError:
    """The topic of the partition was deleted; what was copied of it stays where it is."""
    return SourceDeletedError(
        f"{tp} of the source was deleted",
        why="the source cluster does not have its topic any more",
        do="leave it out of -t; its copy on the target remains",
    )


def recreated_source(tp: TopicPartition, position: int) -> KcliError:
    """The topic of the source is another one than that which was copied up to ``position``."""
    return DataLossError(
        f"topic {tp.topic} of the source was deleted and created again",
        why=f"{tp} was copied up to offset {position} of the old topic",
        do="--on-recreate restart copies the new topic from its start",
    )


def truncated_source(tp: TopicPartition, end: int, position: int) -> KcliError:
    """The log of the source ends at ``end``, before the ``position`` up to which it was copied."""
    return DataLossError(
        f"{tp} of the source: the log was truncated: offsets {end} to {position - 1} are lost",
        why=f"it ends at offset {end}, and an earlier run copied it up to offset {position}",
        do=copy_again(tp.topic),
    )


def lost_topic(source: str, target: str, why: str, *, created_again: bool) -> KcliError:
    """The topic of the target to which a topic of the source was copied is not there any more."""
    return DataLossError(
        f"topic {target} of the target was deleted" + (" and created again" if created_again else ""),
        why=why,
        do=begin_anew(source),
    )


def of_target(
    error: KcliError, source: TopicPartition, target: TopicPartition, position: int, offset: int = -1
) -> KcliError:
    """The error for records that were not stored; ``position`` is the source offset of the first one of all, ``offset``
    that of the first one with this error.
    """
    if isinstance(error, NotFoundError):
        return DataLossError(
            f"{target} of the target was deleted",
            why=f"{error}; {source} was copied to it up to offset {position}",
            do=begin_anew(source.topic),
        )
    if isinstance(error, BrokerError) and error.code == MESSAGE_TOO_LARGE:
        return KcliError(
            f"{target} of the target rejected a record that follows offset {position} of {source}",
            why=error.why,
            do=f"raise max.message.bytes of topic {target.topic} on the target",
        )
    if isinstance(error, BrokerError) and error.code == UNSUPPORTED_COMPRESSION_TYPE:
        return KcliError(
            f"{target} of the target does not take the compression of {source} at offset {position}",
            why=error.why,
            do="zstd needs brokers of Kafka 2.1 or later as target; a mirror keeps the compression of the source",
        )
    if isinstance(error, RecordRefusedError) and offset >= 0:
        return refused_by_target(error, source, offset, target)
    return error


def refused_by_target(
    error: RecordRefusedError, source: TopicPartition, offset: int, target: TopicPartition
) -> KcliError:
    """The error for the record of ``source`` at ``offset``."""
    return KcliError(
        f"{target} of the target refused the record of {source} at offset {offset}",
        why=error.why,
        do=error.do,
    )


def replaced_timestamps(source: TopicPartition, target: TopicPartition, position: int) -> KcliError:
    """The target stored records with times of its own."""
    return TargetChangedError(
        f"topic {target.topic} of the target replaces timestamps",
        why=f"message.timestamp.type=LogAppendTime was set while the mirror ran; "
        f"records of {source} from offset {position} on do not have the times of the source",
        do=f"set message.timestamp.type=CreateTime on topic {target.topic}; the records of that time remain different",
    )
