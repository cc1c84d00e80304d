"""``kcli help options``: every client option with its key, default, meaning, and the spelling of librdkafka. ``kcli help
profiles``: where options come from, and where secrets can be.
"""

import textwrap

from kcli.core import classes
from kcli.core.options import ALL_OPTIONS, default_text, key_of, written_fields
from kcli.profiles.profile import MARKS
from kcli.serde.registry.options import RegistryOptions


def options_text() -> str:
    """Every client option: key, default, what it is, and librdkafka's spelling."""
    lines = ["Client options, for -X KEY=VALUE, -F FILE and KCLI_X_KEY (dots as underscores)."]
    seen: set[str] = set()
    for options in (*ALL_OPTIONS, RegistryOptions):
        lines += ["", _TITLES[options.__name__]]
        for field in written_fields(options):
            if field.name in seen:
                continue
            seen.add(field.name)
            lines += _option_lines(key_of(field.name), field)
    lines += ["", "Marks of a profile, below [profiles.NAME] or with `kcli profile add NAME -X`"]
    for mark, text in MARKS.items():
        lines += [f"  {mark}", f"      {text}"]
    return "\n".join(lines)


_TITLES = {
    "ClientOptions": "Every client",
    "ProducerOptions": "Producer",
    "ConsumerOptions": "Consumer",
    "ShareConsumerOptions": "Member of a share group",
    "RegistryOptions": "Schema registry, for -s",
}


def _option_lines(key: str, field: "classes.Field[object]") -> list[str]:
    default = default_text(field) or "unset"
    details = [field.metadata["doc"]]
    if field.metadata["choices"]:
        details.append("one of " + ", ".join(filter(None, field.metadata["choices"])))
    if aliases := [alias for alias in field.metadata["aliases"] if alias != key]:
        details.append("also " + ", ".join(aliases))
    text = textwrap.wrap("; ".join(details), 74, break_on_hyphens=False)
    return [f"  {key} = {default}", *(f"      {line}" for line in text)]


PROFILES_TEXT = """\
Where client options come from, strongest first
  -b, --client-id              options with a name of their own
  -X KEY=VALUE                 the last wins
  -F FILE                      Java's .properties, or librdkafka's key=value
  KCLI_BOOTSTRAP_SERVER        KCLI_CLIENT_ID, KCLI_X_SASL_MECHANISM: any key
  the profile in use           --profile NAME, KCLI_PROFILE, current in the file
  [defaults]                   of the file, then of /etc/kcli/config.toml
  KAFKA_BOOTSTRAP_SERVERS      KAFKA_SECURITY_PROTOCOL, KAFKA_SASL_*, KAFKA_SSL_*
  a running sandbox            where nothing else names a cluster: its brokers;
                               of a secure one also how to connect as its admin

A profile in use without bootstrap.servers is an error, also where a sandbox
runs. That a sandbox is used is said on stderr; --profile sandbox:NAME chooses
one. Where -b, -X, -F or a KCLI_ variable names brokers that are not those of
the profile, it is not used, unless --profile stands beside it: its secrets are
for its own cluster. -v says so.

The file: $XDG_CONFIG_HOME/kcli/config.toml (~/.config/kcli/config.toml)
  current = "prod"
  [defaults]
  client.id = "me"
  [profiles.prod]
  bootstrap.servers = "kafka1:9093,kafka2:9093"
  security.protocol = "SASL_SSL"
  sasl.mechanism = "SCRAM-SHA-512"
  sasl.username = "ops"
  sasl.password_command = "pass show kafka/prod"
  color = "red"           of plans and prompts
  read_only = true        refuses what changes the cluster: exit code 7
  protected = true        --yes is not enough: --confirm NAME
  cluster_id = "Qx3…"     refuses any other cluster: exit code 7
  record_format = "pretty"   how consume prints records on a terminal

Secrets, here of sasl.password
  sasl.password_file           a file with mode 0600
  sasl.password_command        a program that prints it; no shell
  sasl.password = keyring:SERVICE/USER
  KCLI_X_SASL_PASSWORD         also KCLI_X_SASL_PASSWORD_FILE, _COMMAND
  none of them                 asked for at a terminal

`kcli profile add` and `import` write the file, `kcli config show --origin`
shows what applies, `kcli config check` everything that is wrong."""
