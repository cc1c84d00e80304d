"""What ``-s`` of ``consume`` and ``produce`` means: serdes, with the registry's options. Imported where it is used.

Serdes are opened before the first contact, so that mistakes which need no broker are reported first. Only records
that are written are decoded, once each, and counted when that fails; filters decode what they read themselves
(``flows/filters/decoded.py``). No command loads any of this without ``-s``.
"""

from collections.abc import Sequence
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.usage import usage
from kcli.serde.names import INTERNAL, SerdeSpec, SerdeSpecs, parse_serdes
from kcli.serde.opening import Serdes, open_serdes

_INTERNAL_TOPICS = {f"__{name}": name for name in INTERNAL}


def serdes_to_read(inv: Invocation, flags: dict[str, Any], topics: Sequence[str]) -> Serdes | None:
    """For ``consume``; None where bytes stay as they are. A topic that brokers keep is decoded by itself."""
    kind = inv.values.output
    if not flags["serdes"]:
        specs = _of_topic(topics) if not (flags["raw"] or kind in ("raw", "hex")) else SerdeSpecs()
        if specs.value is not None:
            inv.talk.detail(f"{topics[0]}: decoded as {specs.value}; --raw, or -s, shows something else")
        return _opened(inv, specs, flags) if specs else None
    if kind in ("raw", "hex") and flags["where"] is None and not flags["grep"]:
        raise usage(
            f"kcli consume: -s with -o {kind}",
            why="that format shows bytes as they are",
            do="leave one of them out; with --where or --grep the two go together",
        )
    return _opened(inv, parse_serdes(flags["serdes"]), flags)


def serdes_to_write(inv: Invocation, flags: dict[str, Any]) -> tuple[SerdeSpecs, Serdes]:
    """For ``produce``: what was asked for, and the serdes."""
    specs = parse_serdes(flags["serdes"], writing=True)
    meant = SerdeSpecs(_only_looking(specs.key), _only_looking(specs.value)) if inv.dry_run else specs
    return specs, _opened(inv, meant, flags, writing=True)


def prepare_schemas(inv: Invocation, serdes: Serdes, specs: SerdeSpecs, topic: str) -> None:
    """For ``produce``: finds the schemas, before any input is read. With ``--dry-run`` nothing is registered."""
    from kcli.serde.errors import SchemaNotFoundError

    registers = any(spec is not None and _registers(spec) for spec in (specs.key, specs.value))
    with inv.first_contact("the schema registry"):
        try:
            serdes.prepare(topic)
        except SchemaNotFoundError as error:
            if not (inv.dry_run and registers):
                raise
            inv.talk.note(f"a schema would be registered: {error.what}")


def _registers(spec: SerdeSpec) -> bool:
    return spec.arguments.get("register") == "true"


def _only_looking(spec: SerdeSpec | None) -> SerdeSpec | None:
    """The same without registering anything."""
    from kcli.serde.schema_serde import WOULD

    if spec is None or not _registers(spec):
        return spec
    return SerdeSpec(spec.name, {"framing": "confluent", **spec.arguments, "register": WOULD})


def _of_topic(topics: Sequence[str]) -> SerdeSpecs:
    name = _INTERNAL_TOPICS.get(topics[0]) if len(topics) == 1 else None
    return SerdeSpecs() if name is None else SerdeSpecs(SerdeSpec(name), SerdeSpec(name))


def _opened(inv: Invocation, specs: SerdeSpecs, flags: dict[str, Any], *, writing: bool = False) -> Serdes:
    """No network use yet: ConfigError for what can be known to be wrong."""
    from kcli.serde.registry.options import RegistryOptions

    return open_serdes(
        specs,
        RegistryOptions.build(inv.resolved.registry),
        writing=writing,
        allow_plaintext_secrets=flags["allow_plaintext_secrets"],
    )
