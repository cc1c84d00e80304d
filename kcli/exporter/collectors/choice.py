"""The names of the collectors, and which of them are wanted. Values only."""

from collections.abc import Mapping

GROUPS, OWNERS, TOPICS, BROKERS, QUORUM = "groups", "owners", "topics", "brokers", "quorum"
TRANSACTIONS, QUOTAS, COMMITS, LOG_DIRS, CONFIGS = "transactions", "quotas", "commits", "log-dirs", "configs"

COLLECTORS: Mapping[str, str] = {
    GROUPS: "lag, verdicts, states and members of groups",
    OWNERS: "client id and host of the member that reads each partition",
    TOPICS: "partitions, replicas, offsets and sizes of topics",
    BROKERS: "brokers, the controller, and how long brokers take to respond",
    QUORUM: "the leader of the metadata quorum, lag of voters and observers",
    TRANSACTIONS: "open transactions",
    QUOTAS: "client quotas",
    COMMITS: "records written to __consumer_offsets",
    LOG_DIRS: "size and state of the brokers' log directories",
    CONFIGS: "configuration of topics",
}
ALL = frozenset(COLLECTORS)
USUAL = ALL - {OWNERS, LOG_DIRS, CONFIGS}
WORDS: Mapping[str, frozenset[str]] = {
    "default": USUAL,
    "all": ALL,
    **{name: frozenset((name,)) for name in COLLECTORS},
    OWNERS: frozenset((GROUPS, OWNERS)),
}
"""What ``--collect`` accepts, in a list. Owners are of groups."""


def chosen(text: str) -> frozenset[str]:
    """The collectors of a list such as ``default,log-dirs``; ValueError has the first word that names none."""
    found: frozenset[str] = frozenset()
    for word in text.split(","):
        if word.strip() not in WORDS:
            raise ValueError(word.strip())
        found |= WORDS[word.strip()]
    return found
