"""What MkDocs gets besides docs/: the reference that kcli.docgen has made, and pages of the top of the repository.

Runs in the environment of MkDocs, which has no kcli.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from command_links import page_on, with_command_links  # beside this file
from dialect import for_python_markdown
from links import site_links
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url
from words import with_whole_options

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / ".cache" / "site" / "pages"
"""Where ``python -m kcli.docgen --site`` has written."""

BORROWED = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "DESIGN.md": "project/design.md",
    "SECURITY.md": "project/security.md",
}
"""Pages that are not below docs/, and where they are on the site."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The word ``reference`` in the navigation stands for that of the reference."""
    navigation = json.loads((REFERENCE / "navigation.json").read_text(encoding="utf-8"))
    for entry in config.nav or ():
        for title, value in entry.items() if isinstance(entry, dict) else ():
            if value == "reference":
                entry[title] = navigation
    config.repo_url = config.repo_url or _address_of_the_repository()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """All pages."""
    for path in sorted(REFERENCE.rglob("*.md")):
        place = path.relative_to(REFERENCE).as_posix()
        files.append(File.generated(config, place, abs_src_path=str(path)))
    for name, place in BORROWED.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A page as GitHub shows it: links that lead somewhere in the repository lead somewhere on the site."""
    place = page.file.src_uri
    if place.startswith("reference/"):
        return markdown
    own = [file.src_uri for file in files if file.inclusion.is_included() and not file.generated_by]
    published = {f"docs/{uri}": uri for uri in own} | BORROWED
    path = next((name for name, borrowed in BORROWED.items() if borrowed == place), f"docs/{place}")
    repository = f"{config.repo_url.rstrip('/')}/blob/main/" if config.repo_url else ""
    text = for_python_markdown(markdown)
    return site_links(text, path, published, lambda found: (ROOT / found).exists(), repository)


def on_page_content(html: str, page: Page, files: Files, **_: object) -> str:
    """Commands that a page names are links to the reference, which has its own; options are not broken."""
    if page.file.src_uri.startswith("reference/"):
        return with_whole_options(html)
    pages = {file.src_uri for file in files if file.src_uri.startswith("reference/")}

    def address(words: str) -> str | None:
        place = page_on(words, pages)
        found = files.get_file_from_path(place) if place else None
        return get_relative_url(found.url, page.url) if found else None

    return with_whole_options(with_command_links(html, address))


def _address_of_the_repository() -> str | None:
    """As the package names it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return next(
        (url for name, url in project.get("urls", {}).items() if name in ("Source", "Repository")), None
    )
