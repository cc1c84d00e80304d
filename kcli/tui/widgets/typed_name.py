"""A field for a name that confirms: it has to be typed by hand."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import Input

from kcli.core.clock import monotonic
from kcli.output.sanitise import visible_line

_HAND = 0.15
"""Seconds between the last letter and Enter: pasted text has both at once, where a terminal does not mark it."""


class TypedName(Input):
    """Posts ``Confirmed`` when the name was typed, and ``Refused`` with the reason when it was not."""

    class Confirmed(Message):
        """The name was typed."""

    class Refused(Message):
        """The name was not typed; ``why`` says the reason."""

        def __init__(self, why: str) -> None:
            super().__init__()
            self.why = why

    def __init__(self, name: str) -> None:
        super().__init__(id="name", compact=True, restrict=r"[^\x00-\x1f\x7f-\x9f]*")
        self.wanted = name
        self._typed_at = 0.0

    def watch_value(self) -> None:
        """When it was changed last."""
        self._typed_at = monotonic()

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.post_message(self.Refused("pasted text does not confirm: type the name"))

    def action_paste(self) -> None:
        """Nothing from a clipboard."""
        self.post_message(self.Refused("pasted text does not confirm: type the name"))

    async def action_submit(self) -> None:
        """Enter."""
        if self.value not in (self.wanted, visible_line(self.wanted)):
            why = f"that is not {visible_line(self.wanted)}" if self.value else "type the name of the group"
            self.post_message(self.Refused(why))
        elif monotonic() - self._typed_at < _HAND:
            self.post_message(self.Refused("Enter came together with the name: press it again"))
        else:
            self.post_message(self.Confirmed())
