r"""kcat's ``kcat.conf``: lines ``property=value`` of librdkafka. Pure.

Follows ``read_conf_file`` of kcat.c: no escapes but ``\:`` and ``\=``, comments with #, a prefix ``topic.``.
"""

from kcli.profiles.importing.found import Found
from kcli.profiles.java_sasl import translated
from kcli.profiles.pairs import Pair


def read_kcat(text: str, path: str, name: str) -> list[Found]:
    """The file is one cluster."""
    pairs, dropped = [], []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip().replace("\\:", ":").replace("\\=", "=")
        if not line or line.startswith("#"):
            continue
        key, sign, value = line.partition("=")
        if not sign or not key:
            dropped.append((f"{path}:{number}", "it is not property=value"))
        else:
            pairs.append(Pair(key.removeprefix("topic."), value, f"{path}:{number}"))
    found = translated(pairs, lambda error: dropped.append((error.what, error.why)))
    return [Found(name, [(pair.key, pair.text) for pair in found], dropped)]
