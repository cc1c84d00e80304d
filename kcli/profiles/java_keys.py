"""The keys by which Java clients configure SASL: ``java_sasl.py``, which few starts need, translates them. Pure."""

from kcli.profiles.secret_keys import JAAS

JAVA_SASL_KEYS = frozenset((
    JAAS, "sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class",
))  # fmt: skip
