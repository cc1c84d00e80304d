"""A position of a command line, ``--to`` and ``--before``, as it is parsed and said again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from kcli.commands.shared.context import Invocation, stdin_is_terminal
from kcli.commands.shared.usage import usage
from kcli.core.positions import OffsetSpec, has_zone, parse_duration_ms, parse_offset, read_instant
from kcli.output.progress import time_span_text


def has_terminal(inv: Invocation) -> bool:
    """Whether a user sees how a time without a zone was understood."""
    return inv.talk.isatty and stdin_is_terminal()


def offset_spec(text: str, now: int, option: str, examples: str, *, terminal: bool) -> OffsetSpec:
    """The position that ``text`` means, or a usage error; ``option`` with its command and ``examples`` are for
    messages. A time without a zone needs a ``terminal``, where a user sees how it was understood."""
    try:
        spec = parse_offset(text, now)
    except ValueError as error:
        try:
            if text.strip().isdigit():  # a bare integer is an offset
                raise
            spec = OffsetSpec("timestamp", *read_instant(text, now))
        except ValueError:
            raise usage(
                f"{option} {text!r} is not a target",
                why=str(error),
                do=f"as in {examples}",
            ) from None
    if spec.kind == "timestamp" and not has_zone(text) and not terminal:
        raise usage(
            f"{option} {text} has no time zone",
            why="without a terminal, the assumed zone would not be seen",
            do=_with_zone(text.strip(), now),
        )
    return spec


def _with_zone(text: str, now: int) -> str:
    """A time without a zone as it would be taken in UTC; a clock time or a day as it is understood here."""
    try:
        read_instant(f"{text}Z", now)
    except ValueError:
        here = datetime.fromtimestamp(read_instant(text, now).ms / 1000, UTC)
        return f"with a date and its zone, in UTC: {here:%Y-%m-%dT%H:%M:%SZ}"
    time = text if "T" in text.upper() or " " in text else f"{text}T00:00"
    return f"append Z or an offset: {text}Z, {time}+01:00"


def is_ago(text: str) -> bool:
    """Whether a time is written as a duration before now."""
    said = text.strip().removeprefix("@").lstrip("+-")
    try:
        parse_duration_ms(said, unit=True)
    except ValueError:
        return False
    return True


def instant_text(ms: int, now_ms: int, zone: tzinfo | None = None, *, ago: bool = False) -> str:
    """``1h before now = 2026-11-21T08:14:03Z (09:14:03 +01:00)``; the first part only with ``ago``."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
        local = moment.astimezone(zone)
    except OverflowError:
        return f"{ms} ms since the epoch, beyond the calendar"
    fraction = f".{ms % 1000:03d}" if ms % 1000 and not ago else ""
    text = f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"
    if local.utcoffset():
        same_day = local.date() == moment.date()
        offset = local.isoformat()[-6:]
        text += f" ({local:{'%H:%M:%S' if same_day else '%Y-%m-%d %H:%M:%S'}} {offset})"
    if not ago:
        return text
    side = "before" if ms <= now_ms else "after"
    return f"{time_span_text(abs(now_ms - ms))} {side} now = {text}"
