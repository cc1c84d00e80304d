"""The target: whether it can be written, its topics (creates what is missing), their ids and ends."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigResource
from kcli.core.admin.topic_changes import Outcome
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.cluster.retry import classify_error
from kcli.core.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import BrokerError, KcliError, NotValidatedError, UnsupportedError
from kcli.core.names import STATE_TOPIC
from kcli.core.options import ProducerOptions
from kcli.core.permissions import AclOperation, is_allowed
from kcli.core.producer.requests import NOT_IDEMPOTENT, check_offer
from kcli.core.types import TopicPartition, TopicSpec
from kcli.flows.mirror.copy.partition_copy import PartitionCopy
from kcli.flows.mirror.job.job import Ends
from kcli.flows.mirror.job.store import state_topic_spec
from kcli.flows.mirror.topics.preflight import Denied, Findings, denied_state
from kcli.flows.mirror.topics.survey import Survey

T = TypeVar("T")

_AT_ONCE = 100  # topics of one request


def unfit(admin: Admin, options: ProducerOptions) -> UnsupportedError | None:
    """Why a producer of these options cannot write to the target: a broker of those contacted so far is too old."""
    for node, offer in admin.cluster.offers():
        try:
            check_offer(options, offer.apis, node)
        except UnsupportedError as error:
            return without_options(error)
    return None


def without_options(error: UnsupportedError) -> UnsupportedError:
    """The error of a producer that its options could avoid: those of a mirror are fixed."""
    if error.do == NOT_IDEMPOTENT:
        error.do = "the target of a mirror needs brokers of Kafka 0.11 or later"
    return error


def state_topic(admin: Admin) -> tuple[bool, list[Denied]]:
    """Whether the topic of the state exists, and ``denied_state``: found out with the permissions on topics, since the
    topics are created first.
    """
    own = admin.topic_operations([STATE_TOPIC])[STATE_TOPIC]
    if not (isinstance(own, BrokerError) and own.code == UNKNOWN_TOPIC_OR_PARTITION):
        return True, denied_state(own, creates=False)
    cluster, missing = admin.together(
        lambda: admin.describe_cluster(include_operations=True),
        lambda: admin.topic_operations([STATE_TOPIC], missing_too=True),
    )
    creates = not is_allowed(cluster.operations, AclOperation.CREATE)
    return False, denied_state(missing[STATE_TOPIC], creates=creates)


def create_targets(admin: Admin, findings: Findings, topics: Collection[str]) -> None:
    """Creates those of ``topics`` that the target lacks, and their partitions, and sets what is to be altered; raises the
    first error.

    A topic that was deleted there since an earlier run is not among them.
    """
    for error in made_targets(admin, findings, topics).values():
        raise error


def made_targets(admin: Admin, findings: Findings, topics: Collection[str]) -> dict[str, KcliError]:
    """As ``create_targets``; returns what the target refuses, by topic. Raises an error that says nothing of a topic."""
    specs = {spec.name: spec for spec in findings.create if spec.name in topics}
    refused = _refused("created", created(admin, specs))
    counts = {name: count for name, count in findings.grow.items() if name in topics}
    refused |= _refused("given more partitions", grown(admin, counts))
    changes = _changes(findings, topics)
    return refused | _altered(admin.alter_configs(changes) if changes else {})


def refused_targets(admin: Admin, findings: Findings, topics: Collection[str]) -> dict[str, KcliError]:
    """What the target would refuse, by topic, found out without making it; nothing where its brokers are not known to
    honour that.
    """
    refused: dict[str, KcliError] = {}
    try:
        for some in _hundreds([spec for spec in findings.create if spec.name in topics]):
            refused |= _refused("created", admin.create_topics(some, validate_only=True))
    except NotValidatedError:
        refused = {}
    changes = _changes(findings, topics)
    return refused | _altered(admin.alter_configs(changes, validate_only=True) if changes else {})


def created(admin: Admin, specs: Mapping[str, TopicSpec]) -> Outcome:
    """Creates topics, a hundred at a time: a controller that takes long for thousands has the client's timeout for each
    request. Then waits until their leaders respond.

    In KRaft the metadata names a leader before it has made the log. A copy that began then would be refused each batch
    of each partition several times over (NOT_LEADER_OR_FOLLOWER), while the broker is busy making logs.
    """
    outcome: Outcome = {}
    for some in _hundreds(list(specs.values())):
        outcome |= admin.create_topics(some)
    new = [name for name, error in outcome.items() if error is None]
    wanted = {TopicPartition(name, n): LATEST for name in new for n in range(specs[name].partitions)}
    if wanted:  # what fails here is left to the producer, which waits for as long as it takes
        admin.list_offsets(wanted)
    return outcome


def grown(admin: Admin, counts: Mapping[str, int]) -> Outcome:
    """Adds partitions to topics, a hundred at a time; ``counts`` are the new totals."""
    outcome: Outcome = {}
    for some in _hundreds(list(counts)):
        outcome |= admin.create_partitions({name: counts[name] for name in some})
    return outcome


def _hundreds(all_of_them: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(all_of_them), _AT_ONCE):
        yield all_of_them[first : first + _AT_ONCE]


def _changes(findings: Findings, topics: Collection[str]) -> dict[ConfigResource, list[ConfigChange]]:
    return {
        ConfigResource(ConfigKind.TOPIC, name): [ConfigChange(key, value) for key, value in values.items()]
        for name, values in findings.alter.items()
        if name in topics
    }


def _altered(outcome: Mapping[ConfigResource, KcliError | None]) -> dict[str, KcliError]:
    return _refused("configured", {resource.name: error for resource, error in outcome.items()})


def _refused(what: str, outcome: Mapping[str, KcliError | None]) -> dict[str, KcliError]:
    """The refusals of an outcome, in the terms of a mirror: they stop a topic, and not the job."""
    found: dict[str, KcliError] = {}
    for name, error in outcome.items():
        if error is None or isinstance(error, NotValidatedError):
            continue
        if not isinstance(error, BrokerError) or classify_error(error).retriable:
            raise error
        found[name] = KcliError(
            f"topic {name} of the target cannot be {what}, and is not copied",
            why=error.why,
            do="set another value by --config KEY=VALUE, or correct the one it has; --sync-configs off leaves out the "
            "configuration of the source",
        )
    return found


def create_state_topic(admin: Admin, brokers: int) -> None:
    """Creates the topic for the state of jobs unless it exists. ``brokers``: how many the target has."""
    if isinstance(admin.topic_operations([STATE_TOPIC])[STATE_TOPIC], KcliError):
        for error in admin.create_topics([state_topic_spec(brokers)]).values():
            if error is not None:
                raise error


def target_ends(admin: Admin, found: Survey) -> Ends:
    """Log start and end of all partitions of the target topics that exist."""
    partitions = [
        TopicPartition(name, number)
        for name, facts in found.targets.items()
        for number in range(facts.partitions)
    ]
    return Ends(offsets(admin, partitions, EARLIEST), offsets(admin, partitions, LATEST))


def identify(admin: Admin, copies: Iterable[PartitionCopy]) -> None:
    """Sets the target's topic id of each copy, as far as the target knows its topics yet."""
    copies = list(copies)
    described = admin.describe_topics(sorted({copy.target.topic for copy in copies})) if copies else {}
    for copy in copies:
        info = described[copy.target.topic]
        if not isinstance(info, KcliError):
            copy.topic_ids = copy.topic_ids._replace(target=info.topic_id)


def offsets(admin: Admin, partitions: Iterable[TopicPartition], which: int) -> dict[TopicPartition, int]:
    """An end of the log of each partition: EARLIEST or LATEST; raises the first error."""
    found: dict[TopicPartition, int] = {}
    wanted = dict.fromkeys(partitions, which)
    for tp, one in admin.list_offsets(wanted).items() if wanted else ():
        if not isinstance(one, OffsetInfo):
            raise one
        found[tp] = one.offset
    return found
