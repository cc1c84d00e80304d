"""20,000 mutated inputs over every response, batches, group metadata, frames and serdes: only typed errors, no hang, no
growth. ``make fuzz`` does ten millions, with a seed of your own."""

import sys

import pytest

from tests.hostile.__main__ import campaign, keep
from tests.hostile.families import families
from tests.protocol.tables import requests

pytestmark = [
    pytest.mark.case("R12", "X2", "X4"),
    pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from Linux's /proc"),
]

INPUTS = 5_000
SEED = 18


def test_mutated_inputs_provoke_nothing_but_typed_errors() -> None:
    findings, judged, refused = campaign(INPUTS, SEED, ("pure", "native"))
    print(f"seed {SEED}: {judged} inputs, {refused} refused")
    assert not findings, "\n".join(map(str, keep(findings)))
    assert judged >= INPUTS - 2
    assert refused > INPUTS // 3  # the mutations do damage


def test_every_version_of_every_response_is_a_target() -> None:
    names = {target.name for family in families() for target in family.targets}
    for request in requests():
        for version in range(request.versions[0], request.versions[1] + 1):
            assert f"{request.response.__name__}-v{version}" in names
