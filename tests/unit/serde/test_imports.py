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
    "urllib3",
}


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import kcli.serde",
        "from kcli.serde.names import parse_serdes; parse_serdes(['value=avro:id=7'])",
        "from kcli.profiles.secret_keys import is_registry_key",
        "from kcli.serde.registry.options import RegistryOptions",
    ],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    assert {name.partition(".")[0] for name in modules_after(code)} & HEAVY == set()


@pytest.mark.parametrize("name", ["str", "int", "json"])
def test_a_plain_serde_needs_no_library(name: str) -> None:
    imports = "from kcli.serde.names import parse_serdes; from kcli.serde.opening import open_serdes"
    code = f"{imports}; open_serdes(parse_serdes(['{name}']))"
    heavy = {name.partition(".")[0] for name in modules_after(code)} & (HEAVY - {"json", "urllib"})
    assert heavy == set()


@pytest.mark.parametrize(
    "module",
    ["serde.registry.transport", "core.tokens.endpoint", "flows.lag.webhook", "sandbox.fetch"],
)
def test_the_library_of_http_is_loaded_with_the_first_request(module: str) -> None:
    loaded = modules_after(f"import kcli.{module}".replace("import ", "import site; site.main(); import ", 1))
    assert f"kcli.{module}" in loaded
    assert not {"urllib3", "http.client", "urllib.request", "requests"} & loaded
