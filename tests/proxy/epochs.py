"""The judge of "no epoch bump while batches are in flight" (goal R2). Fed in the order of what the proxy reads.

A producer asks for a new epoch by InitProducerId with its present one (KIP-360), or simply writes under a new one
(KIP-890). Both are wrong while the client can still hope for the answer to a Produce under the old epoch: what is
stored under the old one would be stored again under the new. So is an old epoch that comes after such a request.

It never accuses wrongly for being slow: an answer counts as seen before its last byte goes out, a connection as dead
as soon as the client's end of it is closed, even if nobody has read that far.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.proxy.exchange import Exchange

Gone = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class EarlyBump:
    """``by`` asked for, or wrote under, a new epoch while ``in_flight`` were not over; or an old epoch came late."""

    what: str
    producer_id: int
    epoch: int
    by: Exchange
    in_flight: tuple[Exchange, ...]

    def __str__(self) -> str:
        lines = [f"{self.what}: producer {self.producer_id}, epoch {self.epoch}", f"  by {self.by}"]
        return "\n".join([*lines, *(f"  in flight: {one}" for one in self.in_flight)])


class EpochJudge:
    """``produced`` and ``asked`` are told of requests, with a way to find out whether their client has hung up."""

    def __init__(self) -> None:
        self.found: list[EarlyBump] = []
        self.bumps = 0
        self._open: dict[Exchange, Gone] = {}
        self._newest: dict[int, int] = {}
        self._left: dict[tuple[int, int], Exchange] = {}

    def produced(self, exchange: Exchange, gone: Gone) -> None:
        """A Produce request was read whole."""
        self._open[exchange] = gone
        for producer_id, epoch in {(batch.producer_id, batch.epoch) for batch in exchange.batches}:
            if producer_id < 0:
                continue
            newest = self._newest.setdefault(producer_id, epoch)
            if epoch > newest:
                self._newest[producer_id] = epoch
                self._bump("a new epoch was written under", producer_id, epoch, exchange)
            asked = self._left.get((producer_id, epoch))
            if asked is not None and not gone():
                what = "an epoch was written under after a new one had been asked for"
                self.found.append(EarlyBump(what, producer_id, epoch, asked, (exchange,)))

    def asked(self, exchange: Exchange, request: InitProducerIdRequest) -> None:
        """An InitProducerId request was read."""
        producer_id, epoch = request.producer_id, request.producer_epoch
        if producer_id < 0:
            return
        self.bumps += 1
        self._left[producer_id, epoch] = exchange
        self._bump("a new epoch was asked for", producer_id, epoch + 1, exchange)

    def over(self, exchange: Exchange) -> None:
        """The client need not wait for it any more."""
        self._open.pop(exchange, None)

    def _bump(self, what: str, producer_id: int, epoch: int, by: Exchange) -> None:
        flying = [
            one
            for one, gone in self._open.items()
            if any(b.producer_id == producer_id and b.epoch < epoch for b in one.batches) and not gone()
        ]
        if flying:
            self.found.append(EarlyBump(what, producer_id, epoch, by, tuple(flying)))
