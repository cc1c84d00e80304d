"""Knobs that act on single requests and answers. Each returns its rule: ``hits``, ``remove()``, usable in ``with``.

All take ``node``, ``nth`` (one or several, counted from 1 among those that match), ``when`` (asked with the Exchange),
``times``, and ``share`` with ``rng`` for a seeded schedule.
"""

import random
from collections.abc import Callable, Collection, Iterable
from typing import TypedDict, Unpack

from kcli.core.protocol.messages.produce import ProduceRequest
from tests.proxy.exchange import Exchange
from tests.proxy.hub import Hub
from tests.proxy.passing import RESET, RESPONSE, SILENCE
from tests.proxy.rules import Api, Cut, Delay, Drip, Hold, Pick, Swallow


class Choice(TypedDict, total=False):
    """Which of an API's frames; see Pick."""

    node: int | None
    nth: int | Collection[int] | None
    when: Callable[[Exchange], bool] | None
    times: int | None
    share: float | None
    rng: random.Random


class FrameKnobs:
    """What a Proxy can do to frames. Any thread."""

    _hub: Hub

    def swallow(self, api: Api = ProduceRequest, *, then: str = RESET, **choice: Unpack[Choice]) -> Swallow:
        """The broker gets the request and answers; the answer goes no further. Once, unless told otherwise.

        ``then`` "reset": the client gets an RST as soon as the broker has answered. "silence": nothing more is
        forwarded on that connection, until the client closes it.
        """
        return self._swallow(_pick(api, choice, once=True), [then])

    def swallow_schedule(
        self,
        rng: random.Random,
        chosen: float | Collection[int],
        *,
        api: Api = ProduceRequest,
        kinds: Iterable[str] = (RESET, SILENCE),
        times: int | None = None,
        node: int | None = None,
    ) -> Swallow:
        """Swallows a share of all answers, or those with these numbers (from 1 on), by ``kinds`` in turn.

        ``counts`` of the rule says how many of each kind.
        """
        share, nth = (chosen, None) if isinstance(chosen, float) else (None, frozenset(chosen))
        return self._swallow(Pick(api, node, nth=nth, times=times, share=share, rng=rng), kinds)

    def delay(
        self,
        api: Api,
        seconds: float,
        jitter: float = 0.0,
        *,
        what: str = RESPONSE,
        **choice: Unpack[Choice],
    ) -> Delay:
        """Frames of ``api`` (None: all) arrive ``seconds`` ± ``jitter`` later, in order."""
        rule = Delay(_pick(api, choice), what, seconds, jitter)
        self._hub.rules.add(rule)
        return rule

    def drip(
        self,
        api: Api = None,
        *,
        size: int = 1,
        pause: float = 0.0,
        what: str = RESPONSE,
        **choice: Unpack[Choice],
    ) -> Drip:
        """Frames go out in pieces of ``size`` bytes."""
        rule = Drip(_pick(api, choice), what, size, pause)
        self._hub.rules.add(rule)
        return rule

    def cut(
        self, api: Api, at: int, *, what: str = RESPONSE, then: str = RESET, **choice: Unpack[Choice]
    ) -> Cut:
        """``at`` bytes of the frame go out (negative: all but so many), then the connection ends. Once, unless told.

        ``then``: "reset" or "fin", towards the client; a broker sees a FIN.
        """
        rule = Cut(_pick(api, choice, once=True), what, at, then)
        self._hub.rules.add(rule)
        return rule

    def hold(self, api: Api, what: str = RESPONSE, **choice: Unpack[Choice]) -> Hold:
        """The next frame waits until ``release`` or ``drop``; a held request continues even if its client has gone."""
        rule = Hold(_pick(api, choice, once=True), what, self._hub.log, self._hub.loop)
        self._hub.rules.add(rule)
        return rule

    def _swallow(self, pick: Pick, kinds: Iterable[str]) -> Swallow:
        rule = Swallow(pick, kinds)
        self._hub.rules.add(rule)
        return rule


def _pick(api: Api, choice: Choice, *, once: bool = False) -> Pick:
    """``once``: where neither a number nor a share nor a limit is named, one is enough."""
    if once and not choice.keys() & {"nth", "share", "times"}:
        choice = {**choice, "times": 1}
    return Pick(api, **choice)
