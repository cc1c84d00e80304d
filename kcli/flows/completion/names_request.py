"""Requests the names of a cluster's groups with their states, or of its topics with their partitions, in as few round
trips as possible.
"""

from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.everywhere import ask_brokers
from kcli.core.cluster.metadata import TopicView
from kcli.core.errors import KcliError
from kcli.core.options import ClientOptions
from kcli.core.protocol.messages.list_groups import ListGroupsRequest


class ListedNames(NamedTuple):
    """``whole``: every broker that may have more names has responded."""

    names: list[str]
    whole: bool


def request_names(kind: str, options: ClientOptions, seconds: float) -> ListedNames:
    """The names of the ``kind`` (``groups`` or ``topics``); KcliError when no broker is reached within ``seconds``."""
    with Cluster(options) as cluster:
        deadline = cluster.loop.now() + seconds
        if kind == "groups":
            cluster.connect(seconds)
            return _groups(cluster, deadline)
        cluster.all_known = True  # so that the first metadata request is for all topics
        return ListedNames(list(map(_of_topic, cluster.connect(seconds).topics.values())), whole=True)


def _of_topic(topic: TopicView) -> str:
    count = len(topic.partitions)
    return row_of(topic.name, f"{count} partition{'' if count == 1 else 's'}" if count else "")


def row_of(name: str, note: str) -> str:
    """With a tab behind the name also where nothing follows: a tab in the name begins no note."""
    return f"{name}\t{note}"


def _groups(cluster: Cluster, deadline: float) -> ListedNames:
    """The groups of all brokers: each lists those that it coordinates."""

    def read(response: Any) -> tuple[int, list[str]]:
        return response.error_code, [row_of(row.group_id, row.group_state) for row in response.groups]

    found = ask_brokers(
        cluster, cluster.view.nodes, lambda _broker: ListGroupsRequest(), read, deadline, "listing groups"
    )
    listed = [names for names in found.values() if not isinstance(names, KcliError)]
    return ListedNames([name for names in listed for name in names], whole=len(listed) == len(found))
