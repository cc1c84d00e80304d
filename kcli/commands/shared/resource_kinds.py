"""The kinds of documents as users name them: ``topics``, ``AclBinding``, ``broker-config``."""

from __future__ import annotations

from typing import Any

import click

from kcli.commands.shared.options import OfferedType
from kcli.commands.shared.usage import nearest, usage, where

KINDS = (
    "Topic",
    "AclBinding",
    "User",
    "Quota",
    "BrokerConfig",
    "GroupConfig",
    "GroupOffsets",
)
"""As in documents; ``flows.resources.resource`` has the type, which need not be loaded for a help."""
_OTHERS = {"acl": "AclBinding", "broker": "BrokerConfig", "group": "GroupConfig", "offset": "GroupOffsets"}
_BY_WORD = {kind.lower().removesuffix("s"): kind for kind in KINDS} | _OTHERS


class ResourceKindType(OfferedType):
    """A word of ``KINDS``, whatever its case, in the singular or the plural, with or without hyphens."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        """As in documents."""
        word = str(value).lower().replace("-", "").replace("_", "").removesuffix("s")
        if word in _BY_WORD:
            return _BY_WORD[word]
        near = nearest(str(value), [*KINDS, *_OTHERS])
        raise usage(
            f"{where(ctx)}{value!r} is no kind of document",
            why=f"the kinds are {', '.join(KINDS)}",
            do=f"did you mean {near}?"
            if near
            else "choose one of them; `kcli consume TOPIC -e -o ndjson` prints the records of a topic",
            ctx=ctx,
        )


RESOURCE_KIND = ResourceKindType("kind", KINDS)
