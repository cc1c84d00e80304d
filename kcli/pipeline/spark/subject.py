"""What is examined by ``examination.py``."""

from collections.abc import Mapping

from kcli.core.classes import dataclass
from kcli.pipeline.cluster_ref import ClusterRef


@dataclass(frozen=True, slots=True)
class Subject:
    """What is examined: the options of a session, and the cluster (None: none is configured). ``seconds`` bounds each
    connection.
    """

    master: str | None
    local: int | None
    conf: Mapping[str, str]
    java_home: str | None
    source: ClusterRef | None
    seconds: float
