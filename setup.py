"""Builds the C twin of the record kernels; everything else about the package is in pyproject.toml.

kcli works without the extension, so nothing here may fail: no compiler or no Python header means one notice and a
pure installation. ``KCLI_NO_EXT=1`` asks for that. ``KCLI_SANITIZE=1`` builds for a run that looks for reads and
writes out of bounds (``make sanitize``).
"""

import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("kcli", "core", "kernels", "native")
BUILDING = {"bdist_wheel", "build", "build_ext", "editable_wheel", "install"}
LIMITED = "0x030B0000"  # the ABI of Python 3.11: one wheel for it and all that follow
SANITIZERS = "address,undefined"


def wanted() -> bool:
    """May the extension be built here? Says why not."""
    if os.environ.get("KCLI_NO_EXT"):
        return False
    missing = list(lacking())
    if missing:
        notice(f"no {' and no '.join(missing)}")
    return not missing


def lacking():
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if not shutil.which(compiler):
        yield f"compiler ({compiler})"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        yield "Python.h"


def notice(why: str) -> None:
    if BUILDING.intersection(sys.argv):  # once: installers ask for metadata as well
        print(f"kcli: going on in pure Python, without the C kernels: {why}", file=sys.stderr)


def extension(limited: bool) -> Extension:
    sanitize = bool(os.environ.get("KCLI_SANITIZE"))
    careful = [f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g"]
    return Extension(
        "kcli.core.kernels._native",
        sources=sorted(path.as_posix() for path in NATIVE.glob("*.c")),
        depends=sorted(path.as_posix() for path in NATIVE.glob("*.h")),
        define_macros=[("Py_LIMITED_API", LIMITED)] if limited else [],
        py_limited_api=limited,
        optional=True,
        extra_compile_args=[
            "-std=c11",
            "-Wall",
            "-Wextra",
            *(["-O1", *careful] if sanitize else ["-O3", "-g0"]),
        ],
        extra_link_args=careful if sanitize else [],
    )


class BuildIfPossible(build_ext):
    """Says in one line that the extension could not be built; the compiler has said why."""

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception:
            notice("they do not compile here")
            raise  # to setuptools, which goes on as the extension is optional


# Python without the GIL has no limited API.
limited = not sysconfig.get_config_var("Py_GIL_DISABLED")
if wanted():
    setup(
        ext_modules=[extension(limited)],
        cmdclass={"build_ext": BuildIfPossible},
        options={"bdist_wheel": {"py_limited_api": "cp311"}} if limited else {},
    )
else:
    setup()
