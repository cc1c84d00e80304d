"""The Pythons for which the .pex has wheels, as the JSON that pex reads with --complete-platform.

    python tools/packaging/platforms.py FOLDER

None of these interpreters is needed. glibc 2.28 is what Debian 10 and RHEL 8 have; all dependencies have wheels for it.
"""

import json
import platform
import sys
from pathlib import Path

from packaging.tags import compatible_tags, cpython_tags

VERSIONS = (11, 12, 13, 14)
NEWEST_GLIBC = 28


def of_python(minor: int, machine: str) -> dict[str, object]:
    """What pex has to know of CPython 3.``minor``."""
    version = (3, minor)
    legacy = {17: "manylinux2014"}
    platforms = []
    for glibc in range(NEWEST_GLIBC, 16, -1):
        platforms.append(f"manylinux_2_{glibc}_{machine}")
        if glibc in legacy:
            platforms.append(f"{legacy[glibc]}_{machine}")
    platforms.append(f"linux_{machine}")
    tags = [
        *cpython_tags(version, platforms=platforms, abis=[f"cp3{minor}"]),
        *compatible_tags(version, interpreter=f"cp3{minor}", platforms=platforms),
    ]
    return {
        "marker_environment": {
            "implementation_name": "cpython",
            "implementation_version": f"3.{minor}.0",
            "os_name": "posix",
            "platform_machine": machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"3.{minor}.0",
            "python_version": f"3.{minor}",
            "sys_platform": "linux",
        },
        "compatible_tags": [str(tag) for tag in tags],
    }


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for minor in VERSIONS:
        path = folder / f"cp3{minor}.json"
        path.write_text(json.dumps(of_python(minor, platform.machine())), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
