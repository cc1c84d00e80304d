"""Puts the C kernels into copies of the pure wheel, one for each platform, compiled by zig.

    python tools/packaging/native.py PURE.whl SOURCES INTO

The sources are those of ``kcli/core/kernels/native`` in SOURCES. The stable ABI (cp311-abi3) serves every CPython from
3.11 on; CPython without the GIL has none, so that it gets a wheel of its own, by the headers of the Python 3.14 that is
found. Of the headers, only pyconfig.h is made for one machine; what these kernels read of it is the same on all of these
platforms, as they are of 64 bits.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

PLATFORMS = {
    "manylinux_2_17_x86_64.manylinux2014_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64.manylinux2014_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "macosx_10_15_x86_64": "x86_64-macos.10.15",
}
"""The platforms of wheels, each with zig's name of it."""

STABLE = ("-DPy_LIMITED_API=0x030B0000",)
FREE_THREADED = ("-DPy_GIL_DISABLED=1",)  # all that its pyconfig.h says more
FREE_THREADED_VERSION = (3, 14)
COMPILE = ("-shared", "-fPIC", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O3", "-g0")
PLACE = "kcli/core/kernels"
ASK_PYTHON = (
    "import sys, sysconfig; v = sys.version_info; print(v[:2], v.releaselevel, sysconfig.get_path('include'))"
)


def suffix(abi: str, zig: str) -> str:
    """What the name of the extension ends with, where CPython looks for it."""
    machine, system, *libc = zig.split("-")
    if abi == "abi3":
        return ".abi3.so"
    place = "-".join((machine, system, libc[0].partition(".")[0])) if libc else "darwin"
    return f".cpython-{abi.removeprefix('cp')}-{place}.so"


def compiled(sources: Sequence[Path], include: str, zig: str, more: Sequence[str], into: Path) -> None:
    """The shared object for one platform; symbols of Python stay open until the interpreter loads it."""
    link = ("-undefined", "dynamic_lookup") if "macos" in zig else ("-Wl,-s",)
    words = [sys.executable, "-m", "ziglang", "cc", "-target", zig, *COMPILE, *more, f"-I{include}"]
    subprocess.run([*words, *sorted(map(str, sources)), *link, "-o", str(into)], check=True)


def wheel_with(pure: Path, extension: bytes, name: str, tag: str, into: Path) -> Path:
    """A copy of the pure wheel for ``tag``, with the extension under ``name``; all times are those of the pure one."""
    made = into / f"{pure.name.removesuffix('-py3-none-any.whl')}-{tag}.whl"
    python, abi, platforms = tag.split("-")
    tags = "".join(f"Tag: {python}-{abi}-{one}\n" for one in platforms.split("."))
    with zipfile.ZipFile(pure) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        record = next(one for one in source.infolist() if one.filename.endswith(".dist-info/RECORD"))
        rows = [
            row
            for row in source.read(record).decode().splitlines()
            if not row.startswith((record.filename, record.filename.replace("RECORD", "WHEEL")))
        ]

        def add(like: zipfile.ZipInfo, path: str, data: bytes) -> None:
            entry = zipfile.ZipInfo(path, like.date_time)
            entry.external_attr, entry.compress_type = like.external_attr, zipfile.ZIP_DEFLATED
            target.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(data)}")

        for one in source.infolist():
            if one is record:
                continue
            if one.filename.endswith(".dist-info/WHEEL"):
                lines = source.read(one).decode().splitlines(keepends=True)
                kept = "".join(line for line in lines if not line.startswith("Tag: ")).rstrip("\n") + "\n"
                add(
                    one,
                    one.filename,
                    (kept.replace("Purelib: true", "Purelib: false") + tags + "\n").encode(),
                )
            else:
                target.writestr(one, source.read(one), zipfile.ZIP_DEFLATED)
        entry = next(one for one in source.infolist() if one.filename == f"{PLACE}/__init__.py")
        add(entry, name, extension)
        last = zipfile.ZipInfo(record.filename, record.date_time)
        last.external_attr = record.external_attr
        target.writestr(
            last, "".join(f"{row}\n" for row in [*rows, f"{record.filename},,"]), zipfile.ZIP_DEFLATED
        )
    return made


def headers_without_gil() -> str | None:
    """The headers of a released CPython 3.14, with or without the GIL, of the machine or of uv."""
    version = "{}.{}".format(*FREE_THREADED_VERSION)
    names = [os.environ.get("PYTHON314", ""), f"python{version}t", f"python{version}"]
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv:
        find = [uv, "python", "find", "--no-python-downloads", version]
        names.append(subprocess.run(find, check=False, capture_output=True, text=True).stdout.strip())
    for name in filter(None, names):
        if not shutil.which(name):
            continue
        done = subprocess.run([name, "-c", ASK_PYTHON], check=False, capture_output=True, text=True)
        found, _, include = done.stdout.strip().partition(" final ")
        if found == str(FREE_THREADED_VERSION) and Path(include, "Python.h").exists():
            return include
    return None


def main(pure: Path, tree: Path, into: Path) -> int:
    sources = list((tree / PLACE / "native").glob("*.c"))
    wanted: list[tuple[str, str, str, Sequence[str]]] = [
        ("cp311", "abi3", sysconfig.get_path("include"), STABLE),
    ]
    if include := headers_without_gil():
        wanted.append(("cp314", "cp314t", include, FREE_THREADED))
    else:
        print(
            "make dist: no wheels for Python 3.14t: no released Python 3.14 with headers (PYTHON314)",
            file=sys.stderr,
        )
    for python, abi, headers, macros in wanted:
        for platform, zig in PLATFORMS.items():
            with tempfile.TemporaryDirectory() as folder:
                built = Path(folder, "built")
                compiled(sources, headers, zig, macros, built)
                name = f"{PLACE}/_native{suffix(abi, zig)}"
                print(wheel_with(pure, built.read_bytes(), name, f"{python}-{abi}-{platform}", into))
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:4])))
