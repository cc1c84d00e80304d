"""Where each page of the reference is, and to which page a word leads. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kcli.core.classes import dataclass
from kcli.docgen.describe import CommandDoc, OptionDoc
from kcli.docgen.site.markdown import Linker, between
from kcli.docgen.topics import CONCEPTS, OPTIONS, PROFILES

INDEX = "reference/index.md"
ROOT = "reference/kcli.md"
"""Of ``kcli`` itself: the global options."""

CLIENT_OPTIONS = "reference/options.md"
KINDS = "reference/json/index.md"
PROFILES_GUIDE = "profiles.md"
"""Written by hand."""

Path = tuple[str, ...]


def concept_place(name: str) -> str:
    """The page of a concept."""
    return f"reference/{name}.md"


def kind_place(name: str) -> str:
    """The page of a kind of JSON."""
    return f"reference/json/{name}.md"


def command_place(doc: CommandDoc) -> str:
    """The page of a command; that of a group is the first in its folder."""
    if len(doc.path) == 1:
        return ROOT
    return "/".join(("reference/commands", *doc.path[1:])) + ("/index.md" if doc.is_group else ".md")


def option_anchor(option: OptionDoc) -> str:
    """The anchor of an option on the page that explains it: ``opt-max-lag``, ``opt-K``."""
    return "opt-" + max(option.names, key=len).lstrip("-")


@dataclass(frozen=True, slots=True)
class Places:
    """The pages of all commands, by their paths and by the words that lead to them."""

    pages: dict[Path, str]
    global_options: dict[str, str]
    """Name → anchor on ``ROOT``."""

    def command(self, words: Sequence[str]) -> str | None:
        """The page of the command with which a line begins, such as ``groups lag GROUP``."""
        for count in range(len(words), 0, -1):
            found = self.pages.get(("kcli", *words[:count]))
            if found:
                return found
        return None

    def linker(self, source: str, own: Iterable[OptionDoc] = ()) -> Linker:
        """Links from the page ``source``, whose options are ``own``."""
        anchors = {name: f"#{option_anchor(option)}" for option in own for name in _names(option)}

        def target(word: str) -> str | None:
            if word in anchors:
                return anchors[word]
            place = self._place(word)
            return between(source, place) if place and place != source else None

        return target

    def _place(self, word: str) -> str | None:
        if word in self.global_options:
            return f"{ROOT}#{self.global_options[word]}"
        words = word.removeprefix("kcli ").split()
        if words[:1] == ["help"] and len(words) == 2:
            return topic_place(words[1])
        return self.pages.get(("kcli", *words))


def topic_place(topic: str) -> str | None:
    """The page of a word after ``kcli help`` that is no command."""
    if topic == OPTIONS:
        return CLIENT_OPTIONS
    if topic == PROFILES:
        return PROFILES_GUIDE
    return concept_place(topic) if topic in CONCEPTS else None


def places_of(docs: Sequence[CommandDoc]) -> Places:
    """``docs`` are those of all commands, the root first."""
    return Places(
        pages={doc.path: command_place(doc) for doc in docs if len(doc.path) > 1},
        global_options={
            name: option_anchor(option) for option in docs[0].global_options for name in _names(option)
        },
    )


def _names(option: OptionDoc) -> tuple[str, ...]:
    return (*option.names, *option.off_names)
