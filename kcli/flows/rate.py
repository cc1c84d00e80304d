"""``--rate``: a token bucket that fills steadily. The bucket is pure; ``wait`` can be interrupted by a stop."""

import select

from kcli.flows.stop import Stop

_SLICE = 0.1  # seconds' worth of tokens that may be spent at once


class TokenBucket:
    """``rate`` tokens per second; tokens that are unused for a tenth of a second are lost."""

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self.most = max(1.0, rate * _SLICE)
        self._level = self.most
        self._at = now

    def take_tokens(self, amount: float, now: float) -> float:
        """Removes tokens; returns how many seconds to wait before using them. The level may become negative."""
        self._level = min(self.most, self._level + (now - self._at) * self.rate) - amount
        self._at = now
        return max(0.0, -self._level / self.rate)


def wait(seconds: float, stop: Stop) -> None:
    """Waits until the time is over or a stop is requested."""
    if seconds > 0:
        poller = select.poll()
        poller.register(stop.fileno(), select.POLLIN)
        poller.poll(round(seconds * 1000))
