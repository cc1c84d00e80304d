"""The topics that a command reads: names and patterns as given, and which of them exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kcli.commands.shared.params import check_topic_name
from kcli.commands.shared.usage import usage
from kcli.core.cluster.metadata import OR_HIDDEN, topic_refused, unknown_topic
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import KcliError, NotFoundError

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer
    from kcli.core.share.consumer import ShareConsumer

    Reader = Consumer | ShareConsumer


class Topics:
    """Names and patterns as given: regular expressions begin with ``^``, and shell patterns have ``*``, ``?`` or ``[``,
    which no name has. Patterns match internal topics only if ``exclude.internal.topics`` is false. ``leave_out``: names
    that do not exist are left out, if there are others.
    """

    def __init__(self, given: Sequence[str], command: str, *, leave_out: bool = False) -> None:
        self._left_out = (TOPIC_AUTHORIZATION_FAILED, *([UNKNOWN_TOPIC_OR_PARTITION] if leave_out else ()))
        words = {word: glob_regex(word) if re.search(_GLOB, word) else word for word in given}
        self.names = [name for name in words.values() if not name.startswith("^")]
        self._asked = [word for word, name in words.items() if name.startswith("^")]
        self.patterns = [_pattern(words[word], command) for word in self._asked]
        for name in self.names:
            check_topic_name(name, command)

    @property
    def several(self) -> bool:
        """Whether more than one topic may be read."""
        return len(self.names) > 1 or bool(self.patterns)

    def existing(self, consumer: Reader, timeout: float, failed: Callable[[KcliError], object]) -> list[str]:
        """The topics that exist; NotFoundError for a name that does not, or patterns without a match.

        Topics that this client may not see are reported to ``failed`` once, and left out, if there are others.
        """
        self._check_names(consumer, timeout, failed)
        if not self.patterns:
            return self.names
        cluster = consumer.cluster
        cluster.all_topics(cluster.deadline(timeout))
        names = [*self.names, *self.matching(consumer)]
        if not names:
            error = NotFoundError(
                f"no topic matches {', '.join(self._asked)}",
                why=f"the cluster has no topic with such a name, apart from internal ones, {OR_HIDDEN}",
                do="`kcli topics list` lists the topics",
            )
            raise _as_found(consumer, error)
        return list(dict.fromkeys(names))

    def matching(self, consumer: Reader) -> list[str]:
        """The known topics that match a pattern."""
        hidden = consumer.options.exclude_internal_topics
        return [
            name
            for name, topic in sorted(consumer.cluster.view.topics.items())
            if topic.partitions
            and not (hidden and topic.internal)
            and any(p.match(name) for p in self.patterns)
        ]

    def subscription(self) -> Sequence[str] | re.Pattern[str]:
        """What a member of a group subscribes to."""
        if not self.patterns:
            return self.names
        exactly = [f"{re.escape(name)}$" for name in self.names]
        return re.compile("|".join(f"(?:{one})" for one in (*(p.pattern for p in self.patterns), *exactly)))

    def _check_names(self, consumer: Reader, timeout: float, failed: Callable[[KcliError], object]) -> None:
        errors = self._leave_out(consumer, timeout)
        nothing_left = bool(errors) and not (self.names or self.patterns)
        try:
            consumer.partitions(self.names, timeout)
        except NotFoundError as error:
            errors.insert(0, self._with_nearest(consumer, timeout, error))
            nothing_left = True
        last = (
            errors.pop() if nothing_left else None
        )  # that of a missing permission determines the exit status
        for each in errors:
            failed(each)
        if last is not None:
            raise last

    def _with_nearest(self, consumer: Reader, timeout: float, error: NotFoundError) -> KcliError:
        cluster = consumer.cluster
        known = cluster.all_topics(cluster.deadline(timeout)).topics
        missing = next((name for name in self.names if name not in known), None)
        return error if missing is None else _as_found(consumer, unknown_topic(missing, known))

    def _leave_out(self, consumer: Reader, timeout: float) -> list[KcliError]:
        """Removes the names that this client may not see, and those that do not exist, if they may be left out; their
        errors.
        """
        cluster = consumer.cluster
        deadline = cluster.deadline(timeout)
        view = cluster.ensure_topics(self.names, deadline)
        codes = {
            name: view.topics[name].error for name in self.names if view.topics[name].error in self._left_out
        }
        if not codes:
            return []
        cluster.topics.difference_update(codes)
        self.names = [name for name in self.names if name not in codes]
        known = cluster.all_topics(deadline).topics
        return [
            topic_refused(name, code, known)
            if code == TOPIC_AUTHORIZATION_FAILED
            else unknown_topic(name, known)
            for name, code in codes.items()
        ]


def _as_found(consumer: Reader, error: NotFoundError) -> NotFoundError:
    """The error, where log directories are read: no cluster is asked, and no broker can list its topics."""
    if consumer.cluster.directories is not None:
        error.why = "the log directories have no folder of a partition of it"
        if not error.do.startswith("did you mean"):
            error.do = (
                "`kcli segments list PATH` lists what they have; name those of the other brokers as well"
            )
    return error


_GLOB = r"^[^\^]*[*?\[]"


def glob_regex(glob: str) -> str:
    """``orders-*`` → ``^orders-.*$``: a regular expression that brokers read as well (RE2). ``[!ab]`` is ``[^ab]``; a
    bracket that is not closed, or empty, is a character.
    """
    found = ""
    for wild, negated, inside, other in re.findall(r"([*?])|\[([!^]?)([^\]]+)\]|(.)", glob, re.DOTALL):
        if inside:
            found += f"[{'^' if negated else ''}{inside.replace('[', chr(92) + '[')}]"
        else:
            found += {"*": ".*", "?": "."}.get(wild) or (other if other in "-_" else re.escape(other))
    return f"^{found}$"


def _pattern(text: str, command: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise usage(
            f"kcli {command}: {text!r} is not a regular expression",
            why=str(error),
            do="a topic that begins with ^ is a regular expression, as in '^orders-.*'",
        ) from None
