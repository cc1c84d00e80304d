"""The documents of a command line: read, with what is ignored said, and judged by ``--policy``."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kcli.commands.shared.context import Invocation
from kcli.flows.resources.documents import read_documents
from kcli.flows.resources.resource import Resource


def read_files(
    inv: Invocation, paths: Sequence[str], values: Sequence[str], policies: Sequence[str]
) -> list[Resource]:
    """FilesError for what is wrong with files, PolicyError for what breaks a rule; nothing was sent then."""
    resources = read_documents(paths, values=values, environment=os.environ, note=inv.talk.warn)
    if policies:
        from kcli.flows.resources.policy import broken_rules, policy_error, read_policies  # JMESPath

        if broken := broken_rules(read_policies(policies), resources):
            raise policy_error(broken)
    return resources
