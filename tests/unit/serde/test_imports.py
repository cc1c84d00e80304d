"""What a command pays for a serde that it does not use: nothing."""

import subprocess
import sys

import pytest

HEAVY = {
    "fastavro",
    "google",
    "jsonschema",
    "referencing",
    "http",
    "ssl",
    "socket",
    "json",
    "grpc_tools",
    "urllib",
}


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import kcli.serde",
        "from kcli.serde import parse_serdes, is_registry_key; parse_serdes(['value=avro:id=7'])",
        "from kcli.serde import RegistryOptions",
    ],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    assert {name.partition(".")[0] for name in modules_after(code)} & HEAVY == set()


def test_the_package_itself_imports_nothing_of_ours() -> None:
    ours = {name for name in modules_after("import kcli.serde") if name.startswith("kcli")}
    assert ours == {"kcli", "kcli.serde"}


@pytest.mark.parametrize("name", ["str", "int", "json"])
def test_a_plain_serde_needs_no_library(name: str) -> None:
    code = f"from kcli.serde import *; open_serdes(parse_serdes(['{name}']))"
    heavy = {name.partition(".")[0] for name in modules_after(code)} & (HEAVY - {"json", "urllib"})
    assert heavy == set()


def test_every_public_name_is_there() -> None:
    import kcli.serde

    for name in kcli.serde.__all__:
        assert getattr(kcli.serde, name) is not None
    assert dir(kcli.serde) == sorted(kcli.serde.__all__)
    with pytest.raises(AttributeError):
        kcli.serde.nothing  # noqa: B018
