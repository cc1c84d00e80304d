"""What is compressed comes back; what is damaged, cut, or too large is one kind of error."""

import gzip
import random
import struct
import sys
import zlib

import cramjam
import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core import Producer
from kcli.core.codecs import compression
from kcli.core.codecs import decompress as decompress_module
from kcli.core.codecs.codec import LEVELS
from kcli.core.codecs.compression import LIMIT_OPTION, compress, decompress
from kcli.core.errors import ConfigError, CorruptRecordsError
from kcli.core.types import Codec

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CODECS = [codec for codec in Codec if codec]
UNKNOWN = sorted(set(range(8)).difference(Codec))
LARGE = random.Random(1).randbytes(1 << 20) + b"kafka " * (1 << 20)
XERIAL = b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"


@pytest.mark.parametrize("codec", [0, *CODECS])
@given(st.binary(max_size=5000))
def test_round_trip(codec: int, data: bytes) -> None:
    assert bytes(decompress(codec, compress(codec, data))) == data


@pytest.mark.parametrize("codec", CODECS)
def test_round_trip_of_a_large_batch_in_any_buffer(codec: int) -> None:
    packed = compress(codec, memoryview(bytearray(LARGE)))

    assert decompress(codec, memoryview(bytearray(packed))) == LARGE


@pytest.mark.parametrize(("codec", "level"), [(codec, level) for codec in LEVELS for level in LEVELS[codec]])
def test_the_lowest_and_the_highest_level(codec: int, level: int) -> None:
    data = LARGE[-100_000:]

    assert decompress(codec, compress(codec, data, level)) == data


def test_a_level_beyond_the_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="1 to 9"):
        compress(1, b"x", 10)


@pytest.mark.parametrize("codec", UNKNOWN)
def test_unknown_codecs_are_named(codec: int) -> None:
    with pytest.raises(CorruptRecordsError, match=f"unknown codec {codec}"):
        decompress(codec, b"x")
    with pytest.raises(ConfigError, match=f"unknown codec {codec}"):
        compress(codec, b"x")


@pytest.mark.case("F6", "X6")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [1, 1000, (4 << 20) - 1, 4 << 20, (5 << 20) + 7])
def test_the_cap_is_reachable_and_no_byte_more(codec: int, size: int) -> None:
    packed = compress(codec, bytes(size))

    assert decompress(codec, packed, size) == bytes(size)
    with pytest.raises(CorruptRecordsError, match=f"more than {size - 1} bytes") as caught:
        decompress(codec, packed, size - 1)
    assert LIMIT_OPTION in caught.value.do


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("keep", [0, 1, 5, 10, 17, 1000, -9, -1])
def test_data_that_is_cut_off(codec: int, keep: int) -> None:
    packed = bytes(compress(codec, LARGE))[:keep]

    with pytest.raises(CorruptRecordsError):
        decompress(codec, packed)


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_behind_the_data(codec: int) -> None:
    with pytest.raises(CorruptRecordsError):
        decompress(codec, bytes(compress(codec, b"abc")) + b"tail!")


@pytest.mark.case("F6")
@pytest.mark.parametrize("codec", CODECS)
def test_several_frames_in_a_row_are_read_as_one(codec: int) -> None:
    packed = bytes(compress(codec, b"abc")) + bytes(compress(codec, LARGE)) + bytes(compress(codec, b"xyz"))

    assert decompress(codec, packed) == b"abc" + LARGE + b"xyz"


@pytest.mark.parametrize("codec", [1, 3, 4])
def test_endless_rows_of_empty_frames_are_refused(codec: int) -> None:
    packed = bytes(compress(codec, b"")) * 100_000

    with pytest.raises(CorruptRecordsError, match="frames"):
        decompress(codec, packed)


@pytest.mark.case("X4")
@pytest.mark.parametrize("codec", CODECS)
def test_mutated_data_gives_an_answer_or_the_one_error(codec: int) -> None:
    seeded = random.Random(codec)
    packed = bytes(compress(codec, LARGE[-3000:] + LARGE[:3000]))
    for _ in range(300):
        mutated = bytearray(packed)
        for _ in range(seeded.randrange(1, 4)):
            mutated[seeded.randrange(len(mutated))] = seeded.randrange(256)
        try:
            out = decompress(codec, mutated, 1 << 20)
        except CorruptRecordsError:
            continue
        assert len(out) <= 1 << 20


@pytest.mark.case("X4")
def test_gzip_checksum_is_compared() -> None:
    packed = bytearray(gzip.compress(b"abc" * 100))
    packed[-6] ^= 1

    with pytest.raises(CorruptRecordsError):
        decompress(1, packed)


def test_gzip_without_isal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra ``fast`` is an extra."""
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    decompress_module.gzip_library.cache_clear()
    try:
        assert decompress_module.gzip_library() is zlib
        packed = compress(1, LARGE)
        assert gzip.decompress(packed) == LARGE
        assert decompress(1, packed) == LARGE
        assert decompress(1, compress(1, LARGE, 2)) == LARGE
    finally:
        decompress_module.gzip_library.cache_clear()


def test_lz4_is_written_as_java_reads_it() -> None:
    """Java refuses blocks that depend on one another; the flags say so: version 1, independent, nothing else."""
    packed = bytes(compress(3, LARGE))

    assert packed[4] == 0x60


def test_lz4_with_dependent_blocks_and_declared_size_is_read() -> None:
    packed = lz4.frame.compress(LARGE, block_linked=True, store_size=True, content_checksum=True)

    assert decompress(3, packed) == LARGE


@pytest.mark.case("F6")
def test_lz4_with_a_wrong_header_checksum() -> None:
    packed = bytearray(compress(3, b"abc"))
    packed[6] ^= 1

    with pytest.raises(CorruptRecordsError):
        decompress(3, packed)


def test_snappy_without_frame_is_read() -> None:
    assert decompress(2, bytes(cramjam.snappy.compress_raw(LARGE))) == LARGE


@pytest.mark.case("F6")
@pytest.mark.parametrize(
    "data",
    [
        XERIAL[:12],
        XERIAL + b"\0\0",
        XERIAL + struct.pack(">i", -1) + b"abc",
        XERIAL + struct.pack(">i", 1 << 30) + b"abc",
        XERIAL + struct.pack(">i", 0),
        XERIAL + struct.pack(">i", 5) + b"\xff\xff\xff\xff\x0f",  # declares 4 GiB
        b"\xff\xff\xff\xff\x0f",
        b"\xff\xff\xff\xff\xff\xff\xff",
        b"",
    ],
)
def test_snappy_with_bad_lengths(data: bytes) -> None:
    with pytest.raises(CorruptRecordsError):
        decompress(2, data)


@pytest.mark.parametrize("level", [1, 19, 22])
def test_zstd_of_unknown_size_is_read(level: int) -> None:
    """As Java writes it: a stream whose header declares a window instead of the size."""
    stream = zstd.ZstdCompressor(level=level)
    packed = stream.compress(LARGE) + stream.flush()

    assert decompress(4, packed) == LARGE


def test_zstd_sizes_are_read_from_either_kind_of_header() -> None:
    stream = zstd.ZstdCompressor(level=22)
    streamed = memoryview(stream.compress(LARGE) + stream.flush())

    assert decompress_module.zstd_sizes(streamed) == (128 << 20, 0)
    assert decompress_module.zstd_sizes(memoryview(zstd.compress(bytes(1000)))) == (1000, 1000)
    assert decompress_module.zstd_sizes(memoryview(b"garbage garbage")) == (0, 0)
    stream = zstd.ZstdCompressor()
    stream.set_pledged_input_size(3 << 20)
    sized = memoryview(stream.compress(bytes(3 << 20)) + stream.flush())
    assert decompress_module.zstd_sizes(sized) == (2 << 20, 3 << 20)


def test_a_zstd_frame_that_declares_more_than_the_cap_is_refused_before_it_is_decompressed() -> None:
    """Also where the library would refuse it for its window, which no option of kcli raises."""
    for head in (b"\xc0\x68", b"\xe0"):  # a window of 8 MiB, or none but the content
        with pytest.raises(CorruptRecordsError) as caught:
            decompress(4, b"\x28\xb5\x2f\xfd" + head + (1 << 36).to_bytes(8, "little"), 1 << 20)
        assert "decompresses to more than 1048576 bytes" in caught.value.why
        assert "max.decompressed.batch.bytes" in caught.value.do


def test_zstd_window_counts_against_the_cap() -> None:
    stream = zstd.ZstdCompressor(level=22)
    packed = stream.compress(bytes(40 << 20)) + stream.flush()

    assert len(decompress(4, packed, 64 << 20)) == 40 << 20
    with pytest.raises(CorruptRecordsError, match="zstd"):
        decompress(4, packed, 42 << 20)


def test_a_library_that_is_not_there_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = bytes(compress(Codec.ZSTD, b"text"))
    monkeypatch.setitem(compression._LIBRARIES, Codec.ZSTD, "kcli_has_no_such_module")
    for use in (
        lambda: compress(Codec.ZSTD, b"text"),
        lambda: decompress(Codec.ZSTD, packed),
        lambda: Producer(bootstrap_servers="127.0.0.1:1", compression_type="zstd"),
    ):
        with pytest.raises(ConfigError, match="zstd is not available here") as caught:
            use()
        assert "kcli_has_no_such_module" in caught.value.why
