"""The line that installs an extra fits the way in which kcli was installed."""

import pytest

from kcli.core.extras import installation_in

PYTHON = "/home/me/env/bin/python"


@pytest.mark.parametrize(
    ("prefix", "mark", "active", "pip", "line"),
    [
        ("/home/me/env", "", True, True, "pip install 'kcli-kafka[avro]'"),
        ("/home/me/env", "", False, True, f"{PYTHON} -m pip install 'kcli-kafka[avro]'"),
        ("/home/me/my env", "", False, True, "'/home/me/my env/bin/python' -m pip install 'kcli-kafka[avro]'"),
        ("/home/me/env", "", True, False, f"uv pip install --python {PYTHON} 'kcli-kafka[avro]'"),
        ("/home/me/env", "uv-receipt.toml", False, False, f"uv pip install --python {PYTHON} 'kcli-kafka[avro]'"),
        ("/v/pipx/kcli-kafka", "pipx_metadata.json", False, True, "pipx runpip kcli-kafka install 'kcli-kafka[avro]'"),
        (
            "/c/pex/venvs/1/2", "PEX-INFO", False, False,
            "nothing can be added to the .pex; install kcli with it: pipx install 'kcli-kafka[avro]'",
        ),
        (
            "/usr/lib/kcli", "", False, False,
            "nothing can be added to the Debian package; install kcli with it: pipx install 'kcli-kafka[avro]'",
        ),
        (
            "/opt/kcli", "", False, False,
            "nothing can be added to the container image; install kcli with it: pipx install 'kcli-kafka[avro]'",
        ),
        ("/opt/kcli", "", True, True, "pip install 'kcli-kafka[avro]'"),
    ],
)  # fmt: skip
def test_the_line_fits_the_installation(prefix: str, mark: str, active: bool, pip: bool, line: str) -> None:
    holds = {name: name == mark for name in ("PEX-INFO", "pipx_metadata.json", "uv-receipt.toml")}
    assert installation_in(prefix, "avro", holds, active=active, pip=pip) == line
