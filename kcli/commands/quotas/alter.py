"""``kcli quotas alter``: change quotas."""

import ipaddress
from collections.abc import Mapping, Sequence

from kcli.commands.quotas._entity import entity_options, entity_parts
from kcli.commands.shared.changing import run_change
from kcli.commands.shared.command import command
from kcli.commands.shared.context import Invocation, pass_invocation
from kcli.commands.shared.options import option
from kcli.commands.shared.usage import nearest, usage
from kcli.core.admin.quotas import IP, QuotaEntity
from kcli.flows.quotas.values import BYTES, KEYS_OF_CLIENTS, KEYS_OF_IPS, UNITS, parse_bytes, parse_plain


@command(
    "alter",
    examples=(
        ("kcli quotas alter --user alice --set producer_byte_rate=10MB/s", "after a plan and a question"),
        (
            "kcli quotas alter --user alice --client-id etl --set consumer_byte_rate=1MiB/s --yes",
            "in a script",
        ),
        ("kcli quotas alter --user '<default>' --set request_percentage=50 --dry-run", "only show the plan"),
        ("kcli quotas alter --client-id etl --unset producer_byte_rate", "remove a limit"),
        ("kcli quotas alter --ip 192.0.2.7 --set connection_creation_rate=10", "connections per second"),
    ),
)
@entity_options
@option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="set a quota; repeatable")
@option("--unset", "unsets", multiple=True, metavar="KEY", help="remove a quota; repeatable")
@pass_invocation
def alter_quotas(
    inv: Invocation,
    user: str | None,
    of_client_id: str | None,
    ip: str | None,
    sets: tuple[str, ...],
    unsets: tuple[str, ...],
) -> int:
    """Change quotas: after a plan and a question, and with a check of the values afterwards.

    Keys of users and client ids are producer_byte_rate and consumer_byte_rate (bytes per second, as 10MB/s or
    1MiB/s), request_percentage (of the time of one thread) and controller_mutation_rate (partitions created or
    deleted per second); that of IP addresses is connection_creation_rate (per second).

    Keys that are not named stay as they are. Rates are per broker. --user and --client-id together are quotas for
    that user's clients with this id. `<default>` is the default, `\\<default>` one that is called so.
    """
    from kcli.flows.quotas.alter import QuotaAlteration  # clients are loaded when the command runs

    parts = entity_parts("alter", user, of_client_id, ip)
    _check_entity(parts)
    keys = KEYS_OF_IPS if IP in parts else KEYS_OF_CLIENTS
    changes = _changes(sets, unsets, keys)
    return run_change(
        inv,
        QuotaAlteration({QuotaEntity.of(parts.items()): changes}, lambda key: check_key(key, keys)),
    )


def _check_entity(parts: Mapping[str, str | None]) -> None:
    if not parts:
        raise usage(
            "quotas alter: missing option --user, --client-id or --ip",
            why="a quota is for a user, for clients with an id, or for an IP address",
            do="add --user alice, for example; --user '<default>' is for all users without quotas of their own",
        )
    address = parts.get(IP)
    if address is not None:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise usage(
                f"quotas alter: --ip {address} is not an IP address",
                why="brokers limit the connections from single addresses, not from names or ranges",
                do="write --ip 192.0.2.7, for example, or --ip '<default>' for all other addresses",
            ) from None


def _changes(sets: Sequence[str], unsets: Sequence[str], keys: Sequence[str]) -> dict[str, float | None]:
    """Key → new value, None for one to be removed. Removed keys are checked later: brokers may have others."""
    found: dict[str, float | None] = {}
    for name, text in (*(("--set", text) for text in sets), *(("--unset", text) for text in unsets)):
        key, sign, value = map(str.strip, text.partition("="))
        if not key or bool(sign) != (name == "--set"):
            raise usage(
                f"quotas alter: {name} {text} is not {'KEY=VALUE' if name == '--set' else 'a key'}",
                why="there is no key" if not key else "--unset takes a key only" if sign else "there is no =",
                do=f"write --set {keys[0]}={_EXAMPLES[UNITS[keys[0]]]} or --unset {keys[0]}, for example",
            )
        if key in found:
            raise usage(
                f"quotas alter: {key} is changed twice",
                why="a key can be changed once at a time",
                do="name it once",
            )
        if name == "--set":
            check_key(key, keys)
        found[key] = _value(key, value) if name == "--set" else None
    if not found:
        raise usage(
            "quotas alter: nothing to change",
            why="neither --set nor --unset was given",
            do=f"write --set {keys[0]}={_EXAMPLES[UNITS[keys[0]]]}, for example",
        )
    return found


_EXAMPLES = {BYTES: "10MB/s"} | dict.fromkeys((unit for unit in UNITS.values() if unit != BYTES), "10")


def check_key(key: str, keys: Sequence[str]) -> None:
    """Usage error for a key that entities of the kind do not have."""
    if key in keys:
        return
    near = nearest(key, keys)
    of = "an IP address" if keys is KEYS_OF_IPS else "a user or client id"
    elsewhere = "--user or --client-id" if keys is KEYS_OF_IPS else "--ip"
    raise usage(
        f"quotas alter: {of} has no quota {key}",
        why=f"{key} is a quota of {'users and client ids' if keys is KEYS_OF_IPS else 'IP addresses'}"
        if key in UNITS
        else f"its {'keys are' if len(keys) > 1 else 'only key is'} {', '.join(keys)}",
        do=f"use it with {elsewhere}"
        if key in UNITS
        else f"did you mean {near}?"
        if near
        else "`kcli quotas alter --help` explains the keys",
    )


def _value(key: str, text: str) -> float:
    try:
        in_bytes = UNITS[key] == BYTES
        value = parse_bytes(text) if in_bytes else parse_plain(text, UNITS[key])
        if value <= 0:
            raise ValueError("a quota must be more than 0; --unset removes it")
    except ValueError as error:
        raise usage(
            f"quotas alter: --set {key}={text} is not valid",
            why=str(error),
            do=f"write --set {key}={_EXAMPLES[UNITS[key]]}, for example",
        ) from None
    return value
