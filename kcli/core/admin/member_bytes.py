"""What members' bytes mean: decoded once, for as long as they stay the same. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kcli.core.group.consumer_protocol import decode_assignment, decode_subscription
from kcli.core.protocol.codec import Buffer

T = TypeVar("T")


class _Decoded(Generic[T]):
    """The values of this call and of the one before, by their bytes."""

    def __init__(self, decode: Callable[[Buffer, str], T]) -> None:
        self._decode = decode
        self._before: dict[bytes, T] = {}
        self._now: dict[bytes, T] = {}

    def begin_call(self) -> None:
        self._before, self._now = self._now, {}

    def value(self, data: Buffer, member: str) -> T:
        key = bytes(data)  # a copy: the view is of a receive buffer that will be reused
        value = self._now.get(key)
        if value is None:
            value = self._before.get(key)
            self._now[key] = value = self._decode(key, member) if value is None else value
        return value


class MemberBytes:
    """Subscriptions and assignments of classic members. A stable group has the same bytes in every description.

    Who describes thousands of groups again and again spares most of the work, and equal values are one object. What a
    call did not have is forgotten with the next.
    """

    def __init__(self) -> None:
        self._subscriptions = _Decoded(decode_subscription)
        self._assignments = _Decoded(decode_assignment)
        self.subscription, self.assignment = self._subscriptions.value, self._assignments.value

    def begin_call(self) -> None:
        """Starts on the next description of groups."""
        self._subscriptions.begin_call()
        self._assignments.begin_call()
