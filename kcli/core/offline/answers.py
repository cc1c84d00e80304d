"""Which requests a cluster of log directories answers: a row an API. ApiVersions offers these and no others, so that
whatever would write is refused by name before anything is sent.

A handler takes the directories, the request and its version, and returns the response; None: not yet, it is asked again
when the request's time is up. It is imported when it is first asked, in the thread of the server.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.core.protocol.api import Request, Response

if TYPE_CHECKING:
    from kcli.core.offline.directories import Directories

Handler = Callable[["Directories", Any, int], Response | None]


class Answered(NamedTuple):
    """One API: the versions that are offered, the module of its messages, and the function that answers, as ``module.name``
    in this package.
    """

    first: int
    last: int
    message: str
    handler: str

    def load(self) -> tuple[type[Request], Handler]:
        """The class of the request, and the function."""
        messages = import_module(f"kcli.core.protocol.messages.{self.message}")
        home, _, name = self.handler.partition(".")
        request = "".join(word.capitalize() for word in self.message.split("_")) + "Request"
        return getattr(messages, request), getattr(import_module(f"{__package__}.{home}"), name)


ANSWERS: dict[int, Answered] = {
    1: Answered(4, 18, "fetch", "fetching.fetch"),
    2: Answered(1, 11, "list_offsets", "listing_offsets.list_offsets"),
    3: Answered(0, 13, "metadata", "metadata.metadata"),
    18: Answered(0, 5, "api_versions", "metadata.api_versions"),
    23: Answered(2, 4, "offset_for_leader_epoch", "leader_epochs.offset_for_leader_epoch"),
}
"""By the key of the API."""
