"""YAML as other tools write it: plain values only, without aliases and tags, which a bomb is made of.

The text is bounded before it comes here.
"""

from typing import Any

from kcli.core.errors import ConfigError

_DEEPEST = 30


def load_yaml(text: str, path: str) -> dict[str, Any]:
    """The mapping of the document; ConfigError for anything else."""
    import yaml  # on use

    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise _refused(path, f"line {event.start_mark.line + 1} has an alias (*{event.anchor})")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _DEEPEST:
                raise _refused(path, f"it is nested more than {_DEEPEST} levels deep")
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        why = getattr(error, "problem", None) or type(error).__name__
        raise _refused(path, f"{where}{why}") from None
    if not isinstance(found, dict):
        raise _refused(path, "it is no mapping")
    return {str(key): _with_text_keys(inner) for key, inner in found.items()}


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _with_text_keys(inner) for key, inner in value.items()}
    return [_with_text_keys(inner) for inner in value] if isinstance(value, list) else value


def _refused(path: str, why: str) -> ConfigError:
    return ConfigError(
        f"{path} is not read",
        why=why,
        do="correct it, or add the profile with `kcli profile add NAME -b HOST:PORT`",
    )
