"""``python -m kcli.docgen [--check]``: writes man/, completions/ and tables of pages, or fails on drift.

``--site FOLDER`` writes the reference of the documentation site there, and its navigation. The only part of this package
that imports kcli's own command tree.
"""

import json
import sys
from pathlib import Path

from kcli.cli import cli
from kcli.docgen import manual, readme
from kcli.docgen.describe import CommandDoc, walk
from kcli.docgen.scripts import script
from kcli.docgen.site import pages

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = "tests/golden/schemas"
"""Documents that were printed: a file for each kind."""

NAVIGATION = "navigation.json"


def main(arguments: list[str]) -> int:
    """Writes, or with ``--check`` compares: exit status 1 and the names of stale files."""
    if "--site" in arguments:
        return write_site(Path(arguments[arguments.index("--site") + 1]))
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
    made = {ROOT / "man" / name: text for name, text in manual.pages(docs).items()}
    for shell, name in (("bash", "kcli.bash"), ("zsh", "_kcli"), ("fish", "kcli.fish")):
        made[ROOT / "completions" / name] = script(shell, docs)
    return made | _filled(docs)


def write_site(folder: Path) -> int:
    """Writes the pages and the navigation of the reference into an empty folder."""
    docs = list(walk(cli, "kcli"))
    made = pages.reference(docs, written(), examples())
    made[NAVIGATION] = json.dumps(pages.navigation(docs), indent=1)
    for place, text in made.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(made) - 1} pages written to {folder}")
    return 0


def written() -> dict[str, str]:
    """The pages for users that people write, by their places below docs/."""
    paths = [path for pattern in ("*.md", "tasks/*.md") for path in sorted((ROOT / "docs").glob(pattern))]
    return {path.relative_to(ROOT / "docs").as_posix(): path.read_text(encoding="utf-8") for path in paths}


def examples() -> dict[str, str]:
    """The shortest document of each kind."""
    files = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / EXAMPLES).glob("*.ndjson")}
    return {kind: min(text.splitlines(), key=len) for kind, text in files.items()}


def _filled(docs: list[CommandDoc]) -> dict[Path, str]:
    texts = {path: _read(path) for path in (ROOT / page for page in readme.PAGES)}
    return {path: readme.filled(text, docs) for path, text in texts.items() if text is not None}


def _generated() -> list[Path]:
    return sorted([*(ROOT / "man").glob("kcli*"), *(ROOT / "completions").glob("*kcli*")])


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
