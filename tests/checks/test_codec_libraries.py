"""The codecs are native libraries that parse untrusted bytes: the floors of their versions, and why these.

Distribution          library   what is fixed there, or does not apply
lz4 >= 4.4.5          liblz4    CVE-2021-3520 (memory corruption in decompression): fixed in 1.9.4. CVE-2025-62813 is in
                                LZ4F_createCDict, dictionaries of frames, which kcli does not use
backports.zstd >= 1.0 libzstd   CVE-2019-11922 and CVE-2021-24032: fixed before 1.5; CVE-2022-4899 is in the program zstd
cramjam >= 2.10       snap      none known; written in Rust
isal >= 1.7           ISA-L     none known
Python                zlib      CVE-2022-37434 is in inflateGetHeader, CVE-2026-27171 in crc32_combine: neither is called
"""

import importlib
import importlib.metadata
import re
import sys
import tomllib
import zlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.case("X7")
ROOT = Path(__file__).parents[2]

FLOORS = {"lz4": (4, 4, 5), "cramjam": (2, 14), "backports.zstd": (1, 0), "isal": (1, 7)}
DISTRIBUTED = [name for name in FLOORS if name != "backports.zstd" or sys.version_info < (3, 14)]
UNUSED = r"crc32_combine|zstd_dict|ZstdDict|train_dict|LZ4F_createCDict|dict_id|zdict"
"""Where the known vulnerabilities are that no floor excludes."""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", version)[:3])


def requirements() -> dict[str, str]:
    """Name and specifier of everything that kcli may import at run time."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["fast"]]
    found = [re.match(r"([\w.-]+)\s*([^;]*)", line) for line in lines]
    return {one[1]: one[2].strip() for one in found if one is not None}


@pytest.mark.parametrize("name", FLOORS)
def test_the_floor_excludes_vulnerable_versions(name: str) -> None:
    declared = re.search(r">=\s*([\d.]+)", requirements()[name])
    assert declared is not None
    assert numbers(declared[1]) >= FLOORS[name]


@pytest.mark.parametrize("name", DISTRIBUTED)
def test_what_is_installed_is_not_below_the_floor(name: str) -> None:
    assert numbers(importlib.metadata.version(name)) >= FLOORS[name]


def test_the_libraries_inside_are_not_older_either() -> None:
    """A distribution of Linux may link another one than the wheel brings."""
    lz4 = importlib.import_module("lz4")
    zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    assert numbers(lz4.library_version_string()) >= (1, 9, 4)
    assert tuple(zstd.zstd_version_info) >= (1, 5, 0)
    assert numbers(zlib.ZLIB_RUNTIME_VERSION) >= (1, 2, 12)  # CVE-2018-25032, in deflate


def test_kcli_uses_nothing_that_is_vulnerable_in_every_version() -> None:
    sources = [path for path in (ROOT / "kcli").rglob("*.py") if "codec" in path.as_posix()]
    assert len(sources) > 4
    assert not [path.name for path in sources if re.search(UNUSED, path.read_text())]
    assert re.search(UNUSED, Path(__file__).read_text())
