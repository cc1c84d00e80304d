"""SHA-crypt (``$5$`` and ``$6$``): passwords as ``openssl passwd -6`` and ``mkpasswd`` write them. Pure.

After the specification "Unix crypt using SHA-256 and SHA-512" by U. Drepper. Python has no such function since 3.13, and
PBKDF2, which it has, is not in a form that a common tool writes.
"""

import hashlib
import hmac
import re

_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_HASH = re.compile(r"\$([56])\$(?:rounds=(\d{1,9})\$)?([^$:\s]{0,16})\$([./0-9A-Za-z]+)")
_ROUNDS, _FEWEST, MOST_ROUNDS = 5_000, 1_000, 1_000_000
_LENGTHS = {"5": 43, "6": 86}
LONGEST = 256
"""Bytes of a password: the work grows with them."""


def is_hash(text: str) -> bool:
    """Whether it has the form, with a number of rounds that can be computed in a second or two."""
    found = _HASH.fullmatch(text)
    rounds = int(found[2] or _ROUNDS) if found else 0
    return bool(found and len(found[4]) == _LENGTHS[found[1]] and _FEWEST <= rounds <= MOST_ROUNDS)


def matches(password: bytes, known: str) -> bool:
    """Whether ``known``, which ``is_hash``, is that of the password."""
    found = _HASH.fullmatch(known)
    if found is None or len(password) > LONGEST:
        return False
    digest = _digest(found[1], password, found[3].encode(), int(found[2] or _ROUNDS))
    return hmac.compare_digest(digest, found[4])


def _digest(kind: str, password: bytes, salt: bytes, rounds: int) -> str:
    new = hashlib.sha256 if kind == "5" else hashlib.sha512
    size = new().digest_size
    other = new(password + salt + password).digest()
    first = new(password + salt + _repeated(other, len(password)))
    length = len(password)
    while length:
        first.update(other if length & 1 else password)
        length >>= 1
    last = first.digest()
    p = _repeated(new(password * len(password)).digest(), len(password))
    s = _repeated(new(salt * (16 + last[0])).digest(), len(salt))
    for number in range(rounds):
        last = new(
            (p if number & 1 else last)
            + (s if number % 3 else b"")
            + (p if number % 7 else b"")
            + (last if number & 1 else p)
        ).digest()
    return _encoded(last, size)


def _repeated(data: bytes, length: int) -> bytes:
    return (data * (length // len(data) + 1))[:length]


def _encoded(digest: bytes, size: int) -> str:
    """Three bytes at a time, in the order of the specification; four characters, the lowest six bits first."""
    step, count = (21, 21) if size == 64 else (10, 10)
    a, b, c = 0, step, 2 * step
    text = []
    for _ in range(count):
        text.append(_characters(digest[a] << 16 | digest[b] << 8 | digest[c], 4))
        a, b, c = (b + 1, c + 1, a + 1) if size == 64 else (c + 1, a + 1, b + 1)
    if size == 64:
        text.append(_characters(digest[63], 2))
    else:
        text.append(_characters(digest[31] << 8 | digest[30], 3))
    return "".join(text)


def _characters(value: int, count: int) -> str:
    return "".join(_ALPHABET[value >> 6 * n & 63] for n in range(count))
