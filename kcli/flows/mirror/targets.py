"""The target: whether it can be written, its topics (creates what is missing), their ids and ends."""

from collections.abc import Collection, Iterable, Mapping

from kcli.core.admin.admin import Admin
from kcli.core.admin.topic_changes import Outcome
from kcli.core.cluster.offsets import EARLIEST, LATEST, OffsetInfo
from kcli.core.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import BrokerError, KcliError, UnsupportedError
from kcli.core.names import STATE_TOPIC
from kcli.core.options import ProducerOptions
from kcli.core.permissions import AclOperation, is_allowed
from kcli.core.producer.requests import NOT_IDEMPOTENT, check_offer
from kcli.core.types import TopicPartition, TopicSpec
from kcli.flows.mirror.job import Ends
from kcli.flows.mirror.partition_copy import PartitionCopy
from kcli.flows.mirror.preflight import Denied, Findings, denied_state
from kcli.flows.mirror.store import state_topic_spec
from kcli.flows.mirror.survey import Survey

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


def denied_on_state(admin: Admin) -> list[Denied]:
    """See ``denied_state``: found out with the permissions on topics, since the topics are created first."""
    own = admin.topic_operations([STATE_TOPIC])[STATE_TOPIC]
    if not (isinstance(own, BrokerError) and own.code == UNKNOWN_TOPIC_OR_PARTITION):
        return denied_state(own, creates=False)
    cluster = admin.describe_cluster(include_operations=True).operations
    own = admin.topic_operations([STATE_TOPIC], missing_too=True)[STATE_TOPIC]
    return denied_state(own, creates=not is_allowed(cluster, AclOperation.CREATE))


def create_targets(admin: Admin, findings: Findings, topics: Collection[str]) -> None:
    """Creates those of ``topics`` that the target lacks, and their partitions; raises the first error.

    A topic that was deleted there since an earlier run is not among them.
    """
    specs = {spec.name: spec for spec in findings.create if spec.name in topics}
    counts = {name: count for name, count in findings.grow.items() if name in topics}
    for error in created(admin, specs).values():
        if error is not None:
            raise error
    for error in grown(admin, counts).values():
        if error is not None:
            raise error


def created(admin: Admin, specs: Mapping[str, TopicSpec]) -> Outcome:
    """Creates topics, a hundred at a time: a controller that takes long for thousands has the client's timeout for each
    request. Then waits until their leaders respond.

    In KRaft the metadata names a leader before it has made the log. A copy that began then would be refused each batch
    of each partition several times over (NOT_LEADER_OR_FOLLOWER), while the broker is busy making logs.
    """
    outcome: Outcome = {}
    names = list(specs)
    for first in range(0, len(names), _AT_ONCE):
        outcome |= admin.create_topics([specs[name] for name in names[first : first + _AT_ONCE]])
    new = [name for name, error in outcome.items() if error is None]
    wanted = {TopicPartition(name, n): LATEST for name in new for n in range(specs[name].partitions)}
    if wanted:
        admin.list_offsets(
            wanted
        )  # what fails here is left to the producer, which waits for as long as it takes
    return outcome


def grown(admin: Admin, counts: Mapping[str, int]) -> Outcome:
    """Adds partitions to topics, a hundred at a time; ``counts`` are the new totals."""
    outcome: Outcome = {}
    names = list(counts)
    for first in range(0, len(names), _AT_ONCE):
        outcome |= admin.create_partitions({name: counts[name] for name in names[first : first + _AT_ONCE]})
    return outcome


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
