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
        found = _text_keys(text).get_single_data()
    except YamlError as error:
        raise _refused(path, f"line {error.line}: {error.why}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise _refused(path, getattr(error, "problem", None) or type(error).__name__) from None
    if not isinstance(found, dict):
        raise _refused(path, "it is no mapping")
    return found


def _text_keys(text: str) -> Any:
    """A loader of the text with keys as they are written: a user may be called ``on`` or ``007``."""
    import yaml  # on use

    class TextKeys(yaml.SafeLoader):  # type: ignore[misc] # it has no types
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            for key, _value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    key.tag = "tag:yaml.org,2002:str"
            return super().construct_mapping(node, deep)

    return TextKeys(text)


def _refused(path: str, why: str) -> ConfigError:
    return ConfigError(
        f"{path} is not read",
        why=why,
        do="correct it, or add the profile with `kcli profile add NAME -b HOST:PORT`",
    )
