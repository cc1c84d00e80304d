"""The pages of the documentation with ```console blocks: what they show is what their commands print now."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.clusters import Clusters, clusters
from tests.stories.page import DOCS, Page, pages
from tests.stories.story import told

pytestmark = [pytest.mark.integration, pytest.mark.long]


@pytest.fixture(scope="module")
def found() -> Iterator[Clusters]:
    with clusters() as some:
        yield some


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(DOCS).as_posix())
def test_a_page_shows_what_its_commands_print(path: Path, found: Clusters, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if "jq " in text and shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    page = Page(text)
    _, different, unsaid = told(page, found, tmp_path / "ops")
    if different or unsaid:
        pytest.fail("\n\n".join([*different, *unsaid]), pytrace=False)
