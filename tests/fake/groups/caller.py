"""Who asks, and in which version of the API."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """``host`` as Kafka shows it, with a slash in front: ``/127.0.0.1``."""

    version: int
    client_id: str
    host: str
