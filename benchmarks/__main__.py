"""Runs the benchmarks: ``python -m benchmarks [NAME...]``; all of them without a name."""

import pkgutil
import sys
from importlib import import_module
from pathlib import Path


def available() -> list[str]:
    """The names of the benchmarks that there are."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    return [module.name for module in modules if not module.name.startswith("_")]


def main(names: list[str]) -> int:
    there_are = available()
    unknown = [name for name in names if name not in there_are]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(there_are)}", file=sys.stderr)
        return 2
    for name in names or there_are:
        print(f"== {name}", flush=True)
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
