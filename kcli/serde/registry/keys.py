"""The configuration keys of the registry: its options are loaded only when used. Pure."""

PREFIXES = ("schema.registry.", "basic.auth.", "bearer.auth.")


def is_registry_key(key: str) -> bool:
    """Whether ``key`` is a key of the registry, even if misspelled."""
    return key.startswith(PREFIXES)
