"""What a PEM file has to contain; ConfigError names what it has instead. Pure, but for the clock.

``what`` names the file in errors, ``option`` is the one that names it. OpenSSL would report most mistakes as ``[SSL] PEM
lib``.
"""

import base64
import binascii
import re

from kcli.core import clock
from kcli.core.errors import ConfigError
from kcli.core.net.tls.x509 import date_text, validity

CERTIFICATE = r"(?:X509 |TRUSTED )?CERTIFICATE"
PRIVATE_KEY = r"(?:[A-Z0-9]+ )*PRIVATE KEY"
_LABEL = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----")
_ONE_LINE = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]+)-----END \1-----")
_WIDTH = 64


def blocks(text: str, label: str) -> list[str]:
    """The PEM blocks whose label matches the pattern ``label``, with their first and last lines."""
    return [
        found.group()
        for found in re.finditer(rf"-----BEGIN ({label})-----.*?-----END \1-----", text, re.DOTALL)
    ]


def labels(text: str) -> list[str]:
    """The labels of all blocks that begin in ``text``."""
    return _LABEL.findall(text)


def with_line_breaks(text: str) -> str:
    r"""PEM text as OpenSSL reads it: files of properties may have lost its line breaks, or hold them as ``\n``."""
    return _ONE_LINE.sub(_rewrapped, text.replace("\\n", "\n"))


def der_of(block: str) -> bytes | None:
    """The bytes of one block; None if they are not base64."""
    body = "".join(block.splitlines()[1:-1])
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None


def _rewrapped(found: re.Match[str]) -> str:
    label, body = found[1], "".join(found[2].split())
    lines = [body[at : at + _WIDTH] for at in range(0, len(body), _WIDTH)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])


_JKS, _JCEKS = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_BEGIN = b"-----BEGIN"
_SEQUENCE = 0x30


def format_of(data: bytes) -> str:
    """PEM, PKCS12, JKS, or empty for none of them. A PKCS12 file is a sequence that begins with the number 3."""
    if data[:4] in (_JKS, _JCEKS):
        return "JKS"
    if _first_element(data)[:3] == b"\x02\x01\x03":
        return "PKCS12"
    return "PEM" if _BEGIN in data else ""


def check_no_store(data: bytes, what: str, do: str) -> None:
    """Refuses a key store of Java or of PKCS12."""
    if (found := format_of(data)) in ("PKCS12", "JKS"):
        raise unusable(what, f"it is a {found} store, not a PEM file", do)


def text_of(data: bytes, what: str, option: str) -> str:
    """The text of a file with at least one block."""
    if not data:
        raise unusable(what, "the file is empty", f"{option} must name a PEM file")
    if _BEGIN not in data:
        tool = "x509" if _first_element(data)[:1] == bytes((_SEQUENCE,)) else "pkey"
        der = data[0] == _SEQUENCE
        raise unusable(
            what,
            "it is DER, not PEM" if der else "it is not a PEM file",
            f"convert it: openssl {tool} -inform der -in FILE -out FILE.pem"
            if der
            else f"{option} must name a file of blocks such as -----BEGIN CERTIFICATE-----",
        )
    return data.decode("latin-1")  # only the blocks count, which are ASCII; comments may be anything


def certificates_in(text: str, what: str, option: str) -> str:
    """The blocks of certificates, without what is between them."""
    found = _whole_blocks(text, CERTIFICATE, what)
    if not found:
        raise unusable(
            what,
            f"it has no certificate{_instead(text)}",
            f"{option} must have PEM blocks that begin with -----BEGIN CERTIFICATE-----",
        )
    for number, block in enumerate(found, 1):
        if der_of(block) is None:
            raise unusable(what, f"certificate {number} of {len(found)} is not base64", "copy the file again")
    return "\n".join(found) + "\n"


def private_key_in(text: str, what: str, option: str, instead: str = "") -> str:
    """The block of the first private key. ``instead``: what else to do where there is none."""
    keys = _whole_blocks(text, PRIVATE_KEY, what)
    if not keys:
        raise unusable(
            what,
            f"it has no private key{_instead(text)}",
            f"{option} must have a PEM block that begins with -----BEGIN PRIVATE KEY-----{instead}",
        )
    return keys[0]


def check_validity(chain: str, what: str) -> None:
    """Refuses a chain whose first certificate is not valid at this time."""
    der = der_of(blocks(chain, CERTIFICATE)[0])
    found = validity(der) if der is not None else None
    now = clock.wall_ms() / 1000
    if found is None or found.not_before <= now <= found.not_after:
        return
    since = (
        f"it expired at {date_text(found.not_after)}"
        if now > found.not_after
        else f"it is valid only from {date_text(found.not_before)} on"
    )
    raise ConfigError(
        f"{what} is not valid now",
        why=f"{since}, and this machine's clock shows {date_text(now)}",
        do="renew the certificate, or correct the clock",
    )


def unusable(what: str, why: str, do: str) -> ConfigError:
    """The error of a file that can be read, but not used."""
    return ConfigError(f"cannot use {what}", why=why, do=do)


def _whole_blocks(text: str, label: str, what: str) -> list[str]:
    """The blocks of a kind; a block that begins has to end."""
    found = blocks(text, label)
    begun = [one for one in labels(text) if re.fullmatch(label, one)]
    if len(begun) > len(found):
        raise unusable(
            what, f"it is cut off: a block has no line -----END {begun[-1]}-----", "copy the file again"
        )
    return found


def _instead(text: str) -> str:
    found = sorted(set(labels(text)))
    return f", but {', '.join(found)}" if found else ""


def _first_element(data: bytes) -> bytes:
    """What a DER sequence begins with; empty for anything else."""
    if data[:1] != bytes((_SEQUENCE,)) or len(data) <= 16:
        return b""
    return data[2 + (data[1] & 0x7F if data[1] & 0x80 else 0) :]
