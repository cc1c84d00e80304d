"""Python imports this at its start where the folder is in PYTHONPATH: the libraries that ``KCLI_TEST_ABSENT`` names, with
blanks between, are as if they were not installed, here and in the processes that this one starts.
"""

import importlib.metadata
import os
import sys
from typing import Any

_from_name = importlib.metadata.Distribution.from_name.__func__  # type: ignore[attr-defined]
_absent: set[str] = set()


def set_absent() -> None:
    """Again in a fork, whose variable may name fewer of them."""
    named = set(os.environ.get("KCLI_TEST_ABSENT", "").split())
    for name in _absent - named:
        del sys.modules[name]
    _absent.clear()
    _absent.update(named)
    sys.modules.update(dict.fromkeys(named))  # type: ignore[arg-type]


def _present(kind: Any, name: str) -> Any:
    if name in _absent:
        raise importlib.metadata.PackageNotFoundError(name)
    return _from_name(kind, name)


importlib.metadata.Distribution.from_name = classmethod(_present)  # type: ignore[assignment]
set_absent()
