"""``python -m kcli.docgen [--check]``: writes man/, completions/ and the README's blocks, or fails on drift.

The only part of this package that imports kcli's own command tree.
"""

import dataclasses
import sys
from pathlib import Path

from kcli.cli import cli
from kcli.core.options import ALL_OPTIONS, key_of
from kcli.core.version import __version__
from kcli.docgen import bash, fish, man, readme, zsh
from kcli.docgen.completed import completed
from kcli.docgen.describe import CommandDoc, walk
from kcli.docgen.exit_codes import EXIT_CODES
from kcli.serde.registry.options import RegistryOptions

ROOT = Path(__file__).resolve().parents[2]

ENVIRONMENT = (
    ("KCLI_BOOTSTRAP_SERVER", "brokers to start from, as --bootstrap-server"),
    ("KCLI_COMMAND_CONFIG", "a file of client options, as --command-config"),
    ("KCLI_CLIENT_ID", "as --client-id"),
    ("KCLI_TIMEOUT, KCLI_COLOR, KCLI_PROGRESS", "as the options with these names"),
    ("KCLI_X_KEY", "one client option, as -X; KCLI_X_LINGER_MS is linger.ms"),
    (
        "KAFKA_BOOTSTRAP_SERVERS, KAFKA_SECURITY_PROTOCOL, KAFKA_SASL_*, KAFKA_SSL_*",
        "the weakest; noted when used",
    ),
    ("KCLI_CACHE", "the folder of downloaded Kafka jars; ~/.cache/kcli by default"),
    ("KCLI_IMPL", "pure or native: forces one implementation of the record kernels"),
    ("KCLI_PAGER, PAGER", "shows long lists and help on a terminal; less by default"),
    ("NO_COLOR, FORCE_COLOR, TERM", "whether there is colour"),
)
FILES = (
    (
        "$XDG_STATE_HOME/kcli",
        "sandboxes that run on this machine, journals of rewinds; ~/.local/state/kcli by default",
    ),
    (
        "$XDG_CACHE_HOME/kcli/completion",
        "names of groups and topics that shells have requested, for a minute; ~/.cache/kcli by default",
    ),
    ("FILE of -F", "client options, as a Java .properties file or librdkafka k=v lines"),
)


def main(arguments: list[str]) -> int:
    """Writes, or with ``--check`` compares: exit status 1 and the names of stale files."""
    made = render()
    stale = [path for path, text in made.items() if _read(path) != text]
    extra = [path for path in _generated() if path not in made]
    if "--check" in arguments:
        for path in (*stale, *extra):
            print(f"stale: {path.relative_to(ROOT)}; run python -m kcli.docgen", file=sys.stderr)
        return 1 if stale or extra else 0
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
    for path in extra:
        path.unlink()
    print(f"{len(stale)} of {len(made)} files written, {len(extra)} removed")
    return 0


def render() -> dict[Path, str]:
    """All generated files."""
    docs = list(walk(cli, "kcli"))
    manual = man.Manual(__version__, EXIT_CODES, ENVIRONMENT, FILES, ["-".join(doc.path) for doc in docs])
    made = {ROOT / "man" / man.file_name(doc.path): man.command_page(doc, manual) for doc in docs}
    made[ROOT / "man" / "kcli-options.5"] = man.options_page("kcli-options", _option_terms(), manual)
    known = completed(docs)
    made[ROOT / "completions" / "kcli.bash"] = bash.script(known)
    made[ROOT / "completions" / "_kcli"] = zsh.script(known)
    made[ROOT / "completions" / "kcli.fish"] = fish.script(known)
    return made | _readme(docs)


def _readme(docs: list[CommandDoc]) -> dict[Path, str]:
    path = ROOT / "README.md"
    text = _read(path)
    return {} if text is None else {path: readme.filled(text, docs)}


def _option_terms() -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, (key, explanation)) of every option of clients and of the registry, each once."""
    sections = []
    seen: set[str] = set()
    for options in (*ALL_OPTIONS, RegistryOptions):
        terms = []
        for field in dataclasses.fields(options):
            if field.name not in seen:
                seen.add(field.name)
                terms.append((key_of(field.name), _explained(field)))
        sections.append((options.__name__.removesuffix("Options") + " options", terms))
    return sections


def _explained(field: "dataclasses.Field[object]") -> str:
    parts = [field.metadata["doc"]]
    if field.metadata["choices"]:
        parts.append("one of " + ", ".join(filter(None, field.metadata["choices"])))
    if field.metadata["aliases"]:
        parts.append("also " + ", ".join(field.metadata["aliases"]))
    if field.default not in (None, "") and not field.metadata["secret"]:
        parts.append(
            f"default {str(field.default).lower() if isinstance(field.default, bool) else field.default}"
        )
    return "; ".join(parts)


def _generated() -> list[Path]:
    return sorted([*(ROOT / "man").glob("kcli*"), *(ROOT / "completions").glob("*kcli*")])


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
