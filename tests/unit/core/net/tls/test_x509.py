"""The validity of a certificate is read from its bytes; damaged bytes give none."""

import datetime

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from kcli.core.net.tls.x509 import Validity, date_text, validity


def der(first: datetime.datetime, last: datetime.datetime) -> bytes:
    leaf = trustme.CA().issue_cert("h", not_before=first, not_after=last)
    loaded = x509.load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
    return loaded.public_bytes(Encoding.DER)


def at(year: int) -> datetime.datetime:
    return datetime.datetime(year, 3, 4, 5, 6, 7, tzinfo=datetime.UTC)


@pytest.mark.parametrize(("first", "last"), [(1999, 2001), (2020, 2049), (2020, 2050), (2051, 2199)])
def test_both_forms_of_a_time(first: int, last: int) -> None:
    """UTCTime has two digits of the year, until 2049; GeneralizedTime has four."""
    assert validity(der(at(first), at(last))) == Validity(
        int(at(first).timestamp()), int(at(last).timestamp())
    )


def test_every_cut_and_every_changed_byte_is_harmless() -> None:
    good = der(at(2020), at(2030))
    for size in range(0, min(len(good), 200)):
        assert validity(good[:size]) is None
    for position in range(min(len(good), 200)):
        changed = bytearray(good)
        changed[position] ^= 0xFF
        validity(bytes(changed))


def test_a_date() -> None:
    assert date_text(at(2026).timestamp()) == "2026-03-04T05:06:07Z"
