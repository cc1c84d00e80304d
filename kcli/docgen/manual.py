"""The manual of kcli: what its pages share, and all of them by the names of their files."""

from collections.abc import Sequence

from kcli.core import classes
from kcli.core.options import ALL_OPTIONS, default_text, key_of, written_fields
from kcli.core.version import __version__
from kcli.docgen import man
from kcli.docgen.concepts import concept
from kcli.docgen.describe import CommandDoc
from kcli.docgen.environment import ENVIRONMENT, FILES
from kcli.docgen.exit_codes import EXIT_CODES
from kcli.docgen.topics import CONCEPTS, OPTIONS
from kcli.serde.registry.options import RegistryOptions


def pages(docs: Sequence[CommandDoc]) -> dict[str, str]:
    """All pages. ``docs`` are those of all commands."""
    shared = shared_by_all(docs)
    made = {man.file_name(doc.path): man.command_page(doc, shared) for doc in docs}
    made["kcli-options.5"] = page_on(OPTIONS, shared)
    return made | {man.concept_file_name(f"kcli-{name}"): page_on(name, shared) for name in CONCEPTS}


def shared_by_all(docs: Sequence[CommandDoc]) -> man.Manual:
    """What pages share."""
    names = ["-".join(doc.path) for doc in docs]
    concepts = [f"kcli-{name}" for name in CONCEPTS]
    return man.Manual(__version__, EXIT_CODES, ENVIRONMENT, FILES, names, concepts)


def page_on(topic: str, shared: man.Manual) -> str:
    """The page on the client options, or on a concept."""
    if topic == OPTIONS:
        return man.options_page("kcli-options", option_terms(), shared)
    return man.concept_page(f"kcli-{topic}", concept(topic), shared)


def option_terms() -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, (key, explanation)) of every option of clients and of the registry, each once."""
    sections = []
    seen: set[str] = set()
    for options in (*ALL_OPTIONS, RegistryOptions):
        terms = []
        for field in written_fields(options):
            if field.name not in seen:
                seen.add(field.name)
                terms.append((key_of(field.name), _explained(field)))
        sections.append((options.__name__.removesuffix("Options") + " options", terms))
    return sections


def _explained(field: "classes.Field[object]") -> str:
    parts = [field.metadata["doc"]]
    if field.metadata["choices"]:
        parts.append("one of " + ", ".join(filter(None, field.metadata["choices"])))
    if field.metadata["aliases"]:
        parts.append("also " + ", ".join(field.metadata["aliases"]))
    if default := default_text(field):
        parts.append(f"default {default}")
    return "; ".join(parts)
