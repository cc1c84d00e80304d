"""Joins the libraries that one version of Python needs into the site-packages that all versions share.

    python tools/packaging/merge.py FROM INTO

A file that is there already with other bytes ends it, as one version would run the code of another. Of the metadata only
the lists of files are joined; the rest of what differs names the wheels that were installed.
"""

import filecmp
import shutil
import sys
from pathlib import Path

NOT_WANTED = {
    "bin",  # scripts with the path of this machine
    "share",  # the package has them in the folders of the system
    ".lock",
    "distutils-precedence.pth",  # of setuptools, which grpcio-tools needs: every start would run it
    "direct_url.json",  # the path of this machine
    "uv_cache.json",
}


def merge(source: Path, target: Path) -> list[str]:
    """Moves all files; returns those that cannot be shared."""
    differing = []
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        if path.is_dir() or NOT_WANTED.intersection((name.parts[0], name.name)):
            continue
        there = target / name
        if not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, there)
        elif name.name == "RECORD":
            there.write_text(there.read_text() + path.read_text())
        elif not of_one_wheel(name) and not filecmp.cmp(path, there, shallow=False):
            differing.append(str(name))
    for record in target.glob("*.dist-info/RECORD"):
        lines = sorted(set(record.read_text().splitlines()))
        there_are = [line for line in lines if (target / line.rsplit(",", 2)[0].strip('"')).exists()]
        record.write_text("".join(f"{line}\n" for line in there_are))
    return differing


def of_one_wheel(name: Path) -> bool:
    """Whether a file says which wheel it is from: its tags, or what was compiled into it."""
    return name.parts[0].endswith(".dist-info") and (name.name == "WHEEL" or "sboms" in name.parts)


if __name__ == "__main__":
    if found := merge(Path(sys.argv[1]), Path(sys.argv[2])):
        sys.exit("not the same for all versions of Python: " + ", ".join(found))
