"""The mark that a rewind leaves in the metadata of its commits, by which one from another machine is recognized. Pure.

Only commits whose old metadata is empty get it: an application's metadata is kept as it is. The next commit of the
application removes it. Whatever shows, exports or copies commits leaves it out.
"""

from kcli.core.types import OffsetAndMetadata

_PREFIX = "kcli-rewind="


def marked(commit: OffsetAndMetadata, journal_id: str) -> OffsetAndMetadata:
    """The commit with the mark of that journal, unless it has metadata of its own."""
    if commit.metadata:
        return commit
    return OffsetAndMetadata(commit.offset, _PREFIX + journal_id, commit.leader_epoch)


def marked_by(commit: OffsetAndMetadata | None) -> str | None:
    """The id of the journal whose rewind has made this commit; None: that is not known."""
    if commit is None or not commit.metadata.startswith(_PREFIX):
        return None
    return commit.metadata.removeprefix(_PREFIX)


def keeping_mark(new: OffsetAndMetadata, committed: OffsetAndMetadata | None) -> OffsetAndMetadata:
    """The new commit; with the mark of the old one where that would be all that changes."""
    if committed is None or committed.offset != new.offset or own_metadata(committed) != own_metadata(new):
        return new
    return OffsetAndMetadata(new.offset, committed.metadata, new.leader_epoch)


def own_metadata(commit: OffsetAndMetadata) -> str:
    """What the application has put there."""
    return "" if marked_by(commit) else commit.metadata
