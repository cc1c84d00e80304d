"""The page of a command, in the order of its help: how to call it, what it does, examples, what is looked up. Pure."""

from collections.abc import Iterator, Sequence

from kcli.docgen.describe import TAKES_ATTACHED, TAKES_NOTHING, CommandDoc, OptionDoc, sentence
from kcli.docgen.site import markdown
from kcli.docgen.site.mentions import Mention
from kcli.docgen.site.places import ROOT, Places, command_place, concept_place, option_anchor
from kcli.docgen.topics import CONCEPTS


def command_page(doc: CommandDoc, places: Places, mentions: Sequence[Mention]) -> str:
    """The page; ``mentions`` are pages that show the command at work."""
    source = command_place(doc)
    link = places.linker(source, doc.options if len(doc.path) == 1 else doc.own_options)
    return markdown.page(" ".join(doc.path), list(_parts(doc, source, places, link, mentions)), boost=2)


def _parts(
    doc: CommandDoc, source: str, places: Places, link: markdown.Linker, mentions: Sequence[Mention]
) -> Iterator[str]:
    yield markdown.block(doc.usage)
    yield from _paragraphs(doc, link)
    if doc.children:
        yield "## Commands\n"
        yield markdown.table(("command", ""), list(_children(doc, source, places, link)))
    if doc.examples:
        yield "## Examples\n"
        for example in doc.examples:
            if example.says:
                yield markdown.prose(sentence(example.says).rstrip(".") + ":", link) + "\n"
            yield markdown.block(example.line, "sh")
    if doc.own_options:
        yield "## Options\n"
        yield from _groups(doc.own_groups, link)
    yield from _details(doc, link)
    yield from _global_options(doc, source, link)
    if len(doc.path) == 1 or not doc.is_group:
        yield from _codes_and_variables(doc, source, link)
    yield "## See also\n"
    yield "\n".join(_see_also(doc, source, places, mentions)) + "\n"


def _paragraphs(doc: CommandDoc, link: markdown.Linker) -> Iterator[str]:
    """What it does, in short; the rest are details."""
    yield markdown.prose(sentence(doc.summary), link) + "\n"
    yield from (_paragraph(text, link) for text in doc.paragraphs[:1])


def _details(doc: CommandDoc, link: markdown.Linker) -> Iterator[str]:
    if len(doc.paragraphs) > 1:
        yield "## Details\n"
        yield from (_paragraph(text, link) for text in doc.paragraphs[1:])


def _paragraph(text: str, link: markdown.Linker) -> str:
    if text.startswith((" ", "\t")):
        return markdown.block(text)
    return markdown.prose(" ".join(text.split()), link) + "\n"


def _children(
    doc: CommandDoc, source: str, places: Places, link: markdown.Linker
) -> Iterator[tuple[str, str]]:
    for name, summary in doc.children:
        path = (*doc.path, name)
        yield (
            markdown.code(" ".join(path), markdown.between(source, places.pages[path])),
            markdown.prose(sentence(summary), link),
        )


def _groups(groups: Sequence[tuple[str, Sequence[OptionDoc]]], link: markdown.Linker) -> Iterator[str]:
    for heading, options in groups:
        if heading:
            yield f"### {heading}\n"
        yield from (_option(option, link) for option in options)


def _global_options(doc: CommandDoc, source: str, link: markdown.Linker) -> Iterator[str]:
    yield "## Global options\n"
    if len(doc.path) == 1:
        yield "Every command has them, before or after its own name.\n"
        yield from _groups(doc.global_groups, link)
        return
    names = [markdown.code(option.names[0], link(option.names[0])) for option in doc.global_options]
    yield f"The same for [every command]({markdown.between(source, ROOT)}#global-options): {', '.join(names)}.\n"
    outputs = [option for option in doc.global_options if option.choices and "-o" in option.names]
    if outputs and not doc.is_group:
        yield markdown.prose(f"-o {outputs[0].metavar}: {sentence(outputs[0].help)}", link) + "\n"


def _codes_and_variables(doc: CommandDoc, source: str, link: markdown.Linker) -> Iterator[str]:
    yield "## Environment\n"
    yield _terms(doc.environment, link)
    environment = markdown.between(source, concept_place("environment"))
    yield f"More: [environment and files]({environment}).\n"
    yield "## Exit codes\n"
    yield _terms(doc.exit_codes, link)


def _terms(terms: Sequence[tuple[str, str]], link: markdown.Linker) -> str:
    rows = [
        (
            ", ".join(markdown.code(name) for name in names.split(", ")),
            markdown.prose(sentence(text), link),
        )
        for names, text in terms
    ]
    return markdown.table(("", ""), rows)


def _option(option: OptionDoc, link: markdown.Linker) -> str:
    anchor = option_anchor(option)
    text = markdown.prose(sentence(option.help), link)
    return markdown.definition(f"[{markdown.code(_shown(option))}](#{anchor}){{ #{anchor} .option }}", text)


def _shown(option: OptionDoc) -> str:
    """Its names, and what follows them."""
    names = ", ".join((*option.names, *option.off_names))
    if option.takes == TAKES_NOTHING:
        return names
    return names + ("" if option.takes == TAKES_ATTACHED else " ") + option.metavar


def _see_also(doc: CommandDoc, source: str, places: Places, mentions: Sequence[Mention]) -> Iterator[str]:
    for mention in mentions:
        yield f"- [{mention.title}]({markdown.between(source, mention.place)})"
    for count in range(len(doc.path) - 1, 1, -1):
        path = doc.path[:count]
        yield f"- {markdown.code(' '.join(path), markdown.between(source, places.pages[path]))}"
    for name in () if doc.is_group else doc.concepts:
        yield f"- [{sentence(CONCEPTS[name]).rstrip('.')}]({markdown.between(source, concept_place(name))})"
    yield f"- `kcli man{''.join(f' {word}' for word in doc.path[1:])}`: the same in a terminal"
