"""The pages on concepts and on the client options. Pure."""

from collections.abc import Iterator, Sequence

from kcli.docgen.concepts import Concept
from kcli.docgen.describe import Example, sentence
from kcli.docgen.man import Terms
from kcli.docgen.site import markdown
from kcli.docgen.site.places import CLIENT_OPTIONS, Places, concept_place


def concept_page(concept: Concept, places: Places) -> str:
    """The page of a concept."""
    source = concept_place(concept.name)
    link = places.linker(source)
    parts = [markdown.prose(sentence(concept.summary), link) + "\n"]
    for section in concept.sections:
        if section.heading and len(concept.sections) > 1:
            parts.append(f"## {markdown.prose(section.heading, lambda _: None)}\n")
        for line in section.lines:
            parts += _line(line, link)
    parts.append(f"The same in a terminal: `kcli help {concept.name}`.\n")
    return markdown.page(concept_title(concept.name), parts, boost=2)


def concept_title(name: str) -> str:
    """``exit-codes`` as a heading."""
    return name.replace("-", " ").capitalize()


def _line(line: str | tuple[str, str] | Example, link: markdown.Linker) -> Iterator[str]:
    if isinstance(line, str):
        yield markdown.prose(line, link) + "\n"
    elif isinstance(line, Example):
        if line.says:
            yield markdown.prose(sentence(line.says).rstrip(".") + ":", link) + "\n"
        yield markdown.block(line.line, "sh")
    else:
        yield _term(*line, link)


def _term(term: str, text: str, link: markdown.Linker) -> str:
    return markdown.definition(markdown.code(term), markdown.prose(sentence(text), link))


def options_page(sections: Sequence[tuple[str, Terms]], places: Places) -> str:
    """The page of the client options: (heading, (key, explanation)) sections."""
    link = places.linker(CLIENT_OPTIONS)
    parts = [
        markdown.prose(
            "Options for -X, -F files, profiles and KCLI_X_ variables, in the spelling of Java clients or of "
            "librdkafka. `kcli config show --origin` shows which apply, and why.",
            link,
        )
        + "\n"
    ]
    for heading, terms in sections:
        parts.append(f"## {heading}\n")
        for key, text in terms:
            anchor = key.replace(".", "-")
            term = f"[{markdown.code(key)}](#{anchor}){{ #{anchor} .option }}"
            parts.append(markdown.definition(term, markdown.prose(sentence(text), link)))
    return markdown.page("Client options", parts, boost=2)
