"""``--throughput`` of performance tests: records or bytes a second, or −1 for no limit, as in Kafka's tools."""

import re
from math import inf

from kcli.commands.shared.params import Rate, Word, parse_size

_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_RECORDS = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgG]?)")
_EXAMPLES = "50000 or 50k (records a second), 10MB/s, or -1 for no limit"


def parse_throughput(text: str) -> Rate:
    """``50k`` is records a second, ``10MB/s`` bytes; both are None for ``-1``."""
    word = text.strip()
    if word == "-1":
        return Rate()
    match = _RECORDS.fullmatch(word)
    try:
        rate = (
            Rate(records=float(match[1]) * _FACTORS[match[2].lower()])
            if match
            else Rate(bytes=float(parse_size(word.removesuffix("/s"))))
        )
    except ValueError:
        raise ValueError(f"{text!r} is not a throughput such as {_EXAMPLES}") from None
    if not (rate.records or rate.bytes):
        raise ValueError(f"a throughput is more than 0: {_EXAMPLES}")
    if rate.records == inf:
        raise ValueError("no throughput is so high; -1 is no limit")
    return rate


THROUGHPUT = Word("throughput", parse_throughput)
