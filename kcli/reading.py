"""``kcli.read_topic``: ``kcli.core.read_topic`` with the profiles of the command line. For programs and notebooks."""

import os
import warnings
from typing import Any

from kcli.core.consumer.topic_records import TopicRecords
from kcli.core.consumer.topic_records import read_topic as read_topic_with_options
from kcli.core.errors import ConfigError
from kcli.core.options import ConsumerOptions, given, option_names
from kcli.profiles.resolve import resolve
from kcli.profiles.secrets import SecretReader, check_private_files
from kcli.profiles.sources import SourceFiles, Sources
from kcli.sandbox.discovery import options_of


def read_topic(
    topic: str, options: ConsumerOptions | None = None, *, profile: str | None = None, **values: Any
) -> TopicRecords:
    """As ``kcli.core.read_topic``, which describes the other keywords: since, until, offsets, partitions, columns, key …

    ``profile`` names a profile (``kcli profile list``); its options, then the ``KCLI_*`` variables, are weaker than the
    keywords. Without a profile only the keywords count, so that a program does not depend on who runs it.
    """
    if profile is None:
        return read_topic_with_options(topic, options, **values)
    if options is not None:
        raise ConfigError(
            "options and profile were both given",
            why="one of them would be ignored",
            do="use keywords beside the profile",
        )
    own = {name: values.pop(name) for name in list(values) if name in option_names(ConsumerOptions)}
    return read_topic_with_options(topic, _options_of(profile, own), **values)


def _options_of(profile: str, own: dict[str, Any]) -> ConsumerOptions:
    files = SourceFiles()
    resolved = resolve(
        Sources(
            environ=os.environ,
            read_file=files.properties,
            file_state=files.states.get,
            config_files=files.configs,
            sandbox=options_of,
            profile=profile,
            profile_option="profile",
            ignores_current=True,
            user=os.getuid(),
        ),
        need_broker="bootstrap_servers" not in own,
    )
    for text in (*resolved.warnings, *check_private_files(resolved)):
        _warn(text)
    parsed = given(ConsumerOptions, None, own)
    replaced = {name: getattr(parsed, name) for name in own}
    return resolved.revealed(SecretReader(os.environ, _warn).read).options(ConsumerOptions, replaced)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)
