"""Kafka's own message definitions, out of a published ``kafka-clients`` jar. Not a test.

The jar comes from the cache that sandboxes share, or is fetched into it: one small file, no broker is started.
"""

import pytest

from kcli.sandbox.errors import DownloadError
from tools.protocol import definitions as kafka
from tools.protocol.definitions import CLIENTS, Definition

NEWEST = "4.4.0"
OLDER = ("3.9.2", "2.8.2")


def definitions(version: str, artifact: str = CLIENTS) -> dict[str, Definition]:
    """Name of the message -> its definition, of Kafka ``version``; skips when the jar cannot be had."""
    try:
        return kafka.definitions(version, artifact)
    except DownloadError as error:
        pytest.skip(f"no {artifact} {version} jar in the cache, and it cannot be fetched: {error}")
