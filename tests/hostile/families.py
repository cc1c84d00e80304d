"""All targets there are. Not a test."""

from collections.abc import Callable

from tests.hostile import batches, frames, groups, logdirs, responses, sasl, serdes
from tests.hostile.target import Family, Target

_FAMILIES: dict[str, Callable[[], Family]] = {
    "responses": responses.family,
    "batches": batches.family,
    "groups": groups.family,
    "frames": frames.family,
    "logdirs": logdirs.family,
    "sasl": sasl.family,
    "serdes": serdes.family,
}
NAMES = tuple(_FAMILIES)


def families(names: tuple[str, ...] = NAMES) -> list[Family]:
    """The families with these names."""
    return [_FAMILIES[name]() for name in names]


def target_named(name: str) -> tuple[Family, Target]:
    """For a file of the corpus; KeyError if there is none."""
    found = {target.name: (family, target) for family in families() for target in family.targets}
    return found[name]
