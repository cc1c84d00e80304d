"""YAML as other tools write it: plain values only, by the rules of ``kcli.files.yaml_nodes``.

The text is bounded before it comes here.
"""

from typing import Any

from kcli.core.errors import ConfigError
from kcli.files.yaml_nodes import YamlError, yaml_documents


def load_yaml(text: str, path: str) -> dict[str, Any]:
    """The mapping of the document; ConfigError for anything else."""
    import yaml  # on use

    try:
        for _ in yaml_documents(text, []):  # of a key twice, the last one counts
            pass
        found = yaml.safe_load(text)
    except YamlError as error:
        raise _refused(path, f"line {error.line}: {error.why}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise _refused(path, getattr(error, "problem", None) or type(error).__name__) from None
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
