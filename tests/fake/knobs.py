"""The knobs that break single requests, as methods of FakeCluster. Each sets a rule and returns it at once."""

from collections.abc import Callable
from typing import Any, TypedDict, Unpack

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kcli.core.types import TopicPartition
from tests.fake import faults
from tests.fake.script import FOREVER, Fault, Rule, Script, When
from tests.fake.thread import LoopThread

Api = type[Request] | tuple[type[Request], ...] | None
"""One API, several, or all (None)."""


class Which(TypedDict, total=False):
    """The conditions that every knob takes."""

    node: int
    """Only requests to this node."""
    times: float
    """How many requests; FOREVER for all."""
    after: int
    """How many to let pass first."""
    when: When
    """Only requests for which this is true; it is given the decoded request."""


class Hold(Rule):
    """Requests (or answers) that wait for the test. ``wait`` returns when one was caught."""

    fault: faults.HoldFault
    thread: LoopThread

    def release(self, count: int | None = None) -> int:
        """Lets ``count`` continue; None lets all go, those that come later too. How many were waiting."""
        return self.thread.call(self.fault.let_go, count, "")

    def lose(self, count: int | None = None, *, then: str = "reset") -> int:
        """They never come through: held requests are not applied, held answers are lost."""
        return self.thread.call(self.fault.let_go, count, then)


class Knobs:
    """Needs ``_script`` and ``_thread``."""

    _script: Script
    _thread: LoopThread

    def fail(
        self,
        api: Api,
        *codes: int,
        where: TopicPartition | str | None = None,
        applied: bool = False,
        top: bool = False,
        **which: Unpack[Which],
    ) -> Rule:
        """The next ``len(codes)`` requests are answered with these codes and not applied.

        With ``times`` the codes are used in turn for so many requests. ``where`` is a TopicPartition, or the name
        of a topic, group or key: the rest of the request is applied. ``applied=True`` does what was asked and says
        the error all the same. ``top=True`` puts the code on top where an API has both places (Fetch, OffsetFetch).
        """
        assert codes, "which code?"
        which.setdefault("times", len(codes))
        return self._rule(faults.Fail(codes, where=where, applied=applied, top=top), api, which)

    def delay(self, api: Api, seconds: float, *, before: bool = False, **which: Unpack[Which]) -> Rule:
        """Answers come late, indefinitely unless ``times`` is given; ``before=True`` applies the request late too."""
        return self._rule(faults.Delay(seconds, before=before), api, which)

    def swallow(self, api: Api, then: str = "silence", *, nth: int = 1, **which: Unpack[Which]) -> Rule:
        """The ``nth`` request is applied and its answer is lost.

        ``then``: ``silence`` (nothing more on this connection), ``reset``, ``close``, or ``skip`` (the answers to
        later requests come).
        """
        return self._once(faults.Swallow(then), api, which, nth)

    def drop(self, api: Api, then: str = "silence", *, nth: int = 1, **which: Unpack[Which]) -> Rule:
        """The ``nth`` request is neither applied nor answered; ``then`` as for ``swallow``."""
        return self._once(faults.Drop(then), api, which, nth)

    def cut(self, api: Api, at: int | None = None, then: str = "close", **which: Unpack[Which]) -> Rule:
        """Applied; ``at`` bytes of the answer's frame (None: half of it) are sent, then ``then``."""
        return self._once(faults.Cut(at, then), api, which)

    def drip(self, api: Api, chunk: int = 1, pause: float = 0.0, **which: Unpack[Which]) -> Rule:
        """Answers come ``chunk`` bytes at a time, ``pause`` seconds between them; indefinitely."""
        return self._rule(faults.Drip(chunk, pause), api, which)

    def wrong_correlation_id(self, api: Api, offset: int = 7, **which: Unpack[Which]) -> Rule:
        """One answer names another request."""
        return self._once(faults.WrongCorrelationId(offset), api, which)

    def throttle(self, milliseconds: int, api: Api = None, **which: Unpack[Which]) -> Rule:
        """Answers carry throttle_time_ms; indefinitely. What ApiVersions v0 and the like cannot carry is left out."""
        return self._rule(faults.Throttle(milliseconds), api, which)

    def replace(
        self, api: Api, edit: Callable[[Any, Any], Response | bytes | None], **which: Unpack[Which]
    ) -> Rule:
        """``edit(request, answer)`` changes the answer in place, returns another, or the bytes of its body."""
        return self._rule(faults.Replace(edit), api, which)

    def garble(self, api: Api, change: Callable[[bytes], bytes], **which: Unpack[Which]) -> Rule:
        """``change(frame)`` returns the bytes to be sent instead of one answer's frame, length included."""
        return self._once(faults.Garble(change), api, which)

    def lie(self, edit: Callable[[MetadataResponse], object], **which: Unpack[Which]) -> Rule:
        """``edit(answer)`` changes metadata answers in place; indefinitely."""

        def changed(_request: Any, answer: MetadataResponse) -> None:
            edit(answer)

        return self.replace(MetadataRequest, changed, **which)

    def intercept(self, api: Api, act: Callable[[Any], Any], **which: Unpack[Which]) -> Rule:
        """``act(request)`` runs on the cluster's thread before a request is applied; indefinitely.

        It may be async, may use the cluster, and may return the answer.
        """
        return self._rule(faults.Intercept(act, self._thread.settle), api, which)

    def hold(self, api: Api, at: str = "request", **which: Unpack[Which]) -> Hold:
        """One request (more with ``times``) waits until ``release``: before it is applied, or (``at="answer"``) after.

        A released request is applied even if its client is gone: the zombie's request that comes late.
        """
        which.setdefault("times", 1)
        hold = Hold(faults.HoldFault(at), api, **_complete(which))
        hold.thread = self._thread
        self._thread.call(self._script.add, hold)
        return hold

    def heal(self) -> None:
        """Takes all rules back. What is held stays held."""
        self._thread.call(self._script.clear)

    # --- inside ------------------------------------------------------------------------------------

    def _once(self, fault: Fault, api: Api, which: Which, nth: int = 1) -> Rule:
        which.setdefault("times", 1)
        which["after"] = which.get("after", 0) + nth - 1
        return self._rule(fault, api, which)

    def _rule(self, fault: Fault, api: Api, which: Which) -> Rule:
        return self._thread.call(self._script.add, Rule(fault, api, **_complete(which)))


def _complete(which: Which) -> dict[str, Any]:
    return {"node": None, "times": FOREVER, "after": 0, "when": None, **which}
