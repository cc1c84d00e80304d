"""``python -m tools.protocol [--kafka 4.4.0] [--check]``: writes the modules of tables, or says which are not as made."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kcli.sandbox.errors import DownloadError
from tools.protocol.jars import JarError
from tools.protocol.modules import modules

KAFKA = "4.4.0"
"""The version by which the modules are made."""
_ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make protocol")
    parser.add_argument("--kafka", default=KAFKA)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 if something would change"
    )
    options = parser.parse_args()
    try:
        changed = changes(formatted(modules(options.kafka)))
    except (JarError, DownloadError, ValueError) as error:
        print(f"make protocol: {error}", file=sys.stderr)
        return 1
    for path, text in changed.items():
        print(path)
        if not options.check:
            (_ROOT / path).write_text(text, "utf-8")
    return 1 if options.check and changed else 0


def changes(made: Mapping[str, str]) -> dict[str, str]:
    """What is not yet in the project as it is made."""
    files = {path: _ROOT / path for path in made}
    return {
        path: made[path]
        for path, file in files.items()
        if not file.exists() or file.read_text("utf-8") != made[path]
    }


def formatted(made: Mapping[str, str]) -> dict[str, str]:
    """As ``ruff format`` writes them; one process formats all."""
    with tempfile.TemporaryDirectory(prefix="kcli-protocol-") as folder:
        files = {path: Path(folder, path) for path in made}
        for path, file in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(made[path], "utf-8")
        settings = ["--no-cache", "--config", str(_ROOT / "pyproject.toml")]
        command = [sys.executable, "-m", "ruff", "format", *settings, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"the modules cannot be formatted: {done.stderr}")
        return {path: file.read_text("utf-8") for path, file in files.items()}


if __name__ == "__main__":
    sys.exit(main())
