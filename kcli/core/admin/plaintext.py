"""Whether secrets may be sent or received: over a connection with encryption, or where plaintext is allowed. Pure."""

from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions


def refuse_plaintext(options: ClientOptions, what: str, why: str) -> None:
    """ConfigError unless connections with ``options`` are encrypted, or need not be, as those within this process.

    ``what`` says ``{protocol}``.
    """
    if options.security_protocol.endswith("SSL") or options.allow_plaintext_secrets or options.log_dirs:
        return
    raise ConfigError(
        what.format(protocol=options.security_protocol),
        why=why,
        do="use security.protocol=SASL_SSL or SSL, or allow it with --allow-plaintext-secrets",
    )
