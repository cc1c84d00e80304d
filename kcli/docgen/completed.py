"""What the completion scripts contain besides the command tree: the words of ``kcli help``, the keys of ``-X``."""

import dataclasses
from collections.abc import Iterator, Sequence

from kcli.core.options import ALL_OPTIONS, key_of
from kcli.docgen.describe import CommandDoc
from kcli.serde.registry.options import RegistryOptions

HELP = "help"


def completed(docs: Sequence[CommandDoc]) -> list[CommandDoc]:
    """The docs for the scripts, the root first."""
    choices = tuple(f"{key}=" for key in sorted(_client_keys()))
    return [_with_keys(doc, choices) for doc in _with_help(docs)]


def _with_help(docs: Sequence[CommandDoc]) -> Iterator[CommandDoc]:
    """``kcli help groups rewind``: ``help`` is followed by the same words as ``kcli``, and by those of its argument."""
    root, place = docs[0].path, (*docs[0].path, HELP)
    helper = next((doc for doc in docs if doc.path == place), None)
    for doc in docs:
        if doc is not helper:
            yield doc
    if helper is None:
        return
    for doc in docs:
        if doc.is_group:
            words = [child for child in doc.children if doc.path != root or child[0] != HELP]
            topics = [word for argument in helper.arguments for word in argument.choices]
            more = [(topic, f"help on {topic}") for topic in topics] if doc.path == root else []
            yield helper._replace(
                path=(*place, *doc.path[len(root) :]),
                arguments=(),
                children=(*words, *more),
                is_group=True,
                aliases=doc.aliases,
            )


def _with_keys(doc: CommandDoc, choices: tuple[str, ...]) -> CommandDoc:
    options = tuple(
        option._replace(choices=choices) if "-X" in option.names else option for option in doc.options
    )
    return doc._replace(options=options)


def _client_keys() -> set[str]:
    """Of every option of clients and of the schema registry."""
    return {
        key_of(field.name) for kind in (*ALL_OPTIONS, RegistryOptions) for field in dataclasses.fields(kind)
    }
