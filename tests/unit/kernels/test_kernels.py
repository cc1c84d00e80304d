"""Which kernels are used is said, can be forced, and fails loudly when it cannot be had."""

import importlib.util
import os
import subprocess
import sys

import pytest

HAS_NATIVE = importlib.util.find_spec("kcli.core.kernels._native") is not None


def run(wanted: str) -> "subprocess.CompletedProcess[str]":
    code = "from kcli.core.kernels import active as kernels; print(kernels.IMPLEMENTATION)"
    env = os.environ | {"KCLI_IMPL": wanted}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)


def test_pure_can_be_forced() -> None:
    assert run("pure").stdout == "pure\n"


def test_without_a_wish_the_best_there_is() -> None:
    assert run("").stdout == ("native\n" if HAS_NATIVE else "pure\n")


@pytest.mark.parametrize("wanted", ["fast", *([] if HAS_NATIVE else ["native"])])
def test_a_wish_that_cannot_be_met_fails_loudly(wanted: str) -> None:
    done = run(wanted)

    assert done.returncode
    assert f"KCLI_IMPL={wanted}" in done.stderr


@pytest.mark.parametrize("wanted", ["pure", *(["native"] if HAS_NATIVE else [])])
def test_a_start_loads_one_implementation_only(wanted: str) -> None:
    code = "import sys, kcli.core.consumer.consumer; print(*sys.modules)"
    env = os.environ | {"KCLI_IMPL": wanted}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    loaded = set(done.stdout.split())
    assert ("kcli.core.kernels.pure" in loaded) == (wanted == "pure"), done.stderr
    assert ("kcli.core.kernels._native" in loaded) == (wanted == "native")
