"""What the extensions of wheels for Linux need: the machine of their platform, one libc, no symbol beyond it.

    python tools/packaging/symbols.py WHEEL...

Wheels for musl are compared with the symbols of the musl that zig brings; how old a glibc may be, auditwheel says. The
wheels of other machines and of musl cannot all be run where they are built, so that this is looked at in the files.
"""

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import ziglang
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
LIBC = {"manylinux": "libc.so.6", "musllinux": "libc.so"}
OF_PYTHON = re.compile("_?Py")
GLIBC = (2, 17)


def musl_symbols() -> frozenset[str]:
    """All that musl's libc exports."""
    stubs = Path(ziglang.__file__).parent / "lib" / "libc" / "musl" / "libc.S"
    return frozenset(re.findall(r"^(?:\.globl|\.weak|\.global)\s+(\w+)", stubs.read_text(), re.M))


def faults(wheel: Path) -> Iterator[str]:
    """What is wrong with the extension of a wheel for Linux."""
    platform = wheel.stem.split("-")[-1]
    machine = next(one for one in MACHINES if platform.endswith(one))
    with zipfile.ZipFile(wheel) as files:
        (name,) = (one for one in files.namelist() if one.endswith(".so"))
        elf = ELFFile(io.BytesIO(files.read(name)))
    if elf["e_machine"] != MACHINES[machine]:
        yield f"it is of {elf['e_machine']}"
    needed = [tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
    if needed != [LIBC[platform[:9]]]:
        yield f"it needs {needed}"
    versions = [
        tuple(map(int, one.name.removeprefix("GLIBC_").split(".")))
        for section in elf.iter_sections()
        if isinstance(section, GNUVerNeedSection)
        for _, ones in section.iter_versions()
        for one in ones
    ]
    if platform.startswith("musllinux"):
        symbols = elf.get_section_by_name(".dynsym").iter_symbols()
        wanted = {one.name for one in symbols if one["st_shndx"] == "SHN_UNDEF" and one.name}
        if beyond := {one for one in wanted if not OF_PYTHON.match(one)} - musl_symbols():
            yield f"musl has no {', '.join(sorted(beyond))}"
        if versions:
            yield "it asks for versions of glibc"
    elif not versions or max(versions) > GLIBC:
        yield f"it asks for glibc {versions}"


if __name__ == "__main__":
    found = [f"{one}: {why}" for one in sys.argv[1:] for why in faults(Path(one))]
    sys.exit("\n".join(found) or 0)
