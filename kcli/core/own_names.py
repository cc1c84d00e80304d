"""What kcli keeps on a cluster for itself: groups and topics that nobody else's are called like. Pure.

Whatever means all, or a pattern, leaves them out: they are no consumers, and a position that is moved makes the job that
keeps it store its records twice, or leave some out. They are shown when they are named, or with ``--internal``; a command
that changes one says what it is, and wants its name typed.
"""

from collections.abc import Mapping

CHECKPOINTS = "kcli-produce."
IMPORTS, MIRRORS, REPLAYS = "__kcli.import.", "__kcli.mirror.", "__kcli.replay."
STATE_TOPIC = "__kcli_mirror"
"""Holds the state of all jobs of ``kcli mirror`` that write to a cluster."""

_GROUPS: Mapping[str, str] = {
    CHECKPOINTS: "stores the progress of produce --checkpoint for transactional id {}",
    IMPORTS: "stores the positions of pipeline import, job {}",
    MIRRORS: "stores the positions of pipeline mirror, job {}",
    REPLAYS: "stores the positions of pipeline replay, job {}",
    "__kcli.": "stores the positions of a job of kcli, {}",
}
"""By the beginning of the name: what it is for, with the rest of the name. The last one has those of other versions."""

_TOPICS: Mapping[str, str] = {
    STATE_TOPIC: "the positions and offset maps of all jobs of mirror that write to this cluster",
    "__kcli_": "state of kcli's own",
}

GROUP_PREFIXES = (CHECKPOINTS, "__kcli.")
TOPIC_PREFIX = "__kcli_"


def is_own_group(name: str) -> bool:
    """Whether kcli keeps this group for itself."""
    return name.startswith(GROUP_PREFIXES)


def is_own_topic(name: str) -> bool:
    """Whether kcli keeps this topic for itself."""
    return name.startswith(TOPIC_PREFIX)


def means_own_groups(glob: str | None) -> bool:
    """Whether a shell pattern can only match such groups: then it asks for them."""
    return glob is not None and glob.startswith(tuple(prefix.rstrip(".") for prefix in GROUP_PREFIXES))


def own_group_note(name: str) -> str | None:
    """What such a group is, for a note; None for any other."""
    for prefix, purpose in _GROUPS.items():
        if name.startswith(prefix):
            return f"not a consumer group: {purpose.format(name.removeprefix(prefix))}"
    return None


def own_group_danger(name: str) -> str | None:
    """Why ``--yes`` is not sufficient to change such a group; None for any other."""
    note = own_group_note(name)
    return note and f"{name} is kcli's own and {note}"


def own_topic_purpose(name: str) -> str | None:
    """What such a topic holds; None for any other."""
    return next((purpose for prefix, purpose in _TOPICS.items() if name.startswith(prefix)), None)
