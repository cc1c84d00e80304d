"""What can happen to a request or its answer, one small class each. Set by the knobs of the cluster."""

import asyncio
import inspect
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kcli.core.protocol.api import Response
from kcli.core.types import TopicPartition
from tests.fake.exchange import EndError, Exchange
from tests.fake.journal import Seen
from tests.fake.refusals import Refusal
from tests.fake.script import Fault


class Fail(Fault):
    """Answers with an error code; ``applied`` does what was asked all the same."""

    def __init__(
        self, codes: Sequence[int], *, where: TopicPartition | str | None, applied: bool, top: bool
    ) -> None:
        self._codes = itertools.cycle(codes)
        self._where, self._applied, self._top = where, applied, top
        self._open: dict[int, Refusal] = {}

    def concerns(self, seen: Seen) -> bool:
        return Refusal(seen, 0, where=self._where, top=self._top).concerns

    async def on_request(self, exchange: Exchange) -> None:
        refusal = Refusal(exchange.seen, next(self._codes), where=self._where, top=self._top)
        if not self._applied and refusal.covers_all:
            exchange.answer = refusal.answer()
            return
        if not self._applied:
            exchange.request = refusal.without(exchange.request)
        self._open[exchange.seen.number] = refusal

    async def on_answer(self, exchange: Exchange) -> None:
        refusal = self._open.pop(exchange.seen.number, None)
        if refusal is not None and exchange.answer is not None:
            refusal.put_into(exchange.answer)


class Delay(Fault):
    """The answer comes late; with ``before`` the request is applied late too."""

    def __init__(self, seconds: float, *, before: bool) -> None:
        self._seconds, self._before = seconds, before

    async def on_request(self, exchange: Exchange) -> None:
        if self._before:
            await asyncio.sleep(self._seconds)

    async def on_answer(self, exchange: Exchange) -> None:
        if not self._before:
            await asyncio.sleep(self._seconds)


class Drop(Fault):
    """Neither applied nor answered."""

    def __init__(self, then: str) -> None:
        self._then = then

    async def on_request(self, exchange: Exchange) -> None:
        raise EndError(self._then, "dropped")


class Swallow(Fault):
    """Applied; the answer is lost."""

    def __init__(self, then: str) -> None:
        self._then = then

    async def on_answer(self, exchange: Exchange) -> None:
        raise EndError(self._then, "swallowed")


class Cut(Fault):
    """The first bytes of the answer, then the end of the connection. ``at`` None is the middle."""

    def __init__(self, at: int | None, then: str) -> None:
        self._at, self._then = at, then

    async def on_send(self, exchange: Exchange) -> None:
        at = len(exchange.frame) // 2 if self._at is None else self._at
        await exchange.sink.send(exchange.frame[:at])
        raise EndError(self._then, "cut")


class Drip(Fault):
    """A few bytes at a time."""

    def __init__(self, chunk: int, pause: float) -> None:
        self._chunk, self._pause = chunk, pause

    async def on_send(self, exchange: Exchange) -> None:
        for start in range(0, len(exchange.frame), self._chunk):
            await exchange.sink.send(exchange.frame[start : start + self._chunk])
            await asyncio.sleep(self._pause)
        exchange.sent = True


class WrongCorrelationId(Fault):
    """The answer names another request."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    async def on_answer(self, exchange: Exchange) -> None:
        exchange.correlation_id = (exchange.correlation_id + self._offset) & 0x7FFFFFFF


class Throttle(Fault):
    """The answer says for how long the client is to be quiet."""

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    async def on_answer(self, exchange: Exchange) -> None:
        if exchange.answer is not None:
            exchange.answer.throttle_time_ms = self._milliseconds  # type: ignore[attr-defined]


class Replace(Fault):
    """``edit(request, answer)`` changes the answer in place (None), or returns another, or the bytes of a body."""

    def __init__(self, edit: Callable[[Any, Any], Response | bytes | None]) -> None:
        self._edit = edit

    async def on_answer(self, exchange: Exchange) -> None:
        new = self._edit(exchange.seen.request, exchange.answer)
        if isinstance(new, bytes):
            exchange.body = new
        elif new is not None:
            exchange.answer = new


class Garble(Fault):
    """``change(frame)`` returns the bytes to be sent instead of the whole frame, its length included."""

    def __init__(self, change: Callable[[bytes], bytes]) -> None:
        self._change = change

    async def on_frame(self, exchange: Exchange) -> None:
        exchange.frame = self._change(exchange.frame)


class Intercept(Fault):
    """``act(request)`` runs before the request is applied, may be async, and may return the answer."""

    def __init__(self, act: Callable[[Any], Any], settle: Callable[[], Awaitable[None]]) -> None:
        self._act, self._settle = act, settle

    async def on_request(self, exchange: Exchange) -> None:
        try:
            answer = self._act(exchange.seen.request)
            if inspect.isawaitable(answer):
                answer = await answer
            await self._settle()
        except OSError as error:  # not of this connection, which would only be closed
            raise RuntimeError("a callback of the test failed") from error
        if isinstance(answer, Response):
            exchange.answer = answer


class HoldFault(Fault):
    """Keeps requests (``at="request"``, not yet applied) or answers (``at="answer"``) until they are let go."""

    def __init__(self, at: str) -> None:
        if at not in ("request", "answer"):
            raise ValueError(f"{at}: hold at request or answer")
        self.at = at
        self.kind = (HoldFault, at)
        self._waiting: list[asyncio.Future[str]] = []
        self._open = False

    async def on_request(self, exchange: Exchange) -> None:
        if self.at == "request":
            await self._pause("dropped")

    async def on_answer(self, exchange: Exchange) -> None:
        if self.at == "answer":
            await self._pause("swallowed")

    def let_go(self, count: int | None, verdict: str) -> int:
        """On the loop: how many were let go. None is all, those to come too."""
        self._open = self._open or (count is None and not verdict)
        chosen = self._waiting[:count]
        del self._waiting[:count]
        for waiting in chosen:
            if not waiting.done():
                waiting.set_result(verdict)
        return len(chosen)

    async def _pause(self, outcome: str) -> None:
        if self._open:
            return
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        verdict = await waiting
        if verdict:
            raise EndError(verdict, outcome)
