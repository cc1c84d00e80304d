"""What ``kcli profile list`` and ``kcli profile show`` do."""

from collections.abc import Iterable, Sequence
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.commands.shared.global_values import environment
from kcli.commands.shared.option_rows import is_structured, print_values, value_row
from kcli.commands.shared.row_output import print_rows
from kcli.core.errors import ConfigError
from kcli.output.tables import Column
from kcli.profiles.config_file import ConfigFile
from kcli.profiles.profile import Pair, Profile, raise_error
from kcli.profiles.proxy_login import split_login
from kcli.profiles.resolve import HIDDEN
from kcli.profiles.secret_keys import holds_secret, is_secret_key, secret_source, source_key
from kcli.profiles.sources import SourceFiles, is_sandbox, no_profile, sandbox_profile
from kcli.sandbox.discovery import options_of

COLUMNS = (
    Column("name", values="string", meaning="Name of the profile."),
    Column("current", values="boolean", meaning="Whether it is in use without --profile."),
    Column("bootstrap_servers", "prose", meaning="Brokers to start from; null where it names none."),
    Column("security_protocol", meaning="security.protocol; null where it is not set."),
    Column("sasl_mechanism", meaning="sasl.mechanism; null where it is not set."),
    Column("sasl_username", meaning="sasl.username; null where it is not set."),
    Column("read_only", values="boolean", meaning="Whether it refuses what changes the cluster."),
    Column("protected", values="boolean", meaning="Whether changes need --confirm."),
    Column("color", wide=True, meaning="Colour of plans and prompts."),
    Column("cluster_id", wide=True, meaning="The only cluster that it accepts."),
    Column("description", "prose", wide=True, meaning="Its description."),
    Column("origin", "prose", wide=True, values="string", meaning="The file that has it."),
)
_URL = "schema.registry.url"


def list_all(inv: Invocation) -> int:
    """Lists the profiles of the user, then those of the system."""
    configs = SourceFiles().configs(raise_error)
    found = profiles(configs)
    print_profiles(inv, found.values())
    if not found:
        inv.talk.note("there are no profiles; add one: `kcli profile add NAME -b HOST:PORT`")
    return 0


def print_profiles(inv: Invocation, found: Iterable[Profile]) -> None:
    """The profiles as a list."""
    current = current_name(inv, SourceFiles().configs(raise_error))
    rows = (profile_row(one, current=one.name == current) for one in found)
    print_rows(inv, "ProfileList", COLUMNS, rows, item="Profile")


def profiles(configs: Sequence[ConfigFile]) -> dict[str, Profile]:
    """All profiles by name; the user's own one where both files have it. Their keys are not checked."""
    found: dict[str, Profile] = {}
    for config in configs:
        for name in config.names:
            found.setdefault(name, config.profile(name, lambda _error: None))
    return found


def current_name(inv: Invocation, configs: Sequence[ConfigFile]) -> str:
    """The profile that commands use, empty without one."""
    chosen = inv.values.profile or environment("profile") or ""
    return chosen or next((config.current for config in configs if config.current), "")


def profile_row(profile: Profile, *, current: bool) -> dict[str, Any]:
    """The row of a list."""
    brokers = profile.text("bootstrap.servers") or profile.text("metadata.broker.list")
    return {
        "name": profile.name,
        "current": current,
        "bootstrap_servers": brokers or None,
        "security_protocol": profile.text("security.protocol") or None,
        "sasl_mechanism": profile.text("sasl.mechanism") or profile.text("sasl.mechanisms") or None,
        "sasl_username": profile.text("sasl.username") or None,
        "read_only": profile.read_only,
        "protected": profile.protected,
        "color": profile.color or None,
        "cluster_id": profile.text("cluster.id") or None,
        "description": profile.description or None,
        "origin": profile.origin,
    }


def show(inv: Invocation, name: str | None) -> int:
    """The options of a profile, secrets hidden."""
    configs = SourceFiles().configs(raise_error)
    known = profiles(configs)
    wanted = name or current_name(inv, configs)
    if not wanted:
        raise ConfigError(
            "no profile is in use",
            why="neither --profile, KCLI_PROFILE nor current names one",
            do="`kcli profile show NAME`; `kcli profile list` lists them"
            if known
            else "`kcli profile add NAME -b HOST:PORT` makes one",
        )
    if is_sandbox(wanted):
        known[wanted] = sandbox_profile(wanted, options_of)
    if wanted not in known:
        raise no_profile(wanted, list(known))
    structured = is_structured(inv)
    print_values(inv, _rows(known[wanted], structured=structured), origin=True, profile=wanted)
    return 0


def _rows(profile: Profile, *, structured: bool) -> list[dict[str, Any]]:
    rows = [_row(pair, structured=structured) for pair in split_login(profile.pairs)]
    for key in ("color", "read_only", "protected", "record_format", "description"):
        value = getattr(profile, key)
        if value:
            origin = profile.mark_origins.get(key, profile.origin)
            rows.append(value_row(key, value, value, False, origin, structured=structured))
    return rows


def _row(pair: Pair, *, structured: bool) -> dict[str, Any]:
    key, text, origin = pair
    named = source_key(key)
    try:
        source = secret_source(key, text, origin)
    except ConfigError:
        source = None
    if source is not None:
        return value_row(named[0] if named else key, str(source), source, True, origin, structured=structured)
    secret = holds_secret(key, text) or is_secret_key(key)
    if key.startswith(_URL):
        from kcli.serde.registry.addresses import without_secrets  # rare: a registry is configured

        text = without_secrets(text)
    shown = HIDDEN if secret else text
    return value_row(key, shown, text, secret, origin, structured=structured)
