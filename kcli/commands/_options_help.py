"""``kcli help options``: every client option with its key, default, meaning, and the spelling of librdkafka."""

import dataclasses
import textwrap

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
    "RegistryOptions": "Schema registry, for -s",
}


def _option_lines(key: str, field: "dataclasses.Field[object]") -> list[str]:
    default = default_text(field) or "unset"
    details = [field.metadata["doc"]]
    if field.metadata["choices"]:
        details.append("one of " + ", ".join(filter(None, field.metadata["choices"])))
    if aliases := [alias for alias in field.metadata["aliases"] if alias != key]:
        details.append("also " + ", ".join(aliases))
    text = textwrap.wrap("; ".join(details), 74, break_on_hyphens=False)
    return [f"  {key} = {default}", *(f"      {line}" for line in text)]
