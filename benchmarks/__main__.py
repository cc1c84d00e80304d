"""Runs the benchmarks: ``python -m benchmarks [--docs] [NAME...]``; without a name all but ``readme``.

Those that return tables have them written as markdown and JSON to .cache/benchmarks/, with ``--docs`` into
docs/performance.md, too.
"""

import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from benchmarks._measure import machine
from benchmarks._table import FOLDER, write_tables


def available() -> list[str]:
    """The names of the benchmarks that there are."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    return [module.name for module in modules if not module.name.startswith("_")]


def main(words: list[str]) -> int:
    names, docs = [word for word in words if word != "--docs"], "--docs" in words
    there_are = available()
    unknown = [name for name in names if name not in there_are]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(there_are)}", file=sys.stderr)
        return 2
    for name in names or [one for one in there_are if one != "readme"]:
        print(f"== {name}", flush=True)
        about = machine()
        tables = import_module(f"benchmarks.{name}").main()
        if tables:
            write_tables(name, tables, about, docs=docs)
            print(f"wrote {FOLDER / name}.md and .json", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
