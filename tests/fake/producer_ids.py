"""Producer ids and first epochs, and InitProducerId."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.fake.codes import Code, RefusedError
from tests.fake.coordinators import TRANSACTION

if TYPE_CHECKING:
    from tests.fake.state import Context

_KNOWS_FENCED = 4  # KIP-588


class ProducerIds:
    """``next_id`` and ``first_epoch`` may be set by a test (epochs near their end)."""

    def __init__(self) -> None:
        self.next_id = 1000
        self.first_epoch = 0

    def take(self) -> int:
        taken = self.next_id
        self.next_id += 1
        return taken


async def init_producer_id(ctx: "Context", request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Without a transactional id always a new producer id, whatever id the client says it has (KIP-360)."""
    if request.transactional_id is None:
        ids = ctx.state.producer_ids
        return InitProducerIdResponse(producer_id=ids.take(), producer_epoch=ids.first_epoch)
    try:
        if ctx.state.coordinators.of(TRANSACTION, request.transactional_id) != ctx.node:
            raise RefusedError(Code.NOT_COORDINATOR)
        granted = ctx.state.transactions.init(request)
    except RefusedError as refused:
        old = refused.code == Code.PRODUCER_FENCED and ctx.version < _KNOWS_FENCED
        code = int(Code.INVALID_PRODUCER_EPOCH) if old else refused.code
        return InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=granted[0], producer_epoch=granted[1])
