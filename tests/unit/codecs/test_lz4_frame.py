"""lz4 without the library ``lz4``: each reads what the other writes, with the same caps and errors."""

import random

import lz4.frame
import pytest

from kcli.core.codecs import compression
from kcli.core.codecs.codec import LEVELS, CapExceededError
from kcli.core.codecs.compression import LIMIT_OPTION, compress, decompress
from kcli.core.codecs.lz4_frame import compress_lz4, decompress_lz4
from kcli.core.errors import CorruptRecordsError, StoppedError
from kcli.core.types import Codec
from kcli.flows.stop import Stop

RANDOM = random.Random(1).randbytes(1 << 20)
LARGE = RANDOM + b"kafka " * (1 << 18)
SIZES = [0, 1, 13, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, (1 << 18) + 1, len(LARGE)]


@pytest.fixture(autouse=True)
def _without_lz4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "lz4_library", lambda: None)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("level", [None, 1, 3, 9, LEVELS[Codec.LZ4][1]])
def test_the_library_reads_what_is_written_here(size: int, level: int | None) -> None:
    for data in (LARGE[:size], LARGE[len(LARGE) - size :]):
        packed = bytes(compress(Codec.LZ4, memoryview(bytearray(data)), level))
        assert packed[4] & 0b1110_0000 == 0b0110_0000, (
            "version 1 of independent blocks, the only ones that Java reads"
        )
        assert lz4.frame.decompress(packed) == data
        assert decompress(Codec.LZ4, memoryview(bytearray(packed))) == data


@pytest.mark.parametrize("size", SIZES)
def test_the_fast_levels_give_the_bytes_of_the_library(size: int) -> None:
    data = LARGE[len(LARGE) - size :]
    theirs = lz4.frame.compress(
        data, block_size=lz4.frame.BLOCKSIZE_MAX256KB, block_linked=False, store_size=False
    )
    assert compress_lz4(data, None) == compress_lz4(data, 2) == theirs


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("block", [4, 5, 6, 7])
def test_what_other_clients_write_is_read(linked: bool, checksums: bool, block: int) -> None:
    packed = lz4.frame.compress(
        LARGE,
        block_size=block,
        block_linked=linked,
        block_checksum=checksums,
        content_checksum=checksums,
        store_size=checksums,
    )
    assert decompress_lz4(packed, len(LARGE)) == LARGE
    assert decompress_lz4(packed + packed, 2 * len(LARGE)) == LARGE + LARGE


@pytest.mark.case("F6", "X6")
@pytest.mark.parametrize("size", [1, 1000, (4 << 20) - 1, 4 << 20, (5 << 20) + 7])
def test_the_cap_is_reachable_and_no_byte_more(size: int) -> None:
    packed = compress(Codec.LZ4, bytes(size))
    assert decompress(Codec.LZ4, packed, size) == bytes(size)
    with pytest.raises(CapExceededError):
        decompress_lz4(packed, size - 1)
    with pytest.raises(CorruptRecordsError, match=f"more than {size - 1} bytes") as caught:
        decompress(Codec.LZ4, packed, size - 1)
    assert LIMIT_OPTION in caught.value.do


@pytest.mark.case("F6", "X4")
@pytest.mark.parametrize("keep", [0, 1, 5, 10, 17, 1000, -9, -1])
def test_data_that_is_cut_off_or_goes_on(keep: int) -> None:
    packed = bytes(compress(Codec.LZ4, LARGE[7 << 17 :][: 3 << 18]))  # three blocks
    for damaged in (packed[:keep], packed + b"tail!", packed[:6] + bytes([packed[6] ^ 1]) + packed[7:]):
        with pytest.raises(CorruptRecordsError) as caught:
            decompress(Codec.LZ4, damaged)
        assert LIMIT_OPTION not in (caught.value.do or "")


@pytest.mark.case("X4")
def test_mutated_data_gives_an_answer_or_the_one_error() -> None:
    seeded = random.Random(3)
    packed = bytes(compress(Codec.LZ4, LARGE[-3000:] + LARGE[:3000]))
    for _ in range(300):
        mutated = bytearray(packed)
        for _ in range(seeded.randrange(1, 4)):
            mutated[seeded.randrange(len(mutated))] = seeded.randrange(256)
        try:
            out = decompress(Codec.LZ4, mutated, 1 << 20)
        except CorruptRecordsError:
            continue
        assert len(out) <= 1 << 20


def test_a_stop_ends_it_before_it_takes_memory() -> None:
    packed = compress(Codec.LZ4, bytes(9 << 20))
    with Stop() as stop:
        stop.request()
        with pytest.raises(StoppedError):
            decompress(Codec.LZ4, packed)
