"""``kcli help profiles``: where options come from, and where secrets can be."""

_TEXT = """\
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

Secrets, here of sasl.password
  sasl.password_file           a file with mode 0600
  sasl.password_command        a program that prints it; no shell
  sasl.password = keyring:SERVICE/USER
  KCLI_X_SASL_PASSWORD         also KCLI_X_SASL_PASSWORD_FILE, _COMMAND
  none of them                 asked for at a terminal

`kcli profile add` and `import` write the file, `kcli config show --origin`
shows what applies, `kcli config check` everything that is wrong."""


def profiles_text() -> str:
    """The text of the topic."""
    return _TEXT
