"""Names, numbers and levels of codecs are Kafka's."""

import pytest

from kcli.core.codecs.codec import LEVELS, check_level, codec_by_name, codec_name
from kcli.core.errors import ConfigError
from kcli.core.types import Codec


@pytest.mark.parametrize(
    ("name", "codec"), [("none", 0), ("gzip", 1), ("Snappy", 2), ("LZ4", 3), ("zstd", 4)]
)
def test_names(name: str, codec: int) -> None:
    assert codec_by_name(name) == codec
    assert codec_name(codec) == name.lower()


def test_uncompressed_is_what_topics_call_none() -> None:
    assert codec_by_name("uncompressed") == Codec.NONE


def test_other_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"brotli.*none, gzip, snappy, lz4, zstd"):
        codec_by_name("brotli")


@pytest.mark.parametrize(("codec", "low", "high"), [(1, 1, 9), (3, 1, 17), (4, -131072, 22)])
def test_levels(codec: int, low: int, high: int) -> None:
    for level in (None, low, high):
        check_level(codec, level)
    for level in (low - 1, high + 1):
        with pytest.raises(ConfigError, match=f"{low} to {high}"):
            check_level(codec, level)


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec not in LEVELS])
def test_codecs_without_levels(codec: int) -> None:
    check_level(codec, None)
    with pytest.raises(ConfigError, match="no levels"):
        check_level(codec, 1)
