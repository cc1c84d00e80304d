"""Which groups a mirror syncs: names, globs and regular expressions, as for topics. Pure."""

from collections.abc import Callable, Iterable, Sequence

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.names import is_own_group, own_group_note
from kcli.flows.mirror.topics.routes import pattern

_Matches = Callable[[str], object]


class GroupSelectors(NamedTuple):
    """``names`` are groups, ``patterns`` by their text what selects groups, but for those that ``excluded`` matches."""

    names: Sequence[str]
    patterns: dict[str, _Matches]
    excluded: Sequence[_Matches] = ()

    def selected(self, selector: str, groups: Iterable[str]) -> list[str]:
        """Those of ``groups`` that one of the patterns selects; never kcli's own."""
        matches = self.patterns[selector]
        return [
            group
            for group in others(groups)
            if matches(group) and not any(out(group) for out in self.excluded)
        ]


def others(groups: Iterable[str]) -> list[str]:
    """The groups without kcli's own."""
    return [group for group in groups if not is_own_group(group)]


def group_selectors(selectors: Iterable[str], excluded: Iterable[str] = ()) -> GroupSelectors:
    """The selectors of ``--sync-groups`` and ``--exclude-groups``.

    ConfigError for an invalid regex, and for a group of kcli's own that is named.
    """
    found = {one: pattern(one, "groups") for one in selectors}
    names = [one for one, matches in found.items() if matches is None]
    for name in names:
        if note := own_group_note(name):
            raise ConfigError(
                f"kcli mirror run: --sync-groups {name}", why=f"it is {note}", do="leave it out"
            )
    return GroupSelectors(
        names,
        {one: matches for one, matches in found.items() if matches is not None},
        [pattern(one, "groups") or one.__eq__ for one in excluded],
    )
