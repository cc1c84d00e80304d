"""A row for each text about habits of other tools that names a command, made from those texts. Not a test."""

from collections.abc import Iterator, Mapping

from kcli.commands.shared.habits import _EVERYWHERE, _OPTIONS, _OTHER_TOOLS
from tests.cli.errors.row import Row, member

THEN = {
    "kcli sandbox down": "1 sandbox down: there is no sandbox",
    "kcli sandbox logs": "1: there is no sandbox",
    "kcli pipeline import": "2: nothing was exported",
}
"""Where the command of a text cannot succeed in the world of the tables."""
PROFILES = (("XDG_CONFIG_HOME", "{dir}/home"),)


def _rows() -> Iterator[Row]:
    for path, words in _OTHER_TOOLS.items():
        for word, text in _first_of_each(words):
            do = text.format(path=path)
            env = PROFILES if "kcli profile" in do or "kcli config" in do else ()
            then = next((why for begin, why in THEN.items() if begin in do), "")
            line = f"{path} {word}".removeprefix("kcli ")
            script = member if "MEMBER" in do else None
            yield Row(line, 2, f"no command '{word}'", "other tools", do, script, env=env, then=then)
    for command, options in {**_OPTIONS, "topics describe": _EVERYWHERE}.items():
        for option, text in _first_of_each(options):
            path = f"kcli {command}" + " describe" * (" " not in command)
            yield Row(
                f"{command} {option}", 2, f"no option {option}", "nothing was run", text.format(path=path)
            )


def _first_of_each(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The first word of each text that names a command."""
    seen = set()
    for word, text in texts.items():
        if "`" in text and text not in seen:
            seen.add(text)
            yield word, text


ROWS = list(_rows())
