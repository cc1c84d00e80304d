"""The samples are valid before they are mutated: what is refused is refused because of the mutation."""

from random import Random

from kcli.core.protocol import compiler
from kcli.core.protocol.schema import Struct
from tests.each import each
from tests.hostile.responses import Writer
from tests.protocol.tables import every_version
from tests.protocol.values import fill


@each("cls, version, flexible", every_version())
def test_the_second_encoder_writes_the_same_bytes(cls: type[Struct], version: int, flexible: bool) -> None:
    rng = Random(f"{cls.__name__} {version}")
    for _ in range(3):
        value = fill(cls, version, rng)
        writer = Writer(version, flexible)
        writer.struct(value)
        body, splices = compiler.encode(value, version, flexible=flexible)
        for place, buffers in reversed(splices):
            body[place:place] = b"".join(buffers)
        assert bytes(writer.out) == bytes(body)
