"""The judges of epochs and numbers are seen to accuse, and to be content. No sockets."""

import itertools
from dataclasses import replace

import pytest

from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.proxy.epochs import EpochJudge
from tests.proxy.exchange import BatchHead, Exchange
from tests.proxy.log import Log
from tests.proxy.tables import INIT_PRODUCER_ID, PRODUCE

_ids = itertools.count()


def exchange(api: int) -> Exchange:
    return Exchange(0.0, 1, 1, api, 9, next(_ids), 100)


class Client:
    """Says to the judge what a producer would have sent."""

    def __init__(self) -> None:
        self.judge = EpochJudge()

    def produces(self, epoch: int, *, producer_id: int = 7, gone: bool = False) -> Exchange:
        one = exchange(PRODUCE)
        one.batches = (BatchHead("t", 0, producer_id, epoch, 0, 1, 0, False, 0, 100),)
        self.judge.produced(one, lambda: gone)
        return one

    def asks(self, epoch: int, *, producer_id: int = 7) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
        request.producer_id, request.producer_epoch = producer_id, epoch
        self.judge.asked(exchange(INIT_PRODUCER_ID), request)

    def verdicts(self) -> list[str]:
        return [one.what for one in self.judge.found]


@pytest.fixture
def client() -> Client:
    return Client()


def test_asking_for_an_epoch_with_a_batch_in_flight_is_wrong(client: Client) -> None:
    flying = client.produces(0)
    client.asks(0)
    (found,) = client.judge.found
    assert found.what == "a new epoch was asked for"
    assert (found.producer_id, found.epoch, found.in_flight) == (7, 1, (flying,))
    assert "in flight" in str(found)


def test_writing_under_a_new_epoch_with_a_batch_in_flight_is_wrong(client: Client) -> None:
    client.produces(0)
    client.produces(1)
    assert client.verdicts() == ["a new epoch was written under"]


def test_an_old_epoch_after_a_new_one_was_requested_is_wrong(client: Client) -> None:
    client.asks(0)
    client.produces(0)
    assert client.verdicts() == ["an epoch was written under after a new one had been asked for"]


def test_after_the_answer_it_is_right(client: Client) -> None:
    client.judge.over(client.produces(0))
    client.asks(0)
    client.judge.over(client.produces(1))
    client.produces(1)
    assert client.verdicts() == []
    assert client.judge.bumps == 1


def test_what_was_sent_on_a_connection_that_the_client_has_closed_is_not_in_flight(client: Client) -> None:
    client.produces(0, gone=True)
    client.asks(0)
    client.produces(0, gone=True)  # read late, written before
    client.produces(1)
    assert client.verdicts() == []


def test_producers_are_distinguished_and_the_first_id_is_no_bump(client: Client) -> None:
    client.produces(0, producer_id=8)
    client.produces(-1, producer_id=-1)
    client.asks(-1, producer_id=-1)
    client.asks(0, producer_id=9)
    client.produces(5)
    client.produces(5)
    assert client.verdicts() == []


def test_another_batch_under_a_used_number_is_found() -> None:
    log, first = Log(), BatchHead("t", 0, 7, 0, 5, 3, 0, False, 0xABC, 100)
    for batch in (first, first, replace(first, epoch=1, crc=1), replace(first, base_sequence=8, crc=2)):
        one = exchange(PRODUCE)
        one.batches = (batch,)
        log.begin(one)
    assert log.numbers_used_twice() == []
    other = exchange(PRODUCE)
    other.batches = (replace(first, crc=0xDEF),)
    log.begin(other)
    assert len(log.numbers_used_twice()) == 1
