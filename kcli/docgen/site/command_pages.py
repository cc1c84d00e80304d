"""The page of a command: what it does, examples, options, exit codes, and where to read on. Pure."""

from collections.abc import Iterator, Sequence

from kcli.docgen.describe import TAKES_ATTACHED, TAKES_NOTHING, CommandDoc, OptionDoc
from kcli.docgen.site import markdown
from kcli.docgen.site.mentions import Mention
from kcli.docgen.site.places import ENVIRONMENT, ROOT, Places, command_place, concept_place, option_anchor


def command_page(doc: CommandDoc, places: Places, mentions: Sequence[Mention]) -> str:
    """The page; ``mentions`` are pages that show the command at work."""
    source = command_place(doc)
    link = places.linker(source, doc.options if len(doc.path) == 1 else doc.own_options)
    return markdown.page(" ".join(doc.path), list(_parts(doc, source, places, link, mentions)), boost=2)


def _parts(
    doc: CommandDoc, source: str, places: Places, link: markdown.Linker, mentions: Sequence[Mention]
) -> Iterator[str]:
    yield markdown.prose(markdown.sentence(doc.summary), link) + "\n"
    yield markdown.block(doc.usage)
    for paragraph in doc.paragraphs:
        if paragraph.startswith((" ", "\t")):
            yield markdown.block(paragraph)
        else:
            yield markdown.prose(" ".join(paragraph.split()), link) + "\n"
    if doc.children:
        yield "## Commands\n"
        yield markdown.table(("command", ""), list(_children(doc, source, places, link)))
    if doc.examples:
        yield "## Examples\n"
        for example in doc.examples:
            if example.says:
                yield markdown.prose(markdown.sentence(example.says).rstrip(".") + ":", link) + "\n"
            yield markdown.block(example.line, "sh")
    yield from _options(doc, source, link)
    yield "## Exit codes\n"
    yield (
        f"0 where everything that was asked for was done and confirmed; all others are the same for every command: "
        f"[exit codes]({markdown.between(source, concept_place('exit-codes'))}).\n"
    )
    yield "## See also\n"
    yield "\n".join(_see_also(doc, source, places, mentions)) + "\n"


def _children(
    doc: CommandDoc, source: str, places: Places, link: markdown.Linker
) -> Iterator[tuple[str, str]]:
    for name, summary in doc.children:
        path = (*doc.path, name)
        yield (
            markdown.code(" ".join(path), markdown.between(source, places.pages[path])),
            markdown.prose(markdown.sentence(summary), link),
        )


def _options(doc: CommandDoc, source: str, link: markdown.Linker) -> Iterator[str]:
    if doc.own_options:
        yield "## Options\n"
        yield from (_option(option, link) for option in doc.own_options)
    if len(doc.path) == 1:
        yield "## Global options\n"
        yield "Every command has them, before or after its own name.\n"
        yield from (_option(option, link) for option in doc.global_options)
        return
    names = [markdown.code(option.names[0], link(option.names[0])) for option in doc.global_options]
    yield "## Global options\n"
    yield f"The same for [every command]({markdown.between(source, ROOT)}#global-options): {', '.join(names)}.\n"


def _option(option: OptionDoc, link: markdown.Linker) -> str:
    anchor = option_anchor(option)
    text = markdown.prose(markdown.sentence(option.help), link)
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
    yield f"- [Environment and files]({markdown.between(source, ENVIRONMENT)})"
    yield f"- `kcli man{''.join(f' {word}' for word in doc.path[1:])}`: the same in a terminal"
