"""``python -m tests.stories [--write] [PAGE…]``: runs pages, and shows or writes what is no longer as they say."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.stories.clusters import Clusters, clusters
from tests.stories.page import Page, pages
from tests.stories.story import told


def main() -> int:
    """0 if all pages are as they should be, or were written."""
    parser = argparse.ArgumentParser(prog="python -m tests.stories", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write what is printed into the pages")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="files (default: all)")
    options = parser.parse_args()
    with clusters() as found:
        differ = [path for path in options.pages or pages() if not _same(path, found, options.write)]
    return 1 if differ else 0


def _same(path: Path, found: Clusters, write: bool) -> bool:
    page = Page(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="kcli-story-") as folder:
        now, different, unsaid = told(page, found, Path(folder) / "ops")
    for command in unsaid:
        print(f"{path}: the page does not say that this fails: {command}")
    if write and different:
        path.write_text(now.text, encoding="utf-8")
        print(f"{path}: written")
        return not unsaid
    for text in different:
        print(f"{path}: {text}\n")
    if not different:
        print(f"{path}: as it says")
    return not (different or unsaid)


if __name__ == "__main__":
    sys.exit(main())
