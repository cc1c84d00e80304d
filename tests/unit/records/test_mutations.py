"""Damaged batches of every format and codec: whatever is read, only the errors of the protocol come out."""

import random
import time
from contextlib import suppress

import pytest

from kcli.core.errors import ProtocolError
from kcli.core.records.batch import split_batches
from kcli.core.types import Codec
from tests.unit.records.samples import JAVA, own_batch

pytestmark = pytest.mark.case("R12")

TRIALS = 400
ODD_BYTES = (0, 1, 2, 0x7F, 0x80, 0xFF)
SAMPLES = {
    **{
        f"own-{codec}": bytes(own_batch([b"%05d" % index * 4 for index in range(60)], codec))
        for codec in Codec
    },
    **{name: data for name, data in JAVA.items() if not name.endswith("appendtime")},
}


def mutate(data: bytes, seeded: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(seeded.randrange(1, 5)):
        # Headers are where a wrong number does most: half of the changes are there.
        at = seeded.randrange(min(len(out), 80) if seeded.random() < 0.5 else len(out))
        out[at] = seeded.choice(ODD_BYTES) if seeded.random() < 0.5 else seeded.randrange(256)
    if seeded.random() < 0.2:
        del out[seeded.randrange(len(out)) :]
    return bytes(out)


def read_all(data: bytes) -> None:
    for batch in split_batches(data):
        assert batch.size <= len(data)
        with suppress(ProtocolError):
            batch.verify_crc()
        # Go on as a hostile producer would make us, with a right checksum.
        limit = 1 << 20
        assert batch.values(0, 1 << 62, b"\n", b"")[1] <= batch.count
        for record in batch.records("t", 0, limit):
            assert batch.base_offset <= record.offset < batch.next_offset
        assert batch.next_offset > batch.base_offset


@pytest.mark.parametrize("name", SAMPLES)
def test_only_protocol_errors_come_out_and_soon(name: str) -> None:
    seeded = random.Random(name)
    refused = 0
    started = time.process_time()
    for _ in range(TRIALS):
        data = mutate(SAMPLES[name], seeded)
        try:
            read_all(data)
        except ProtocolError:
            refused += 1
    assert refused > TRIALS // 20  # the mutations do damage
    assert time.process_time() - started < 20


def test_random_bytes() -> None:
    seeded = random.Random(3)
    for _ in range(2000):
        data = bytearray(seeded.randbytes(seeded.randrange(1, 300)))
        if len(data) > 20:
            data[8:12] = (len(data) - 12).to_bytes(4, "big")
            data[16] = seeded.randrange(4)
        try:
            read_all(bytes(data))
        except ProtocolError:
            continue
