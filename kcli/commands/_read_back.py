"""Reading back what was changed: brokers receive a change from the controller a moment after it was confirmed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.clock import monotonic

C = TypeVar("C", bound=Collection[object])

_PAUSE = 0.1


def wait_until_empty(inv: Invocation, admin: Admin, wrong: Callable[[], C]) -> C:
    """Calls ``wrong``, which reads, until nothing is; what is still wrong after ``--timeout``."""
    deadline = monotonic() + inv.timeout
    while (found := wrong()) and monotonic() < deadline:
        admin.cluster.sleep(_PAUSE)
    return found
