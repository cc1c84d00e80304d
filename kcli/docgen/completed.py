"""What the completion scripts contain besides the command tree: the words of ``kcli help`` and ``kcli man``, the
keys of ``-X``."""

from collections.abc import Iterator, Sequence

from kcli.core.options import ALL_OPTIONS, key_of, written_fields
from kcli.docgen.describe import CommandDoc
from kcli.serde.registry.options import RegistryOptions

HELPERS = ("help", "man")


def completed(docs: Sequence[CommandDoc]) -> list[CommandDoc]:
    """The docs for the scripts, the root first."""
    choices = tuple(f"{key}=" for key in sorted(_client_keys()))
    return [_with_keys(doc, choices) for doc in _with_help([*_with_defaults(docs)])]


def _with_defaults(docs: Sequence[CommandDoc]) -> Iterator[CommandDoc]:
    """``kcli mirror --from A`` is ``kcli mirror run --from A``: a noun accepts the options of its default verb."""
    options = {doc.path: doc.own_options for doc in docs}
    for doc in docs:
        own = options[(*doc.path, doc.default)] if doc.default else ()
        yield doc._replace(options=(*own, *doc.options))


def _with_help(docs: Sequence[CommandDoc]) -> Iterator[CommandDoc]:
    """``kcli help groups rewind``, ``kcli man groups rewind``: followed by the same words as ``kcli``, and by those of
    the argument.
    """
    places = [(*docs[0].path, word) for word in HELPERS]
    helpers = [doc for doc in docs if doc.path in places]
    yield from (doc for doc in docs if doc not in helpers)
    for helper in helpers:
        yield from _as_groups(helper, docs)


def _as_groups(helper: CommandDoc, docs: Sequence[CommandDoc]) -> Iterator[CommandDoc]:
    root = docs[0].path
    for doc in docs:
        if doc.is_group:
            words = [child for child in doc.children if doc.path != root or child[0] not in HELPERS]
            topics = [word for argument in helper.arguments for word in argument.choices]
            named = {word for word, _ in words}
            more = [(topic, f"{helper.path[-1]} on {topic}") for topic in topics if topic not in named]
            yield helper._replace(
                path=(*helper.path, *doc.path[len(root) :]),
                arguments=(),
                children=(*words, *(more if doc.path == root else ())),
                is_group=True,
                aliases=doc.aliases,
            )


def _with_keys(doc: CommandDoc, choices: tuple[str, ...]) -> CommandDoc:
    options = tuple(
        option._replace(choices=choices) if "-X" in option.names else option for option in doc.options
    )
    return doc._replace(options=options)


def _client_keys() -> set[str]:
    """The keys of all options of clients and of the schema registry."""
    return {key_of(field.name) for kind in (*ALL_OPTIONS, RegistryOptions) for field in written_fields(kind)}
