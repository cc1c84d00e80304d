"""How fast the values of a test are made where nothing is sent: whether kcli or the cluster limits the rate."""

from __future__ import annotations

import time

from kcli.flows.perf.load import PORTION
from kcli.flows.perf.payload import Payload

_SECONDS = 0.1


def generator_speed(payload: Payload) -> float:
    """Records per second of one process."""
    portion = max(1, PORTION // (round(payload.mean_size) + 1))
    sequence, began = 0, time.monotonic()
    while (seconds := time.monotonic() - began) < _SECONDS:
        made = payload.take(portion)
        payload.number(made, sequence)
        sequence += made.records
    return sequence / seconds
