"""Internal topics of a Kafka Streams application: repartition topics and changelogs, by its topology or by their names.

Names alone do not say whose they are: ``app-2-counts-changelog`` may be of application ``app-2``, or of ``app`` with a
store ``2-counts``. Kafka's tool takes all that begin with ``app-``; here another group that fits the name is asked first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.groups import GroupListing
from kcli.core.admin.streams_members import Subtopology
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError

_ENDS = ("-changelog", "-repartition", "-subscription-registration-topic", "-subscription-response-topic")
_JOIN = re.compile(r".+-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic")


class InternalTopics(NamedTuple):
    """Topics that exist. ``own``: of the application. ``left``: named like internal ones of it, and not its own, with the
    reason. ``unsure``: it is not known whose they are, with the other group that fits. ``unlisted``: why there may be
    other groups that fit, where names have decided.
    """

    own: tuple[str, ...] = ()
    left: Mapping[str, str] = {}
    unsure: Mapping[str, str] = {}
    unlisted: KcliError | None = None


def may_be_internal(topic: str, application: str) -> bool:
    """Whether Kafka Streams names an internal topic of the application like this."""
    return topic.startswith(f"{application}-") and (
        topic.endswith(_ENDS) or _JOIN.fullmatch(topic) is not None
    )


def of_topology(parts: Sequence[Subtopology]) -> set[str]:
    """The topics that the application creates. A source topic that serves as a changelog, too, is none of them."""
    made = {
        topic
        for part in parts
        for topic in (*part.repartition_sinks, *part.repartition_sources, *part.changelogs)
    }
    return made.difference(*(part.sources for part in parts))


def internal_topics(
    admin: Admin, application: str, group: GroupDescription | None, inputs: Collection[str] = ()
) -> InternalTopics:
    """Those of the application whose group is ``group`` (None: it has none). ``inputs``, which were named as topics of
    others, are none, whatever they are called.
    """
    topics = [topic.name for topic in admin.list_topics()]
    parts = None if group is None else group.subtopologies
    known = None if parts is None else of_topology(parts)
    doubtful = [name for name in topics if may_be_internal(name, application) and name not in (known or ())]
    listing = admin.list_groups() if doubtful else None
    others = {} if listing is None else _others(admin, application, doubtful, listing)
    found = judged(application, set(topics).difference(inputs), known, others)
    if known is not None or listing is None or not listing.is_partial:
        return found
    return found._replace(unlisted=listing.missing[0])


def _others(
    admin: Admin, application: str, topics: Collection[str], listing: GroupListing
) -> Mapping[str, GroupDescription | KcliError]:
    """The groups whose internal topics could be named like these, other than the application's own."""
    names = [
        row.group_id
        for row in listing.groups
        if row.group_id.startswith(f"{application}-")
        and any(may_be_internal(one, row.group_id) for one in topics)
    ]
    return admin.describe_groups(names, all_types=True) if names else {}


def judged(
    application: str,
    topics: Collection[str],
    known: Collection[str] | None,
    others: Mapping[str, GroupDescription | KcliError],
) -> InternalTopics:
    """Which of the topics are internal ones of the application. ``known``: those of its topology, None without one."""
    own = [name for name in topics if name in (known or ())]
    left, unsure = {}, {}
    for name in sorted(set(topics).difference(own)):
        if not may_be_internal(name, application):
            continue
        owner, rival = _claim(name, others)
        if owner is not None:
            left[name] = f"it is in the topology of group {owner}"
        elif known is not None:
            fits = f", and group {rival} fits it, too" if rival is not None else ""
            left[name] = f"it is not in the topology of {application}{fits}"
        elif rival is not None:
            unsure[name] = rival
        else:
            own.append(name)
    return InternalTopics(tuple(sorted(own)), left, unsure)


def _claim(name: str, others: Mapping[str, GroupDescription | KcliError]) -> tuple[str | None, str | None]:
    """The group whose topology has the topic; and the one that could have it, as its topology is not known."""
    rival = None
    for other, found in sorted(others.items(), key=lambda pair: len(pair[0])):
        if not may_be_internal(name, other):
            continue
        parts = found.subtopologies if isinstance(found, GroupDescription) else None
        if parts is None:
            rival = other
        elif name in of_topology(parts):
            return other, None
    return None, rival
