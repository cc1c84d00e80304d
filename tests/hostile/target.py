"""One parser under attack: how its inputs are made, how it is called, and which errors it may raise. Not a test."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from kcli.core.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class Target:
    """``make`` returns an input, ``run`` parses it; whatever ``run`` depends on is in the bytes."""

    name: str
    family: str
    make: Callable[[Random], bytes]
    run: Callable[[bytes], object]
    allowed: tuple[type[Exception], ...] = (ProtocolError,)


@dataclass(frozen=True, slots=True)
class Family:
    """Targets of one kind. ``share`` is its part of all inputs; ``spare`` the bytes that a parser may use by contract.

    ``per_kernel``: its parsers run in both implementations, so each must see all its inputs.
    """

    name: str
    share: float
    targets: tuple[Target, ...]
    spare: int = 0
    per_kernel: bool = False
