"""What internal topics are for."""

from kcli.core.admin.topics import TopicInfo
from kcli.core.names import own_topic_purpose

_PURPOSES = {
    "__consumer_offsets": "the committed offsets of all groups",
    "__transaction_state": "the state of all transactions",
    "__share_group_state": "the state of all share groups",
    "__cluster_metadata": "the cluster's own metadata",
    "__remote_log_metadata": "the metadata of tiered storage",
}


def internal_purpose(topic: TopicInfo) -> str | None:
    """What an internal topic is for; None for any other."""
    of_brokers = "state of the brokers" if topic.internal else None
    what = _PURPOSES.get(topic.name) or own_topic_purpose(topic.name) or of_brokers
    return what and f"{topic.name} is an internal topic: it holds {what}"
