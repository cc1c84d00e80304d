"""Assignors by name, and the parsing of ``partition.assignment.strategy``. Pure."""

from collections.abc import Callable, Sequence

from kcli.core.errors import ConfigError
from kcli.core.group.assignors.assignor import Assignor, RebalanceProtocol
from kcli.core.group.assignors.cooperative_sticky import CooperativeStickyAssignor
from kcli.core.group.assignors.range import RangeAssignor
from kcli.core.group.assignors.roundrobin import RoundRobinAssignor
from kcli.core.group.assignors.sticky import StickyAssignor

OPTION = "partition.assignment.strategy"

_MAKERS: dict[str, Callable[[], Assignor]] = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}

NAMES = tuple(_MAKERS)

_JAVA = "org.apache.kafka.clients.consumer."
_OF_JAVA = {
    f"{_JAVA}RangeAssignor": "range",
    f"{_JAVA}RoundRobinAssignor": "roundrobin",
    f"{_JAVA}StickyAssignor": "sticky",
    f"{_JAVA}CooperativeStickyAssignor": "cooperative-sticky",
}


def assignor(name: str) -> Assignor:
    """The assignor of this name; the Java client's class names are accepted too."""
    maker = _MAKERS.get(_OF_JAVA.get(name, name))
    if maker is None:
        raise ConfigError(f"{OPTION}: there is no assignor {name!r}", do=f"choose of {', '.join(NAMES)}")
    return maker()


def choose(chosen: str | Assignor | Sequence[str | Assignor]) -> tuple[Assignor, ...]:
    """The assignors of an option's value, the preferred one first: names (``"range,sticky"``), objects, or a list."""
    if isinstance(chosen, str):
        chosen = [name.strip() for name in chosen.split(",") if name.strip()]
    several = chosen if isinstance(chosen, Sequence) else [chosen]
    found = tuple(assignor(one) if isinstance(one, str) else one for one in several)
    names = [one.name for one in found]
    if not names:
        raise ConfigError(f"{OPTION} names no assignor", do=f"choose of {', '.join(NAMES)}")
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(
                f"{OPTION}: two assignors are called {name!r}", do="give each a name of its own"
            )
    return found


def rebalance_protocol(assignors: Sequence[Assignor]) -> RebalanceProtocol:
    """COOPERATIVE only if all of them support it: that is how a running group is migrated (KIP-429)."""
    return "COOPERATIVE" if all(one.protocol == "COOPERATIVE" for one in assignors) else "EAGER"
