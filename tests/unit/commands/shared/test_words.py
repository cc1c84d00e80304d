"""The value types: every form, and what is refused with which words."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.commands.shared import params, words
from kcli.commands.shared.options import DEBUG, DURATION, OUTPUT, option_of_kcat
from tests.command_lines import problem


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512", 512),
        ("1k", 1000),
        ("1KiB", 1024),
        ("10MB", 10**7),
        ("1.5MiB", 3 << 19),
        ("2GiB", 2 << 30),
        ("0", 0),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert words.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "1XB", "-1", "1 2", "KiB"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        words.parse_size(text)


def test_size_ranges() -> None:
    assert words.parse_size_range("1KiB") == (1024, 1024)
    assert words.parse_size_range("100..2000") == (100, 2000)
    with pytest.raises(ValueError, match="ends before"):
        words.parse_size_range("2..1")


def test_rates() -> None:
    assert words.parse_rate("1000") == params.Rate(records=1000)
    assert words.parse_rate("1000/s") == params.Rate(records=1000)
    assert words.parse_rate("10MB/s") == params.Rate(bytes=10**7)
    for text in ("0", "0MB", "fast", "-1"):
        with pytest.raises(ValueError, match="rate"):
            words.parse_rate(text)


def test_partitions_keep_their_order_and_lose_repeats() -> None:
    assert words.parse_partitions("0,2,5-7") == (0, 2, 5, 6, 7)
    assert words.parse_partitions("7, 5-6,5") == (7, 5, 6)


@pytest.mark.parametrize("text", ["", "a", "1,,2", "3-1", "-1", "1-", "0-999999999", "1;2"])
def test_no_partitions(text: str) -> None:
    with pytest.raises(ValueError, match="partitions"):
        words.parse_partitions(text)


def test_one_topic_is_mapped_to_another() -> None:
    assert words.parse_topic_map("orders=orders.v2") == ("orders", "orders.v2")
    for text in ("orders", "=x", "x=", "a=b=c", "a b=c"):
        with pytest.raises(ValueError, match="does not map one topic to another"):
            words.parse_topic_map(text)


def test_headers_distinguish_empty_from_null() -> None:
    assert words.parse_header("n=v") == ("n", b"v")
    assert words.parse_header("n=") == ("n", b"")
    assert words.parse_header("n") == ("n", None)
    assert words.parse_header("n=a=b") == ("n", b"a=b")
    assert words.parse_header("n=\udcff") == ("n", b"\xff")
    assert words.parse_header("\udce9=é") == (b"\xe9", "é".encode())
    with pytest.raises(ValueError, match="no name"):
        words.parse_header("=v")


def test_codecs() -> None:
    assert words.parse_codec("zstd") == params.Codec("zstd")
    assert words.parse_codec("GZIP:6") == params.Codec("gzip", 6)
    assert words.parse_codec("zstd:-7") == params.Codec("zstd", -7)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("bz2", "not one of none, gzip"),
        ("gzip:x", "not a number"),
        ("gzip:", "not a number"),
        ("snappy:1", "no levels"),
    ],
)
def test_no_codecs(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        words.parse_codec(text)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        (":", b":"),
        (r"\n", b"\n"),
        (r"\t\r\0", b"\t\r\x00"),
        (r"\xff\x00", b"\xff\x00"),
        (r"\\n", b"\\n"),
        ("→", "→".encode()),
        ("::", b"::"),
        (chr(0xDCFE), b"\xfe"),
        (r"a\x41b", b"aAb"),
    ],
)
def test_delimiters(text: str, delimiter: bytes) -> None:
    assert words.parse_delimiter(text) == delimiter


@pytest.mark.parametrize("text", ["", "\\", r"\q", r"\x1", r"\xzz"])
def test_no_delimiters(text: str) -> None:
    with pytest.raises(ValueError, match=r"at least one byte|not an escape"):
        words.parse_delimiter(text)


@given(st.binary(min_size=1))
def test_any_bytes_can_be_a_delimiter(data: bytes) -> None:
    assert words.parse_delimiter("".join(f"\\x{byte:02x}" for byte in data)) == data


def test_types_fail_as_click_does_and_leave_values_alone() -> None:
    with pytest.raises(click.BadParameter, match="is not a size"):
        params.SIZE.convert("x", None, None)
    assert params.SIZE.convert(5, None, None) == 5
    assert DURATION.convert("1m30s", None, None) == 90.0
    assert DURATION.convert("500ms", None, None) == 0.5
    assert DEBUG.convert("proto, conf", None, None) == {"proto", "conf"}
    with pytest.raises(click.BadParameter, match="'x' is not one of"):
        DEBUG.convert("x", None, None)


@pytest.mark.parametrize(
    ("word", "option"),
    [
        ("beginning", "--from-beginning or --offset beginning"),
        ("end", "--offset end"),
        ("stored", "-g GROUP, which begins at its committed offsets"),
        ("-10", "--offset -10"),
        ("5", "--offset 5"),
        ("s@1732180000000", "--since 1732180000000"),
        ("e@1732190000000", "--until 1732190000000"),
    ],
)
def test_what_kcat_users_mean_by_o_is_an_option_of_consume(word: str, option: str) -> None:
    assert option_of_kcat(word) == option
    for one in option.partition(",")[0].split(" or "):
        assert problem(["consume", "orders", *one.split()], complete=True) == ""


def test_an_output_format_is_no_offset_of_kcats() -> None:
    assert [word for word in OUTPUT.words if option_of_kcat(word)] == []


def test_completions_offer_every_special_offset() -> None:
    from kcli.core.positions import SPECIAL_WORDS

    assert ("earliest", "latest", *SPECIAL_WORDS, "stored") == params.OFFSET_WORDS


def test_completions_offer_every_serde() -> None:
    from kcli.commands.shared.params import SERDES
    from kcli.serde.names import NAMES

    assert SERDES == NAMES
