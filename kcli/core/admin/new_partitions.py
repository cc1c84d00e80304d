"""Waits until the brokers know new topics and partitions. Blocks only in the loop's poll.

The controller answers CreateTopics and CreatePartitions before the brokers have received what it decided: the broker that
the next client asks may still answer UNKNOWN_TOPIC_OR_PARTITION, or know a partition without its leader.

    create  → controller: the topic exists                  produce → broker 2: UNKNOWN_TOPIC_OR_PARTITION
              controller → broker 1, … → broker 2: here it is           (a moment too early)
"""

from collections.abc import Mapping, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.metadata import topic_refused
from kcli.core.cluster.retry import Backoff, classify_error
from kcli.core.error_codes import LEADER_NOT_AVAILABLE, NONE, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import ConnectError, KcliError, OutcomeUnknownError
from kcli.core.exit_codes import ExitCode
from kcli.core.future import Future
from kcli.core.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

Answer = Future[MetadataResponse]

PATIENCE = 5.0
"""Seconds in which the brokers have to show another one of the topics, for the wait to go on after the call's time."""
LONGEST = 120.0
"""Seconds after which it ends even so."""

_SHOWN = 3
_CONFIRMS = 0.5
"""Seconds that are left to confirm what was done where other items of the same call have used up its time."""


class NotKnownError(KcliError):
    """Topics or partitions were created, and not all brokers that can be reached showed them with leaders in time."""

    exit_code = ExitCode.PARTLY


class _Lack(NamedTuple):
    """What a broker lacks of a topic. ``error``: why waiting cannot help."""

    text: str
    error: KcliError | None = None


def wait_until_known(
    cluster: Cluster, counts: Mapping[str, int], deadline: float, done: str
) -> dict[str, KcliError | None]:
    """Returns when each broker has so many partitions of each topic (−1: any), all with leaders; else what is missing.

    A busy cluster takes long to learn of many topics: past the deadline it is waited on while more and more of them are
    shown, see PATIENCE and LONGEST.

    Brokers that cannot be connected to do not count: no client has its answer from them. ``done`` says in errors what
    was done to the topic.
    """
    deadline = max(deadline, cluster.loop.now() + _CONFIRMS)
    latest, fewest = deadline + LONGEST, None
    backoff = Backoff.of_requests(cluster.options)
    asked: dict[int, Answer] = {}
    shown: dict[int, Answer] = {}
    while True:
        shown |= {number: answer for number, answer in asked.items() if answer.done}
        asked |= _ask_again(cluster, counts, asked, deadline)
        until = min(cluster.loop.now() + backoff.next(), deadline)
        _wait(cluster, list(asked.values()), until)
        present = [
            number for number in asked if number in cluster.view.nodes
        ]  # one that has left does not count
        answers = {n: asked[n] if asked[n].done else shown.get(n, asked[n]) for n in sorted(present)}
        lacks = {name: _lacks(answers, name, count) for name, count in counts.items()}
        is_final = all(lack.error for found in lacks.values() for lack in found)
        lacking = sum(map(len, lacks.values()))
        if fewest is not None and lacking < fewest:
            deadline = max(deadline, min(cluster.loop.now() + PATIENCE, latest))
        fewest = lacking if fewest is None else min(fewest, lacking)
        if cluster.loop.now() >= deadline or (present and is_final):
            return {name: _error(name, done, found) if found else None for name, found in lacks.items()}
        cluster.sleep(until - cluster.loop.now())
        cluster.request_refresh()


def _ask_again(
    cluster: Cluster, counts: Mapping[str, int], asked: Mapping[int, Answer], deadline: float
) -> dict[int, Answer]:
    """Requests to the brokers whose last answer lacks something; one that has not answered yet is not asked twice."""
    topics = [MetadataRequestTopic(name=name) for name in counts]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    left = max(0.001, deadline - cluster.loop.now())
    return {
        number: cluster.send(request, number, timeout=left)
        for number in cluster.view.nodes
        if number not in asked
        or (asked[number].done and any(_lack(asked[number], name, count) for name, count in counts.items()))
    }


def _wait(cluster: Cluster, answers: Sequence[Answer], until: float) -> None:
    """Returns when all have come, or at a time on the loop's clock."""
    while (left := until - cluster.loop.now()) > 0:
        waiting = [answer for answer in answers if not answer.done]
        if not waiting:
            return
        cluster.poll(left, *waiting)


def _lacks(answers: Mapping[int, Answer], name: str, count: int) -> list[_Lack]:
    """What brokers lack of the topic."""
    reached = {number: answer for number, answer in answers.items() if not _is_unreachable(answer)}
    found = [(number, _lack(answer, name, count)) for number, answer in (reached or answers).items()]
    return [lack._replace(text=f"broker {number} {lack.text}") for number, lack in found if lack is not None]


def _is_unreachable(answer: Answer) -> bool:
    """Whether there was no connection to the broker."""
    error = answer.error
    return isinstance(error, ConnectError) and not isinstance(error, OutcomeUnknownError)


def _lack(answer: Answer, name: str, count: int) -> _Lack | None:
    if not answer.done or answer.error is not None:
        return _Lack(f"did not respond{f': {answer.error}' if answer.error else ''}")
    row = next((row for row in answer.value.topics if row.name == name), None)
    if row is None or row.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        return _Lack("does not know it")
    if row.error_code not in (NONE, LEADER_NOT_AVAILABLE):
        error = topic_refused(name, row.error_code)
        return _Lack(f"does not show it: {error.why}", None if classify_error(error).retriable else error)
    led = {part.partition_index for part in row.partitions if part.leader_id >= 0}
    without = [number for number in range(max(count, len(row.partitions), 1)) if number not in led]
    more = f" and {len(without) - _SHOWN:,} more" if len(without) > _SHOWN else ""
    shown = ", ".join(f"{name}-{number}" for number in without[:_SHOWN])
    return _Lack(f"has no leader of {shown}{more}") if without else None


def _error(name: str, done: str, lacks: Sequence[_Lack]) -> NotKnownError:
    error = next((lack.error for lack in lacks if lack.error is not None), None)
    return NotKnownError(
        f"{done} {name}, but not all brokers showed it with its leaders",
        why="; ".join(lack.text for lack in lacks[:_SHOWN]),
        do=error.do
        if error
        else f"`kcli topics describe {name}` shows the leaders of its partitions: wait for them",
    )
