"""A share session: what each request names, and which epoch it has."""

from kcli.core.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcli.core.protocol.messages.share_fetch import ShareFetchRequest
from kcli.core.share.acquired import Acknowledge, Run
from kcli.core.share.session import LAST_EPOCH, Runs, ShareSession, TopicIds
from kcli.core.types import TopicPartition

ID, OTHER = b"i" * 16, b"j" * 16
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def fetch(session: ShareSession, runs: Runs | None = None, ids: TopicIds | None = None) -> ShareFetchRequest:
    request = ShareFetchRequest(
        group_id="g",
        member_id="m",
        share_session_epoch=0,
        max_wait_ms=0,
        min_bytes=0,
        topics=[],
        forgotten_topics_data=[],
    )
    session.fill_fetch(request, runs or {}, ids or {})
    return request


def named(request: ShareFetchRequest) -> dict[int, int]:
    """Partition → how many runs are acknowledged."""
    return {p.partition_index: len(p.acknowledgement_batches) for t in request.topics for p in t.partitions}


def forgotten(request: ShareFetchRequest) -> list[int]:
    return [number for topic in request.forgotten_topics_data for number in topic.partitions]


def open_session(*partitions: TopicPartition) -> ShareSession:
    session = ShareSession()
    for tp in partitions:
        session.want(tp, ID)
    fetch(session)
    session.answered()
    return session


def test_the_first_fetch_opens_a_session_with_all_partitions() -> None:
    session = ShareSession()
    session.want(P0, ID)
    session.want(P1, ID)
    request = fetch(session)
    assert request.share_session_epoch == 0
    assert named(request) == {0: 0, 1: 0}


def test_later_fetches_name_changes_only() -> None:
    session = open_session(P0)
    assert session.epoch == 1
    request = fetch(session)
    assert (named(request), forgotten(request)) == ({}, [])
    session.answered()
    session.want(P1, ID)
    session.drop(P0)
    request = fetch(session)
    assert request.share_session_epoch == 2
    assert (named(request), forgotten(request)) == ({1: 0}, [0])


def test_a_partition_that_is_only_acknowledged_is_forgotten_again() -> None:
    session = open_session(P0)
    session.drop(P0)
    fetch(session)
    session.answered()
    request = fetch(session, {P0: [Run(0, 9, Acknowledge.ACCEPT)]}, {P0: ID})
    assert (named(request), forgotten(request)) == ({0: 1}, [0])


def test_a_recreated_topic_replaces_the_old_one() -> None:
    session = open_session(P0)
    session.want(P0, OTHER)
    request = fetch(session)
    assert [topic.topic_id for topic in request.topics] == [OTHER]
    assert [topic.topic_id for topic in request.forgotten_topics_data] == [ID]


def test_a_lost_session_begins_anew_with_all_partitions() -> None:
    session = open_session(P0, P1)
    session.lost()
    request = fetch(session)
    assert request.share_session_epoch == 0
    assert named(request) == {0: 0, 1: 0}


def test_after_the_last_epoch_comes_the_first() -> None:
    session = open_session(P0)
    session.epoch = LAST_EPOCH
    session.answered()
    assert session.epoch == 1


def test_the_last_request_ends_the_session_and_renewals_are_marked() -> None:
    session = open_session(P0)
    request = ShareAcknowledgeRequest(group_id="g", member_id="m", share_session_epoch=0, topics=[])
    session.fill_acknowledge(request, {P0: [Run(0, 1, Acknowledge.RENEW)]}, {P0: ID}, final=True)
    assert (request.share_session_epoch, request.is_renew_ack) == (-1, True)
    request = ShareAcknowledgeRequest(group_id="g", member_id="m", share_session_epoch=0, topics=[])
    session.fill_acknowledge(request, {P0: [Run(0, 1, Acknowledge.ACCEPT)]}, {P0: ID})
    assert (request.share_session_epoch, request.is_renew_ack) == (1, False)
