"""The mark that a rewind leaves in the metadata of its commits, so that a rewind on another machine is recognized.
Pure.

Only commits with empty metadata get it: an application's metadata is kept. The application's next commit removes it.
Commands that show, export or copy commits omit it.
"""

from kcli.core.types import OffsetAndMetadata

_PREFIX = "kcli-rewind="


def marked(commit: OffsetAndMetadata, journal_id: str) -> OffsetAndMetadata:
    """The commit with the mark of that journal, unless it has metadata of its own."""
    if commit.metadata:
        return commit
    return commit._replace(metadata=_PREFIX + journal_id)


def marked_by(commit: OffsetAndMetadata | None) -> str | None:
    """The id of the journal whose rewind made this commit; None if it has no mark."""
    if commit is None or not commit.metadata.startswith(_PREFIX):
        return None
    return commit.metadata.removeprefix(_PREFIX)


def keeping_mark(new: OffsetAndMetadata, committed: OffsetAndMetadata | None) -> OffsetAndMetadata:
    """The new commit; it keeps the old commit's mark where nothing but the mark would change."""
    if committed is None or committed.offset != new.offset or own_metadata(committed) != own_metadata(new):
        return new
    return new._replace(metadata=committed.metadata)


def own_metadata(commit: OffsetAndMetadata) -> str:
    """The application's own metadata."""
    return "" if marked_by(commit) else commit.metadata
