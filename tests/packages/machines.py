"""Where packages are installed: a new home folder on this machine, or a fresh Debian in a folder, entered by chroot.

Both have nothing of the developer's: no configuration, no Python path. A Debian has the network of this machine, so it
reaches the same broker and the same package registry.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.packages.every_command import Done

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".cache" / "dist-test"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
HOME = "/srv/home"
"""In a Debian."""
PASSED_ON = ("PIP_", "UV_", "SSL_CERT_", "REQUESTS_CA_", "http_proxy", "https_proxy", "no_proxy")
"""Variables that say where packages come from."""


class Machine(Protocol):
    """Runs commands; ``folder`` is a folder of it, which it sees as ``seen_as``, and ``home`` that of its user."""

    home: str
    folder: Path
    seen_as: str

    def run(self, words: Sequence[str], *, timeout: float = 600, **variables: str) -> Done:
        """A command, without a terminal and without input."""

    def bring(self, file: Path) -> str:
        """Copies a file there; returns its path there."""


def _environment(home: str, path: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    kept.pop("PIP_CACHE_DIR", None)
    return kept | {"HOME": home, "PATH": path, "LANG": "C.UTF-8", "COLUMNS": "100"}


def _run(words: Sequence[str], environment: Mapping[str, str], timeout: float) -> Done:
    try:
        done = subprocess.run(
            words,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as late:
        return Done(-1, "", f"not done after {late.timeout:.0f} s")
    return Done(done.returncode, done.stdout, done.stderr)


class NewHome:
    """A user of this machine with an empty home folder."""

    def __init__(self, home: Path, python: str = sys.executable) -> None:
        self.home = str(home)
        self.folder = home / "files"
        self.seen_as = str(self.folder)
        self.folder.mkdir(parents=True)
        python_folder = os.path.dirname(os.path.realpath(python))
        self._path = f"{home}/.local/bin:{python_folder}:/usr/local/bin:/usr/bin:/bin"

    def run(self, words: Sequence[str], *, timeout: float = 600, **variables: str) -> Done:
        return _run(words, _environment(self.home, self._path) | variables, timeout)

    def bring(self, file: Path) -> str:
        return str(file)


class Debian:
    """A folder with a Debian, whose root user runs the commands."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = HOME
        self.folder = root / "srv" / "files"
        self.seen_as = "/srv/files"
        self.folder.mkdir(parents=True)
        (root / HOME.lstrip("/")).mkdir()

    def run(self, words: Sequence[str], *, timeout: float = 600, **variables: str) -> Done:
        # Mounts of a namespace of their own end with its last process.
        script = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
        own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, str(self.root)]
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        certificates = {"PIP_CERT": str(CERTIFICATES), "DEBIAN_FRONTEND": "noninteractive"}
        return _run([*own, *words], _environment(self.home, path) | certificates | variables, timeout)

    def bring(self, file: Path) -> str:
        shutil.copy(file, self.root / HOME.lstrip("/") / file.name)
        return f"{HOME}/{file.name}"


@contextmanager
def new_home(name: str, python: str = sys.executable) -> Iterator[NewHome]:
    """A home folder for the block."""
    home = WORK / "homes" / name
    shutil.rmtree(home, ignore_errors=True)
    yield NewHome(home, python)
    shutil.rmtree(home)


@contextmanager
def debian(suite: str, name: str, *, packages: Sequence[str] = ()) -> Iterator[Debian]:
    """A copy of a fresh Debian with python3 and python3-venv, and ``packages``, for the block."""
    root = WORK / "debian" / name
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    subprocess.run(["tar", "-xf", _bootstrapped(suite, packages), "-C", root], check=True)
    (root / CERTIFICATES.relative_to("/")).write_bytes(CERTIFICATES.read_bytes())
    yield Debian(root)
    shutil.rmtree(root)


def _bootstrapped(suite: str, packages: Sequence[str]) -> Path:
    """An archive of a new Debian; made once."""
    if os.geteuid() or not shutil.which("debootstrap"):
        raise RuntimeError("a fresh Debian needs root and debootstrap")
    kept = WORK / "-".join(["debian", suite, *packages]).replace(".", "")
    archive = kept.with_suffix(".tar")
    if not archive.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        included = ",".join(["python3", "python3-venv", "ca-certificates", *packages])
        shutil.rmtree(kept, ignore_errors=True)
        with (WORK / "debootstrap.log").open("w") as log:
            subprocess.run(
                ["debootstrap", "--variant=minbase", f"--include={included}", suite, kept],
                check=True,
                stdout=log,
                stderr=log,
            )
        subprocess.run(["tar", "-cf", archive, "-C", kept, "."], check=True)
        shutil.rmtree(kept)
    return archive


def unpacked(suite: str, architecture: str, root: Path) -> Path:
    """The files of a Debian of another architecture that has python3. None of its programs was run."""
    if os.geteuid() or not shutil.which("debootstrap"):
        raise RuntimeError("a Debian needs root and debootstrap")
    words = ["debootstrap", "--foreign", f"--arch={architecture}", "--variant=minbase", "--include=python3"]
    subprocess.run([*words, suite, root], check=True, stdout=subprocess.DEVNULL)
    for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    return root
