"""What ``kcli top`` does to a cluster, and how it reads records. What that needs is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import describe
from kcli.commands.shared.record_consumer import record_consumer
from kcli.core.admin.admin import Admin
from kcli.core.hooks import NO_HOOKS, Hooks
from kcli.core.options import ClientOptions
from kcli.tui.actions import Rewinding, Trouble, Voice

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer


class TopActions:
    """``options`` are those of the admin clients of this run."""

    def __init__(self, inv: Invocation, options: ClientOptions, cluster: str) -> None:
        self._inv, self._options, self._cluster = inv, options, cluster
        self.timeout = inv.timeout

    def open_admin(self, hooks: Hooks = NO_HOOKS) -> Admin:
        """An admin client; a context manager."""
        return Admin(self._options, hooks, timeout=self.timeout)

    def open_consumer(self) -> Consumer:
        """Reads committed records, without a group; a context manager."""
        return record_consumer(self._inv, NO_HOOKS)

    def trouble(self, error: BaseException) -> Trouble:
        """As the command prints it."""
        _, what, why, do = describe(error)
        return Trouble(what, "" if why in what else why, do)

    @contextmanager
    def rewinding(self, voice: Voice) -> Iterator[Rewinding]:
        """Clients for rewinds; groups that are held are released at the end."""
        # Half as much code as all of the screen.
        from kcli.commands.top.rewinds import Rewinds

        def warn(level: str, _area: str, message: str) -> None:
            if level == "warning":
                voice.note(message)

        with self.open_admin(Hooks(log=warn)) as admin:
            yield Rewinds(self._inv, self, admin, self._cluster, voice)
