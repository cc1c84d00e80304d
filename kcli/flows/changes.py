"""All changes by the kind of their documents: a new one needs a row here."""

import importlib
from typing import Any

from kcli.account.change import Change

CHANGES = {
    "OffsetImport": "kcli.flows.transfer.change:OffsetImport",
    "Rewind": "kcli.flows.rewind.change:OffsetsChange",
    "TopicDelete": "kcli.flows.topics.delete:TopicDeletion",
    "TopicTrim": "kcli.flows.topics.trim:TopicTrim",
}
"""The class of each kind, which is imported when it is needed."""


def change_class(kind: str) -> type[Change[Any, Any]]:
    """The class of a kind."""
    module, _, name = CHANGES[kind].partition(":")
    found: type[Change[Any, Any]] = getattr(importlib.import_module(module), name)
    return found
