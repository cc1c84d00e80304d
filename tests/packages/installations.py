"""The ways to install what ``dist/`` has, each as a function that returns what is wrong with it."""

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from kcli import __version__
from tests.packages import every_command
from tests.packages.every_command import Done
from tests.packages.machines import HOME, ROOT, Machine, debian, new_home, unpacked

DIST = ROOT / "dist"
TOOLS = ROOT / ".cache" / "packaging" / "bin"
NATIVE, PURE = "native", "pure"
"""What ``kcli --version -v`` calls the kernels."""


def built(pattern: str) -> Path:
    """The one file of ``dist/`` with such a name."""
    found = [path for path in DIST.glob(pattern) if __version__ in path.name or path.suffix == ".pex"]
    if len(found) != 1:
        raise FileNotFoundError(f"dist/{pattern}: {len(found)} of version {__version__}; run make dist")
    return found[0]


def wheel() -> Path:
    return built(f"*-abi3-manylinux*_{platform.machine()}.whl")


def failed(what: str, done: Done) -> Iterator[str]:
    """A fault, if a command failed."""
    if done.code:
        yield f"{what}: {done.code}\n{done.out[-2000:]}{done.err[-2000:]}"


def checked(
    machine: Machine, kcli: Sequence[str], broker: str, *, kernels: str, demo: bool = True
) -> Iterator[str]:
    """What is wrong with an installed kcli: its parts, every command, and the demo."""
    run = partial(_run, machine, kcli)
    version = run(["--version", "-v"])
    yield from failed("--version", version)
    if f"kcli {__version__}\n" not in version.out or f"\nrecords: {kernels}\n" not in version.out:
        yield f"--version -v is not of {__version__} with {kernels} kernels: {version.out}"
    for shell, script in {"bash": "kcli.bash", "zsh": "_kcli", "fish": "kcli.fish"}.items():
        if run(["completion", shell]).out != (ROOT / "completions" / script).read_text():
            yield f"completion {shell} is not completions/{script}"
    if not run(["man", "groups", "rewind"]).out.startswith("NAME\n       kcli-groups-rewind - "):
        yield "man groups rewind is no man page"
    yield from every_command.faults(run, broker=broker, folder=machine.folder, seen_as=machine.seen_as)
    if demo:
        done = run(["demo"])
        yield from failed("demo", done)
        if "\nthe digests are equal: " not in done.out:
            yield f"demo does not end with equal digests: {done.out[-500:]}"


def _run(machine: Machine, kcli: Sequence[str], words: Sequence[str]) -> Done:
    return machine.run([*kcli, *words])


def pipx(broker: str) -> Iterator[str]:
    """``pipx install`` in an empty home folder; man(1) finds the pages."""
    with new_home("pipx") as home:
        yield from failed("pipx install", home.run([f"{TOOLS}/pipx", "install", f"{wheel()}[sandbox,fast]"]))
        yield from failed("man kcli-groups-rewind", home.run(["man", "-w", "kcli-groups-rewind"]))
        yield from checked(home, ["kcli"], broker, kernels=NATIVE)


def uv(broker: str) -> Iterator[str]:
    """``uv tool install`` in an empty home folder."""
    with new_home("uv") as home:
        yield from failed(
            "uv tool install", home.run([f"{TOOLS}/uv", "tool", "install", f"{wheel()}[sandbox,fast]"])
        )
        yield from checked(home, ["kcli"], broker, kernels=NATIVE)


def pex(broker: str) -> Iterator[str]:
    """The single file, with the Python of the PATH."""
    with new_home("pex") as home:
        yield from checked(home, [str(built("kcli.pex"))], broker, kernels=NATIVE)


def pure(broker: str) -> Iterator[str]:
    """The wheel for all platforms, in a virtual environment."""
    with new_home("pure") as home:
        yield from _in_venv(home, "python3", f"{built('*-py3-none-any.whl')}[sandbox,fast]")
        yield from checked(home, [f"{home.home}/venv/bin/kcli"], broker, kernels=PURE, demo=False)


DEBIANS = {"3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
"""Which Debian has which Python."""


def on_python(version: str, broker: str) -> Iterator[str]:
    """The wheel with one version of Python: that of this machine, else that of a fresh Debian."""
    python = interpreter(version)
    if not python and version in DEBIANS:
        yield from debian_wheel(DEBIANS[version], broker)
        return
    if not python:
        raise RuntimeError(f"there is no Python {version} here")
    with new_home(f"python{version}", python) as home:
        yield from _in_venv(home, python, f"{wheel()}[sandbox,fast]")
        yield from checked(home, [f"{home.home}/venv/bin/kcli"], broker, kernels=NATIVE, demo=False)


EMULATOR = "qemu-aarch64-static"


def arm64(broker: str) -> Iterator[str]:
    """The wheel for aarch64, by an emulator, with Python and libc of Debian 12; it starts no other program there."""
    if not shutil.which(EMULATOR):
        raise RuntimeError("an emulator is needed: qemu-user-static of Debian")
    with new_home("arm64") as home:
        root, site = unpacked("bookworm", "arm64", home.folder / "debian"), f"{home.home}/site"
        yield from failed(
            "uv pip install",
            home.run(
                [
                    *(
                        f"{TOOLS}/uv",
                        "pip",
                        "install",
                        "--quiet",
                        "--target",
                        site,
                        "--python-version",
                        "3.11",
                    ),
                    *("--python-platform", "aarch64-manylinux_2_28", "--only-binary", ":all:"),
                    str(built("*-abi3-manylinux*_aarch64.whl")),
                ]
            ),
        )
        words = [
            EMULATOR,
            "-L",
            str(root),
            "-E",
            f"PYTHONPATH={site}",
            f"{root}/usr/bin/python3.11",
            "-m",
            "kcli",
        ]
        version = home.run([*words, "--version", "-v"])
        yield from failed("--version", version)
        if "\nplatform: Linux aarch64\n" not in version.out or f"\nrecords: {NATIVE}\n" not in version.out:
            yield f"--version -v is not of aarch64 with {NATIVE} kernels: {version.out}"
        for codec in ("gzip", "snappy", "lz4", "zstd"):
            topic = f"arm64-{codec}"
            made = ("--value", "x" * 1000, "--allow-auto-topic-creation")
            sent = home.run([*words, "produce", topic, "-b", broker, "-z", codec, *made])
            yield from failed(f"produce with {codec}", sent)
            read = home.run([*words, "consume", topic, "-b", broker, "-n", "1", "-f", "%v"])
            yield from failed(f"consume with {codec}", read)
            if read.out != "x" * 1000:
                yield f"{codec}: {read.out!r} was read"


def _in_venv(machine: Machine, python: str, what: str) -> Iterator[str]:
    folder = f"{machine.home}/venv"
    yield from failed("venv", machine.run([python, "-m", "venv", folder]))
    yield from failed(
        "pip install", machine.run([f"{folder}/bin/pip", "install", "--quiet", what], timeout=900)
    )


def interpreter(version: str) -> str | None:
    """A Python of this version: on the PATH, or where pyenv and uv have theirs."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "--version"], capture_output=True).returncode == 0:
        return found  # and no link of pyenv to a version that is not chosen
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in sorted(kept.glob(f"{version}.*/bin/python{version}")):
        return str(path)
    find = [str(TOOLS / "uv"), "python", "find", "--no-python-downloads", version]
    done = subprocess.run(find, capture_output=True, text=True)
    return None if done.returncode else done.stdout.strip()


def debian_wheel(suite: str, broker: str) -> Iterator[str]:
    """The wheel in a fresh Debian that has python3 and python3-venv only: no compiler, no Java, no man(1)."""
    with debian(suite, f"wheel-{suite}") as machine:
        yield from _in_venv(machine, "python3", f"{machine.bring(wheel())}[sandbox,fast]")
        yield from checked(machine, [f"{HOME}/venv/bin/kcli"], broker, kernels=NATIVE)


def debian_sdist(broker: str) -> Iterator[str]:
    """The sources where there is no compiler: everything works without the C kernels."""
    with debian("bookworm", "sdist") as machine:
        yield from _in_venv(machine, "python3", f"{machine.bring(built('*.tar.gz'))}[sandbox,fast]")
        yield from checked(machine, [f"{HOME}/venv/bin/kcli"], broker, kernels=PURE)


def debian_sdist_gcc(broker: str) -> Iterator[str]:
    """The sources where there is a compiler."""
    with debian("bookworm", "sdist-gcc", packages=["gcc", "libc6-dev", "python3-dev"]) as machine:
        yield from _in_venv(machine, "python3", f"{machine.bring(built('*.tar.gz'))}[sandbox,fast]")
        yield from checked(machine, [f"{HOME}/venv/bin/kcli"], broker, kernels=NATIVE)


COMPLETES = ". /usr/share/bash-completion/bash_completion; _comp_load kcli || __load_completion kcli; complete -p kcli"


def debian_deb(suite: str, broker: str) -> Iterator[str]:
    """The .deb in a fresh Debian; with man(1), bash-completion and a Java in one of them."""
    more = ["man-db", "bash-completion", "default-jre-headless"] if suite == "trixie" else []
    with debian(suite, f"deb-{suite}", packages=more) as machine:
        yield from failed("dpkg -i", machine.run(["dpkg", "-i", machine.bring(built("*.deb"))]))
        if more:
            yield from failed("man -w", machine.run(["man", "-w", "kcli-groups-rewind"]))
            yield from failed("completion", machine.run(["bash", "-c", COMPLETES]))
        yield from checked(machine, ["kcli"], broker, kernels=NATIVE, demo=bool(more))
        yield from failed("dpkg -r", machine.run(["dpkg", "-r", "kcli-kafka"]))
        if (machine.root / "usr/lib/kcli").exists():
            yield "dpkg -r leaves /usr/lib/kcli"


CHECKS: dict[str, Callable[[str], Iterator[str]]] = {
    "pipx": pipx,
    "uv": uv,
    "pex": pex,
    "pure": pure,
    "python3.11": partial(on_python, "3.11"),
    "python3.12": partial(on_python, "3.12"),
    "python3.13": partial(on_python, "3.13"),
    "python3.14": partial(on_python, "3.14"),
    "arm64": arm64,
    "debian12-wheel": partial(debian_wheel, "bookworm"),
    "debian13-wheel": partial(debian_wheel, "trixie"),
    "debian12-sdist": debian_sdist,
    "debian12-sdist-gcc": debian_sdist_gcc,
    "debian12-deb": partial(debian_deb, "bookworm"),
    "debian13-deb": partial(debian_deb, "trixie"),
    "debian-sid-deb": partial(debian_deb, "sid"),
}
"""By name, for ``CHECKS=``."""
