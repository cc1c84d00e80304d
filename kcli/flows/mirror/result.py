"""What a run of a mirror did, and what of it failed. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.mirror.partition_copy import Gap, PartitionCopy
from kcli.flows.mirror.survey import Survey
from kcli.flows.mirror.sync_groups import Translated
from kcli.flows.mirror.verify import Comparison


class MismatchError(KcliError):
    """Source and target are not equal."""

    exit_code = ExitCode.CHECK


class GapsError(KcliError):
    """Some records of the source could not be copied, which was accepted."""

    exit_code = ExitCode.PARTLY


class Result(NamedTuple):
    """What a run did. ``seconds``: of the copy."""

    job: str
    survey: Survey
    copies: Sequence[PartitionCopy]
    comparisons: Sequence[Comparison]
    synced: Sequence[Translated]
    seconds: float

    @property
    def done(self) -> bool:
        """Whether anything was copied, or is proved to be equal."""
        return any(copy.records for copy in self.copies) or any(one.equal for one in self.comparisons)

    def failures(self) -> Iterator[KcliError]:
        """What failed of the copy and of the proof, partition by partition."""
        said: set[int] = set()
        for copy in self.copies:
            if copy.error is not None and id(copy.error) not in said:
                said.add(id(copy.error))  # one error may have ended all of them
                yield copy.error
            yield from map(_gap, copy.gaps)
        for one in self.comparisons:
            if not one.equal:
                yield _mismatch(one)


def _gap(gap: Gap) -> KcliError:
    return GapsError(
        f"{gap.tp}: offsets {gap.first} to {gap.stop - 1} were not copied",
        why=gap.why,
        do="run the mirror more often than the source deletes records, or keep them longer there",
    )


def _mismatch(one: Comparison) -> KcliError:
    """Of a comparison that is not equal."""
    if one.error is not None:
        return one.error
    source, target = one.pair.source.tp, one.pair.target.tp
    if one.difference is None:
        return MismatchError(
            f"{source} of the source and {target} of the target were not compared to their end",
            why="the comparison was stopped, or one side could not be read",
            do="run it again with --verify-only",
        )
    here, there = one.difference.source_offset, one.difference.target_offset
    at = f"source offset {here}" if here is not None else f"target offset {there}"
    both = f", target offset {there}" if here is not None and there is not None else ""
    return MismatchError(
        f"{source} of the source and {target} of the target differ from {at}{both} on",
        why=one.difference.what,
        do="find out what else writes to the target; `kcli consume TOPIC -p N --offset SPEC` shows both records",
    )
