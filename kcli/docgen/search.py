"""``kcli help --search`` and ``kcli help WORDS``: what has all of these words. Pure.

A word is found where one of the text begins with it, whatever its case: ``reass`` finds "reassign". Words like "a" and
"the" are passed over, unless there are no others.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from kcli.core.classes import NamedTuple
from kcli.docgen.concepts import concept
from kcli.docgen.describe import CommandDoc
from kcli.docgen.tasks import TASKS, Task
from kcli.docgen.topics import CONCEPTS

_PASSED_OVER = frozenset((
    "a", "all", "an", "and", "are", "be", "can", "do", "does", "for", "from", "get", "got", "has", "have", "how", "i",
    "in", "into", "is", "it", "its", "me", "my", "of", "on", "one", "or", "please", "show", "some", "so", "that",
    "the", "their", "them", "then", "there", "they", "this", "to", "up", "was", "we", "what", "when", "where",
    "which", "who", "why", "will", "with", "you",
))  # fmt: skip


class Found(NamedTuple):
    """What has the words: tasks whole, of the others (term, meaning)."""

    tasks: list[Task]
    concepts: list[tuple[str, str]]
    commands: list[tuple[str, str]]
    options: list[tuple[str, str]]


def search(words: Iterable[str], docs: Iterable[CommandDoc]) -> Found:
    """Tasks, concepts, commands and options with all of the words; ``docs`` are all commands.

    An option that all commands have is found once, at the root.
    """
    wanted = _wanted(words)
    documents = list(docs)
    return Found(
        tasks_with(words),
        [
            (f"kcli help {name}", says)
            for name, says in CONCEPTS.items()
            if _has(wanted, _concept_text(name, says))
        ],
        [
            (" ".join(doc.path), doc.summary)
            for doc in documents
            if _has(wanted, (*doc.path[1:], doc.summary, *doc.paragraphs))
        ],
        list(_options(wanted, documents)),
    )


def tasks_with(words: Iterable[str]) -> list[Task]:
    """The tasks with all of the words; only that one whose title is these words."""
    wanted = _wanted(words)
    found = [
        task
        for heading, tasks in TASKS.items()
        for task in tasks
        if _has(wanted, (task.title, task.also, heading, *task.lines))
    ]
    same = [task for task in found if set(_wanted(task.title.split())) == set(wanted)]
    return same or found


def _options(wanted: Sequence[str], docs: Iterable[CommandDoc]) -> Iterator[tuple[str, str]]:
    for doc in docs:
        options = doc.own_options if len(doc.path) > 1 else doc.global_options
        for option in options:
            if _has(wanted, (*option.names, *option.off_names, option.help)):
                yield f"{' '.join(doc.path)} {max(option.names, key=len)}", option.help


def _wanted(words: Iterable[str]) -> list[str]:
    every = re.findall(r"[\w.-]+", " ".join(words).lower())
    every = [word for one in every if (word := one.strip("-."))]
    return [word for word in every if word not in _PASSED_OVER] or every


def _has(wanted: Sequence[str], texts: Iterable[str]) -> bool:
    text = " ".join(texts).lower()
    return all(re.search(rf"(?<![a-z0-9]){re.escape(word)}", text) for word in wanted)


def _concept_text(name: str, says: str) -> Iterator[str]:
    yield from (name, says)
    if name != "tasks":  # those are found one by one
        for section in concept(name).sections:
            yield section.heading
            for line in section.lines:
                yield line if isinstance(line, str) else " ".join(line)
