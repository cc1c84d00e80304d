"""The client library: ``from kcli.core import Producer, Consumer, Admin, Cluster``.

Names are loaded on use (PEP 562): importing this package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin
    from kcli.core.cluster.cluster import Cluster
    from kcli.core.consumer.consumer import Consumer
    from kcli.core.producer.producer import Producer

_HOMES = {
    "Admin": "kcli.core.admin.admin",
    "Cluster": "kcli.core.cluster.cluster",
    "Consumer": "kcli.core.consumer.consumer",
    "Producer": "kcli.core.producer.producer",
}

__all__ = ["Admin", "Cluster", "Consumer", "Producer"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
