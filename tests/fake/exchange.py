"""One request on its way through a node: what faults look at and change. And the ways a conversation can end."""

from dataclasses import dataclass

from kcli.core.protocol.api import Request, Response
from tests.fake.journal import Seen
from tests.fake.state import Context, Handler


class Sink:
    """Where an answer goes; the connection is one."""

    async def send(self, data: bytes) -> None:
        raise NotImplementedError


@dataclass(slots=True)
class Exchange:
    """``answer`` is set by a fault or the handler, ``frame`` when it has been encoded."""

    seen: Seen
    ctx: Context
    handler: Handler
    sink: Sink
    request: Request
    """What is carried out: ``seen.request`` unless a fault has made another of it."""
    answer: Response | None = None
    frame: bytes = b""
    body: bytes | None = None
    """Bytes to be sent as the answer's body, whatever ``answer`` says."""
    correlation_id: int = 0
    sent: bool = False


class EndError(Exception):
    """Nothing (more) is sent for this request. ``how`` is what becomes of the connection.

    ``skip``: the next request is served. ``silence``: it stays open, nothing is read or sent any more.
    ``close``: it is closed in order. ``reset``: it is torn down.
    """

    def __init__(self, how: str, outcome: str) -> None:
        super().__init__(how, outcome)
        if how not in ("skip", "silence", "close", "reset"):
            raise ValueError(f"{how}: a conversation ends by skip, silence, close or reset")
        self.how = how
        self.outcome = outcome
