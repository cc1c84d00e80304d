"""kcat's ``kcat.conf``: lines ``property=value`` of librdkafka, some with a prefix ``topic.``. Pure."""

from kcli.profiles.importing.found import Found
from kcli.profiles.java_sasl import translated
from kcli.profiles.pairs import Pair
from kcli.profiles.properties import librdkafka_lines


def read_kcat(text: str, path: str, name: str) -> list[Found]:
    """The file is one cluster."""
    pairs, dropped = [], []
    for number, key, value in librdkafka_lines(text):
        if not key:
            dropped.append((f"{path}:{number}", "it is not property=value"))
        else:
            pairs.append(Pair(key.removeprefix("topic."), value, f"{path}:{number}"))
    found = translated(pairs, lambda error: dropped.append((error.what, error.why)))
    return [Found(name, [(pair.key, pair.text) for pair in found], dropped)]
