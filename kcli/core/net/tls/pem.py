"""PEM text: which blocks it has, and the line breaks that other clients do without. Pure."""

import base64
import binascii
import re

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
