"""Assignors by name, and the parsing of ``partition.assignment.strategy``. Pure."""

from collections.abc import Callable, Iterable, Sequence

from kcli.core.errors import ConfigError
from kcli.core.group.assignors.assignor import Assignor, RebalanceProtocol, Remembering
from kcli.core.group.assignors.cooperative_sticky import CooperativeStickyAssignor
from kcli.core.group.assignors.range import RangeAssignor
from kcli.core.group.assignors.roundrobin import RoundRobinAssignor
from kcli.core.group.assignors.sticky import StickyAssignor
from kcli.core.group.consumer_protocol import Subscription, encode_subscription
from kcli.core.protocol.messages.join_group import JoinGroupRequestProtocol
from kcli.core.types import TopicPartition

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


def offers(
    assignors: Sequence[Assignor],
    topics: Iterable[str],
    *,
    last: Sequence[TopicPartition] = (),
    generation: int = -1,
    rack: str | None = None,
) -> list[JoinGroupRequestProtocol]:
    """The ``protocols`` of JoinGroup, in order of preference.

    ``last`` is what the member was assigned in ``generation`` and has not lost since. Under EAGER it has revoked that
    by now and claims nothing; only an assignor's user data still carries it (KIP-429).
    """
    owned = tuple(last) if rebalance_protocol(assignors) == "COOPERATIVE" else ()
    wanted = tuple(topics)

    def subscription(assignor: Assignor) -> Subscription:
        data = assignor.user_data(last, generation) if isinstance(assignor, Remembering) else None
        return Subscription(wanted, owned, generation, rack, data)

    return [
        JoinGroupRequestProtocol(name=one.name, metadata=encode_subscription(subscription(one)))
        for one in assignors
    ]
