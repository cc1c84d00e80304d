"""What a member offers when it joins: its subscription, once for each of its assignors. Pure."""

from collections.abc import Iterable, Sequence

from kcli.core.group.assignors.assignor import Assignor, Remembering
from kcli.core.group.assignors.registry import rebalance_protocol
from kcli.core.group.consumer_protocol import Subscription, encode_subscription
from kcli.core.protocol.messages.join_group import JoinGroupRequestProtocol
from kcli.core.types import TopicPartition


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
