"""The serdes of ``-s`` of ``consume`` and ``produce``, with the registry's options. Loaded only with ``-s``.

Serdes are opened before the first contact, so that errors that need no broker are reported first. Only records that are
written are decoded, once each, and counted when that fails; filters decode what they read (``flows/filters/decoded.py``).
"""

from collections.abc import Sequence

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.serde.errors import SchemaNotFoundError
from kcli.serde.names import INTERNAL, SerdeSpec, SerdeSpecs, parse_serdes
from kcli.serde.opening import Serdes, open_serdes
from kcli.serde.schema_serde import WOULD

_INTERNAL_TOPICS = {f"__{name}": name for name in INTERNAL}


def serdes_to_read(
    inv: Invocation, given: Sequence[str], topics: Sequence[str], *, raw: bool, filtered: bool
) -> Serdes | None:
    """For ``consume`` with the ``given`` values of ``-s``; None if nothing is decoded. Internal topics of Kafka are
    decoded without ``-s``, unless ``raw``. ``filtered``: whether filters read the fields.
    """
    kind = inv.values.output
    if not given:
        specs = _of_topic(topics) if not (raw or kind in ("raw", "hex")) else SerdeSpecs()
        if specs.value is not None:
            inv.talk.detail(f"{topics[0]}: decoded as {specs.value}; --raw shows the bytes")
        return _opened(inv, specs) if specs else None
    if kind in ("raw", "hex") and not filtered:
        raise usage(
            f"kcli consume: -s with -o {kind}",
            why="that format shows bytes as they are",
            do="leave one of them out; with --where or --grep the two go together",
        )
    return serdes_of(inv, given)


def serdes_of(inv: Invocation, given: Sequence[str]) -> Serdes:
    """For reading: those of the ``given`` values of ``-s``."""
    return _opened(inv, parse_serdes(given))


def serdes_to_write(inv: Invocation, given: Sequence[str]) -> tuple[SerdeSpecs, Serdes]:
    """For ``produce``: the specifications as given, and the serdes."""
    specs = parse_serdes(given, writing=True)
    used = SerdeSpecs(_not_registering(specs.key), _not_registering(specs.value)) if inv.dry_run else specs
    return specs, _opened(inv, used, writing=True)


def prepare_schemas(inv: Invocation, serdes: Serdes, specs: SerdeSpecs, topic: str) -> None:
    """For ``produce``: finds the schemas, before any input is read. With ``--dry-run`` nothing is registered."""
    registers = any(spec is not None and _registers(spec) for spec in (specs.key, specs.value))
    with inv.first_contact("the schema registry"):
        try:
            serdes.prepare(topic)
        except SchemaNotFoundError as error:
            if not (inv.dry_run and registers):
                raise
            inv.talk.note(f"a schema would be registered: {error.what}")
            return
    for text in serdes.unapplied(topic):
        inv.talk.warn(text)


def _registers(spec: SerdeSpec) -> bool:
    return spec.arguments.get("register") == "true"


def _not_registering(spec: SerdeSpec | None) -> SerdeSpec | None:
    """The same serde, which registers no schema."""
    if spec is None or not _registers(spec):
        return spec
    return SerdeSpec(spec.name, {"framing": "confluent", **spec.arguments, "register": WOULD})


def _of_topic(topics: Sequence[str]) -> SerdeSpecs:
    name = _INTERNAL_TOPICS.get(topics[0]) if len(topics) == 1 else None
    return SerdeSpecs() if name is None else SerdeSpecs(SerdeSpec(name), SerdeSpec(name))


def _opened(inv: Invocation, specs: SerdeSpecs, *, writing: bool = False) -> Serdes:
    """Opens the serdes, without using the network yet; ConfigError if that is impossible."""
    return open_serdes(
        specs,
        inv.configuration.registry_options(inv.given_timeout),
        writing=writing,
        allow_plaintext_secrets=inv.resolved.values.get("allow_plaintext_secrets", False),
    )
