"""The lines for kcli that lines of Kafka's scripts, kcat, kafkactl, rpk and kcl mean. Pure; loaded only for errors."""

import re
from collections.abc import Mapping, Sequence

from kcli.commands.shared.peer_modes import NOUNS, OF_CLUSTER, PREFIXES, TWO_WORDS, VERB_FIRST, VERBS, WORDS
from kcli.commands.shared.script_modes import KCAT, SCRIPTS
from kcli.commands.shared.translation import Mode, Translation, translated


def of_script(name: str, words: Sequence[str]) -> Translation | None:
    """The line for one of Kafka's scripts, called ``name`` with these words; None for another name."""
    modes = SCRIPTS.get(re.sub(r"\.(sh|bat)$", "", name))
    if modes is None:
        return None
    apart = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    mode = next((one for one in modes if all(_has(apart, need) for need in one.needs)), None)
    return translated(mode, apart) if mode is not None and mode.command else Translation("")


def of_words(name: str, words: Sequence[str]) -> Translation | None:
    """The line for one that begins with a word of another tool; None for other words."""
    mode = TWO_WORDS.get(" ".join((name, *words[:1])))
    if mode is not None:
        return translated(mode, words[1:]) if mode.command else Translation("")
    if name in PREFIXES and len(words) > 1:
        return of_verb(words[1], [words[0], *words[2:]])
    mode = WORDS.get(name)
    if mode is None or (name in VERBS and words and words[0] in NOUNS):
        return of_verb(name, words)
    return translated(mode, words)


def of_cluster(name: str, words: Sequence[str]) -> Translation | None:
    """The line for one of rpk that begins with ``cluster`` and these words; None for others."""
    mode = OF_CLUSTER.get(" ".join((name, *words[:1])))
    if mode is None:
        return None
    return translated(mode, words[1:]) if mode.command else Translation("")


def of_verb(verb: str, words: Sequence[str]) -> Translation | None:
    """The line for one that begins with a verb, as kafkactl's do: ``get topics``, ``describe topic orders``."""
    place = next((index for index, word in enumerate(words) if word in NOUNS), None)
    if place is None or verb not in VERBS:
        return None
    mode = VERB_FIRST.get((VERBS[verb], NOUNS[words[place]]))
    return translated(mode, [*words[:place], *words[place + 1 :]]) if mode is not None else None


def of_kcat(mode: str, words: Sequence[str]) -> Translation:
    """The line for one of kcat, ``-t orders -C -e``; ``mode`` is the option that says what it does."""
    chosen = KCAT[mode]
    if mode == "-L" and any(word.startswith("-t") for word in words):
        chosen = Mode((), "topics describe TOPIC", {**chosen.options, "-t=": "{}"})
    return translated(chosen, _apart(words, chosen.options))


def _has(words: Sequence[str], need: str) -> bool:
    return any(word.startswith(need[:-1]) if need.endswith("*") else word == need for word in words)


def _apart(words: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """Short options as kcat reads them, one word each: ``-eC`` is ``-e -C``, ``-c5`` is ``-c 5``."""
    found: list[str] = []
    for word in words:
        left = word[1:] if re.match(r"-[A-Za-z]", word) else ""
        if not left:
            found.append(word)
        while left:
            flag, left = f"-{left[0]}", left[1:]
            found.append(flag)
            if f"{flag}=" in options and flag not in options:
                found += [left] if left else []
                left = ""
    return found
