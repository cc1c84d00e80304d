"""All changes by the kind of their documents: a new one needs a row here."""

import importlib
from typing import Any

from kcli.account.change import Change

CHANGES = {
    "ConfigAlter": "kcli.flows.configs.alter:ConfigAlter",
    "TopicAlter": "kcli.flows.topics.alter:TopicAlter",
    "TopicCreate": "kcli.flows.topics.create:TopicCreation",
    "LeaderElection": "kcli.flows.leader_elections:LeaderElection",
    "Reassignment": "kcli.flows.reassign.run:ReassignmentRun",
    "ReassignmentCancel": "kcli.flows.reassign.cancel:ReassignmentCancel",
    "TopicDelete": "kcli.flows.topics.delete:TopicDeletion",
    "TopicTrim": "kcli.flows.topics.trim:TopicTrim",
    "TransactionAbort": "kcli.flows.transactions.abort:TransactionAbort",
}
"""The class of each kind, which is imported when it is needed."""


def change_class(kind: str) -> type[Change[Any, Any]]:
    """The class of a kind."""
    module, _, name = CHANGES[kind].partition(":")
    found: type[Change[Any, Any]] = getattr(importlib.import_module(module), name)
    return found
