"""Progress on stderr: one line redrawn on a terminal or in a notebook, one line per 10 s elsewhere, or NDJSON.

Drawn with a carriage return and not by a library: it is one line, must not slow the calling loop, and warnings
must not mix with it. ``update`` is cheap enough to call per batch.
"""

import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any

from kcli.output.talk import Talk
from kcli.output.terminal import terminal_size

_ROOM_FOR_BAR = 60
"""Columns of a terminal that has room for it beside what is done and what is left."""
_SPACING = 1.0  # seconds between two samples of a window
INTERVALS = {"bar": 0.1, "line": 10.0, "json": 1.0}


class Progress:
    """Shows progress. ``style`` is ``bar``, ``line``, ``json`` or ``none``.

    ``window``: seconds that the rate is of, None for all the time. ``erases``: the stream knows the terminals' sequence
    that erases a line; a notebook has carriage returns only.
    """

    def __init__(
        self,
        talk: Talk,
        title: str,
        *,
        style: str,
        total: int | None = None,
        unit: str = "records",
        clock: Callable[[], float] = time.monotonic,
        width: Callable[[], int] | None = None,
        erases: bool = True,
    ) -> None:
        self.talk = talk
        self.title = title
        self.style = style
        self.total = total
        self.unit = unit
        self.done = 0
        self.bytes = 0
        self.share: float | None = None
        self.extra: dict[str, Any] = {}
        self.window: float | None = None
        self._recent: deque[tuple[float, int, int]] = deque()
        self._clock = clock
        self._width = width or _terminal_width
        self._interval = INTERVALS.get(style, 0.0)
        self._started = clock()
        self._next = self._started + (0.2 if style == "bar" else self._interval)
        self._erases = erases
        self._drawn = 0

    def __enter__(self) -> "Progress":
        if self.style == "bar":
            self.talk.before_line = self._erase
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def update(self, done: int, size: int = 0, share: float | None = None, **extra: Any) -> None:
        """``done`` and ``size`` (bytes) are totals so far; ``extra`` are further counts to show.

        ``share`` is the part that is done (0 to 1), where the total number is unknown. The largest one counts: it would
        become smaller where more work is found on the way.
        """
        self.done, self.bytes = done, size
        if share is not None:
            self.share = share if self.share is None or share > self.share else self.share
        self.extra |= extra
        if self.style != "none":
            now = self._clock()
            if self.window is not None:
                self._sample(now, self.window)
            if now >= self._next:
                self._next = now + self._interval
                self._show(now)

    def _sample(self, now: float, window: float) -> None:
        """One sample a second: the oldest is from where the window begins."""
        recent = self._recent
        if not recent or now - recent[-1][0] >= _SPACING:
            recent.append((now, self.done, self.bytes))
        while len(recent) > 1 and now - recent[1][0] >= window:
            recent.popleft()

    def _rates(self, seconds: float) -> tuple[float, float]:
        """Units and bytes per second: of the window, or of all the time. What is taken off again counts as nothing."""
        if not self._recent:
            return self.done / seconds, self.bytes / seconds
        began, done, size = self._recent[0]
        passed = self._started + seconds - began
        if passed < _SPACING:
            return self.done / seconds, self.bytes / seconds
        return max(0, self.done - done) / passed, max(0, self.bytes - size) / passed

    def close(self) -> None:
        """Removes the bar."""
        if self.style == "json":
            self._show(self._clock())
        self._erase()
        if self.talk.before_line == self._erase:
            self.talk.before_line = None
        self.style = "none"

    def _show(self, now: float) -> None:
        seconds = max(now - self._started, 1e-9)
        if self.style == "json":
            self._write(self._document(seconds) + "\n")
        elif self.style == "line":
            self.talk.note(self.line(seconds))
        else:
            line = self.line(seconds, bar=True)[: max(self._width() - 1, 10)]
            self._write(self._clear() + line)
            self._drawn = len(line)

    def line(self, seconds: float, *, bar: bool = False) -> str:
        """``produced 1,234,567 records, 1.2 GB, 310,000 records/s``"""
        rate, speed = self._rates(seconds)
        share = self._share()
        ahead = [] if share is None else self._ahead(seconds, share)
        parts = [f"{self.title} {self.done:,} {self.unit}"]
        if self.total:
            parts[0] = f"{self.title} {self.done:,} of {self.total:,} {self.unit}"
        if self.bytes:
            parts.append(f"{size_text(self.bytes)} ({size_text(speed)}/s)")
        if self.unit != "tasks":  # a few take their time
            parts.append(f"{rate:,.0f} {self.unit}/s")
        parts = [*ahead, *parts] if bar else [*parts, *ahead]  # a bar's line is cut at the terminal's edge
        parts += [
            f"{name.replace('_', ' ')} {_counted(value)}" for name, value in self.extra.items() if value
        ]
        roomy = bar and self._width() >= _ROOM_FOR_BAR
        head = f"[{_bar(share)}] " if roomy and share is not None else ""
        return head + ", ".join(parts)

    def _ahead(self, seconds: float, share: float) -> list[str]:
        """How much is done, and the remaining time."""
        left = seconds_left(seconds, share)
        return [f"{100 * share:.0f} %", *([] if left is None else [f"{duration_text(left)} left"])]

    def _share(self) -> float | None:
        return self.done / self.total if self.total else self.share

    def _document(self, seconds: float) -> str:
        share = self._share()
        left = None if share is None else seconds_left(seconds, share)
        return json_line(
            {
                "kind": "Progress",
                "title": self.title,
                "unit": self.unit,
                "done": self.done,
                "total": self.total,
                "bytes": self.bytes,
                "seconds": round(seconds, 3),
                "share": None if share is None else round(share, 4),
                "seconds_left": None if left is None else round(left, 1),
                **self.extra,
            }
        )

    def _erase(self) -> None:
        if self._drawn:
            self._write(self._clear())
            self._drawn = 0

    def _clear(self) -> str:
        return "\r\x1b[K" if self._erases else f"\r{' ' * self._drawn}\r"

    def _write(self, text: str) -> None:
        try:
            self.talk.stream.write(text)
            self.talk.stream.flush()
        except (OSError, ValueError):
            pass


def json_line(values: dict[str, Any]) -> str:
    """An object of ``--progress json``."""
    import json  # not loaded otherwise

    return json.dumps(values)


def progress_style(choice: str | None, talk: Talk, *, dumb: bool = False) -> str:
    """What ``--progress`` means here: a bar on a terminal, a line per 10 s elsewhere, nothing with ``-q``."""
    if choice in ("none", "json"):
        return choice
    if choice in (None, "auto") and talk.quiet:
        return "none"
    return "bar" if talk.isatty and not dumb else "line"


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 record``, ``2,000 records``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def seconds_left(seconds: float, share: float) -> float | None:
    """The remaining time at the rate so far; None while too little is done to estimate it."""
    return None if share < 0.005 or seconds < 1 else seconds * (1 - min(share, 1.0)) / share


def duration_text(seconds: float) -> str:
    """``7s``, ``3m20s``, ``1h09m``, ``2d04h``: the two largest units, the second one unless it is 0."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    for large, size, small, parts in (("m", 60, "s", 1), ("h", 3_600, "m", 60), ("d", 86_400, "h", 3_600)):
        if whole < size * {"m": 60, "h": 24, "d": whole}[large]:
            rest = whole % size // parts
            return f"{whole // size}{large}" + (f"{rest:02d}{small}" if rest else "")
    raise AssertionError(seconds)


def time_span_text(ms: int) -> str:
    """``5h12m``, ``3d04h``, ``42s``, ``120ms``: the two largest units."""
    return f"{ms}ms" if ms < 1000 else duration_text(ms // 1000)


def size_text(size: float) -> str:
    """``1.2 MB``: powers of ten, as disks and networks are sold."""
    for unit in ("B", "kB", "MB", "GB"):
        if round(size, 1) < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _counted(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _bar(share: float, width: int = 20) -> str:
    full = round(min(max(share, 0.0), 1.0) * width)
    return "█" * full + "░" * (width - full)


def _terminal_width() -> int:
    return terminal_size(2).columns
