"""Which topics are copied, and what they are called on the target: selectors, rename rules, refused routes. Pure."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, NotFoundError
from kcli.core.names import STATE_TOPIC as STATE_TOPIC  # noqa: PLC0414 - a target that is refused, too
from kcli.core.names import is_own_topic, is_topic_name
from kcli.core.near_names import near_names
from kcli.output.progress import counted

_OF_BROKERS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
IDLE_EXCLUDE = "--exclude {} leaves out no topic: none of that name is on the source"
IDLE_SELECTOR = "-t {} selects no topic"
IDLE_RENAME = "--map-topic {} renames no topic that is selected"
_MOST_NAMED = 5
_GLOB = frozenset("*?[")


class Route(NamedTuple):
    """A topic of the source and its copy."""

    source: str
    target: str


class Rename(NamedTuple):
    """``A=B`` renames a topic; ``^regex=replacement`` renames each one it matches, with ``\\1`` for its groups."""

    pattern: re.Pattern[str] | str
    replacement: str

    def apply(self, name: str) -> str | None:
        """The new name; None where the rule does not match."""
        if isinstance(self.pattern, str):
            return self.replacement if name == self.pattern else None
        found = self.pattern.fullmatch(name)
        return None if found is None else found.expand(self.replacement)

    def __str__(self) -> str:
        return f"{self.pattern if isinstance(self.pattern, str) else self.pattern.pattern}={self.replacement}"


def parse_rename(text: str) -> Rename:
    """Parses ``A=B`` or ``^regex=replacement``; ConfigError for what is neither."""
    what = f"invalid rename rule {text!r}"
    old, equals, new = text.rpartition("=") if text.startswith("^") else text.partition("=")
    if not old or not equals or not new:
        raise ConfigError(
            what,
            why="a rule has the form SOURCE=TARGET",
            do=r"for example orders=orders-copy, or '^(.*)$=eu.\1' for all topics",
        )
    return rule(old, new, what, do=r"write A=B, or a pattern as in '^(.*)$=eu.\1'")


def rule(old: str, new: str, what: str, *, do: str) -> Rename:
    """The rule for a name, or for a ``^regex``; ConfigError (``what``, ``do``) for a regex that is invalid."""
    if not old.startswith("^"):
        return Rename(old, new)
    try:
        pattern = re.compile(old)
        re.sub(f"{old}|", new, "")  # checks the group references of the replacement
    except (re.error, IndexError) as error:
        raise ConfigError(what, why=str(error), do=do) from None
    return Rename(pattern, new)


def is_pattern(selector: str) -> bool:
    """Whether the selector is a glob or a regex, not a name."""
    return selector.startswith("^") or bool(_GLOB.intersection(selector))


def pattern(selector: str, what: str) -> Callable[[str], object] | None:
    """What a glob (``*?[``) or a ``^regex``, which matches all of a name, selects; None for a selector that is a name.

    ConfigError for an invalid regex; ``what`` it selects is named in it.
    """
    if selector.startswith("^"):
        try:
            return re.compile(selector).fullmatch
        except re.error as error:
            raise ConfigError(
                f"invalid regular expression {selector!r}",
                why=str(error),
                do=f"correct it; {what} that do not begin with ^ are names or shell patterns",
            ) from None
    return partial(_matches_glob, selector) if _GLOB.intersection(selector) else None


def select_topics(
    available: Iterable[str],
    selectors: Sequence[str],
    copies: Collection[str] = (),
    excludes: Sequence[str] = (),
) -> list[str]:
    """The topics that a selector names, sorted: a name, a glob (``*?[``) or a ``^regex`` that matches all of the name.

    Patterns never select the topics that brokers and kcli keep for themselves, nor ``copies``, nor what ``excludes``,
    selectors too, name. NotFoundError for a name that is not available; ConfigError for an internal topic that is named,
    or an invalid regex.
    """
    there = frozenset(available)
    names = sorted(there)
    out = {name for one in excludes for name in _matching(names, one)}
    open_to_patterns = [
        name for name in names if not is_internal(name) and name not in copies and name not in out
    ]
    chosen: set[str] = set()
    for selector in selectors:
        matches = pattern(selector, "topics")
        if matches is not None:
            chosen.update(name for name in open_to_patterns if matches(name))
        elif is_internal(selector):
            raise ConfigError(
                f"topic {selector} is not copied",
                why="it belongs to the brokers or to kcli, and means nothing in another cluster",
                do="--sync-groups copies committed offsets" if selector == "__consumer_offsets" else "",
            )
        elif selector in there:
            chosen.add(selector)
        else:
            near = near_names(selector, names, 3)
            raise NotFoundError(
                f"topic {selector} does not exist on the source cluster",
                why="that cluster has no topic of that name",
                do=f"did you mean {', '.join(near)}?" if near else "check -t and --from",
            )
    return sorted(chosen)


def none_selected(available: int) -> NotFoundError:
    """The error where patterns select none of so many topics: nothing is copied, or proved."""
    return NotFoundError(
        "no topic is selected",
        why=f"none of the {counted(available, 'topic')} of the source that this client may describe matches",
        do="check -t, --exclude, and the permission to describe topics",
    )


def idle_excludes(available: Iterable[str], excludes: Sequence[str]) -> list[str]:
    """Those of ``excludes`` that leave out no topic."""
    names = [name for name in available if not is_internal(name)]
    return [one for one in dict.fromkeys(excludes) if not any(_matching(names, one))]


def idle_selectors(topics: Iterable[str], selectors: Sequence[str]) -> list[str]:
    """The patterns of ``selectors`` that name none of the topics which are copied; a name is an error."""
    names = list(topics)
    patterns = [one for one in dict.fromkeys(selectors) if is_pattern(one)]
    return [one for one in patterns if not any(_matching(names, one))]


def idle_renames(topics: Iterable[str], renames: Sequence[Rename]) -> list[str]:
    """The rules that rename none of the topics: no name matches, or a rule before it does."""
    used = {next((rule for rule in renames if rule.apply(name) is not None), None) for name in topics}
    return [str(rule) for rule in dict.fromkeys(renames) if rule not in used]


def _matching(names: Iterable[str], selector: str) -> Iterator[str]:
    matches = pattern(selector, "topics")
    return (name for name in names if (name == selector if matches is None else matches(name)))


def parse_renames(texts: Iterable[str], topics: Sequence[str]) -> list[Rename]:
    """The rules, where all topics are known; ConfigError for one that renames none of them."""
    rules = [parse_rename(text) for text in texts]
    for text in idle_renames(topics, rules):
        rule = next(one for one in rules if str(one) == text)
        matching = [topic for topic in topics if rule.apply(topic) is not None]
        some = ", ".join((matching or topics)[:_MOST_NAMED]) + (
            " …" if len(matching or topics) > _MOST_NAMED else ""
        )
        raise ConfigError(
            f"--map-topic {text} renames no topic",
            why=f"a rule before it renames {some}" if matching else f"the topics are {some}",
            do="check the name, or leave the rule out",
        )
    return rules


def plan_routes(topics: Iterable[str], renames: Sequence[Rename], *, same_cluster: bool) -> list[Route]:
    """The route of each topic: the first rule that matches renames it, without one it keeps its name.

    ConfigError where a target is not a legal name, is the topic itself, or is the target of two topics; or where a
    target is also a source in the same cluster.
    """
    routes = [Route(name, renamed(name, renames)) for name in topics]
    sources: dict[str, str] = {}
    for source, target in routes:
        if not is_topic_name(target):
            raise ConfigError(
                f"topic {source} cannot be copied to {target!r}",
                why="a topic name is 1 to 249 letters, digits, dots, underscores or hyphens",
                do="check the --map-topic rules",
            )
        if is_internal(target):
            raise ConfigError(
                f"topic {source} cannot be copied to {target}",
                why="that is an internal topic",
                do=f"choose another name with --map-topic {source}=NAME",
            )
        if target in sources:
            raise ConfigError(
                f"topics {sources[target]} and {source} would both be copied to {target}",
                why="each topic needs a target of its own: offsets could not be translated otherwise",
                do="give one of them another name with --map-topic",
            )
        sources[target] = source
    if same_cluster:
        copied = {route.source for route in routes}
        for source, target in routes:
            if target in copied:
                raise ConfigError(
                    f"topic {source} would be copied to {target}, which is copied itself",
                    why="source and target are the same cluster, so the copy would never end",
                    do=f"name another target: --map-topic {source}={source}-copy",
                )
    return routes


def _matches_glob(glob: str, name: str) -> bool:
    return fnmatchcase(name, glob)


def is_internal(name: str) -> bool:
    """Whether brokers or kcli keep their own state in the topic."""
    return name in _OF_BROKERS or is_own_topic(name)


def selects(selectors: Iterable[str], name: str) -> bool:
    """Whether one of the selectors means the topic, whatever other topics there are; patterns are valid."""
    return any(
        re.fullmatch(one, name) is not None
        if one.startswith("^")
        else fnmatchcase(name, one)
        if _GLOB.intersection(one)
        else name == one
        for one in selectors
    )


def renamed(name: str, renames: Sequence[Rename]) -> str:
    """The name of its copy: by the first rule that matches, else its own."""
    return next((found for rule in renames if (found := rule.apply(name)) is not None), name)
