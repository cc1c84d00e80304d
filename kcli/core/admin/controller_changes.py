"""A change that the active controller makes once: repeated where its response was lost, and then taken as made where the
controller finds it made already.
"""

from typing import Any

from kcli.core.cluster.brokers import FORWARDED
from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, OutcomeUnknownError
from kcli.core.future import Future
from kcli.core.permissions import on_cluster
from kcli.core.protocol.api import Request


def make_change(cluster: Cluster, request: Request, made: int, deadline: float, what: str) -> None:
    """Sends it to any broker, which passes it on. ``made``: the code of what is as it should be already; after a lost
    response that may be this client's own doing, and is no error.
    """
    last: Future[Any] | None = None
    lost = False

    def attempt() -> Future[Any]:
        nonlocal last, lost
        lost = lost or (last is not None and isinstance(last.error, OutcomeUnknownError))
        last = cluster.send(request, purpose=FORWARDED)
        return last

    def check(response: Any) -> None:
        code = response.error_code
        if code != NONE and not (lost and code == made):
            raise BrokerError(code, what, message=response.error_message or "", needs=[on_cluster("ALTER")])

    cluster.call(attempt, check, deadline, what)
