"""kcli's own groups, in which ``kcli produce --checkpoint`` stores the progress of its transactions. Pure.

No consumer is a member of them. The input position is in the metadata of a commit at offset 0, in the same transaction
as the records; earlier versions also used the line number as the offset.
"""

PREFIX = "kcli-produce."


def checkpoint_group(transactional_id: str) -> str:
    """The group of a transactional id."""
    return PREFIX + transactional_id


def is_checkpoint_group(group: str) -> bool:
    """Whether a group is one of these: listings leave them out, and show them when they are named."""
    return group.startswith(PREFIX)


def only_checkpoint_groups(glob: str | None) -> bool:
    """Whether a shell pattern can only match these groups."""
    return glob is not None and glob.startswith(PREFIX.removesuffix("."))


def checkpoint_group_note(group: str) -> str:
    """A description for a note."""
    name = group.removeprefix(PREFIX)
    return f"not a consumer group: stores the progress of produce --checkpoint for transactional id {name}"
