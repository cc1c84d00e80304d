"""Whether the terminal is light: what it answers (OSC 11), and COLORFGBG where it answers nothing. Pure.

The question is followed by one that nearly every terminal answers (DA1, device attributes): once that answer has come, no
other one will. Nothing waits for either: answers are taken out of what is typed whenever they come.
"""

import re
from collections.abc import Mapping

from textual.color import Color

from kcli.tui.palette import contrast

QUESTION = "\x1b]11;?\x1b\\\x1b[c"
_ANSWER = re.compile(r"\x1b\](?:11;(?P<colour>[^\x07\x1b]{0,64}))(?:\x07|\x1b\\)|\x1b\[\?[\d;]*(?P<last>c)")
_BEGUN = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]{0,64}\x1b?)?)?)?|\[(?:\?[\d;]{0,32})?)?\Z")
_PARTS = re.compile(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})", re.IGNORECASE)
_LIGHT = {"7", *map(str, range(9, 16))}


class Answers:
    """Takes the terminal's answers out of what is typed; what is typed before, between and after them stays.

    ``light`` is what was answered last, None before. ``awaited``: the last answer has not come yet.
    """

    def __init__(self) -> None:
        self.light: bool | None = None
        self.awaited = False
        self._begun = ""

    def typed(self, text: str, *, late: bool = False) -> str:
        """What of it, and of what was kept before, was typed. What may be the begin of an answer is kept.

        ``late``: only an answer that comes in one piece is taken out, and no Escape waits for what may follow it.
        """
        if not self.awaited:
            return text
        text = self._begun + text
        kept = []
        at = 0
        for answer in _ANSWER.finditer(text):
            kept.append(text[at : answer.start()])
            at = answer.end()
            if answer["last"]:
                self.awaited = False
            elif (light := _is_light(answer["colour"])) is not None:
                self.light = light
        rest = text[at:]
        begun = _BEGUN.search(rest) if self.awaited and not late else None
        self._begun = "" if begun is None else begun[0]
        return "".join(kept) + rest[: len(rest) - len(self._begun)]

    def kept(self) -> str:
        """What was kept, and was typed after all, since nothing has followed it."""
        text, self._begun = self._begun, ""
        return text


def answers_questions(environ: Mapping[str, str]) -> bool:
    """The console of older Linux kernels prints the question."""
    return environ.get("TERM") != "linux"


def light_by_environment(environ: Mapping[str, str]) -> bool:
    """COLORFGBG, as rxvt, Konsole and others set it: ``0;15`` is black on white."""
    return environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT


def _is_light(colour: str) -> bool | None:
    """``rgb:RR/GG/BB`` with one to four digits each (XParseColor); None for another form."""
    if (match := _PARTS.match(colour)) is None:
        return None
    ground = Color(*(round(int(one, 16) / (16 ** len(one) - 1) * 255) for one in match.groups()))
    return contrast(ground, Color(0, 0, 0)) > contrast(ground, Color(255, 255, 255))
