"""A job, its tasks and their results: what all runners share."""

import errno
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.cluster.retry import classify_error
from kcli.core.errors import ConnectError, KcliError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.files.atomic import described

ATTEMPTS = 4
"""How often a task is begun, as ``spark.task.maxFailures``."""

KERNELS = "kcli.pipeline.kernels"
_LASTING = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS))
"""Errors of a file system that last: another attempt would read everything again in vain."""


@dataclass(frozen=True, slots=True)
class Job:
    """``kernel``: the module below ``kcli.pipeline.kernels``, or a dotted name. ``settings`` and ``tasks`` can be pickled
    and contain no secret.
    """

    kernel: str
    settings: Any
    tasks: tuple[Any, ...]


class TaskError(NamedTuple):
    """The error of a task in a form that crosses processes; ``exit_code`` as in ``KcliError``. ``may_pass``: the task may
    succeed when it is run again later.
    """

    exit_code: int
    what: str
    why: str = ""
    do: str = ""
    may_pass: bool = False

    def error(self) -> KcliError:
        """The error as an exception."""
        found = KcliError(self.what, why=self.why, do=self.do)
        found.exit_code = self.exit_code
        return found


class TaskResult(NamedTuple):
    """``task``: its place in the job. ``item``: the kernel's, None if ``error`` says why there is none; both where it
    knows what it had done. ``attempts``: how often the task was begun.
    """

    task: int
    item: dict[str, Any] | None
    error: TaskError | None = None
    attempts: int = 1
    seconds: float = 0.0


class Progress(NamedTuple):
    """Sums over all tasks so far."""

    records: int
    bytes: int
    tasks: int
    tasks_done: int


class TaskContext:
    """What a kernel knows of its task. ``attempt`` is 0 for the first. ``report`` receives (records, bytes) done since
    the last call.
    """

    def __init__(
        self,
        attempt: int,
        *,
        last: bool = False,
        stopped: Callable[[], bool] = bool,
        report: Callable[[int, int], None] | None = None,
    ) -> None:
        self.attempt = attempt
        self.last_attempt = last
        self.stopped = stopped
        self._report = report

    def progress(self, records: int, size: int) -> None:
        """Adds to what this task has done; ``size`` in bytes."""
        if self._report is not None:
            self._report(records, size)

    def check(self) -> None:
        """StoppedTaskError if the job is to stop."""
        if self.stopped():
            raise StoppedTaskError


class Kernel(Protocol):
    """The function ``run`` of a kernel's module. It is idempotent: it may be ended anywhere, and be run again.

    Returns the item of the report, with the keys ``records`` and ``bytes`` at least; raises KcliError, or PartlyDoneError
    with one as its cause.
    """

    def __call__(self, settings: Any, task: Any, context: TaskContext) -> dict[str, Any]: ...


class StoppedTaskError(KcliError):
    """The job was stopped before the task was done. ``code``: the exit code, if the signal is known: 128 + its number."""

    exit_code: int = ExitCode.INTERRUPTED

    def __init__(self, what: str = "the job was stopped before this task was done", *, code: int = 0) -> None:
        super().__init__(what)
        if code:
            self.exit_code = code


class PartlyDoneError(Exception):
    """What a kernel had done before an error, which is its cause."""

    def __init__(self, item: dict[str, Any], cause: Exception) -> None:
        super().__init__(str(cause))
        self.item, self.cause = item, cause


def kernel_of(name: str) -> Kernel:
    """The kernel's function."""
    module = import_module(name if "." in name else f"{KERNELS}.{name}")
    found: Kernel = module.run
    return found


def run_task(job: Job, index: int, context: TaskContext) -> TaskResult:
    """Runs the kernel for one task. An error that another attempt may not have is raised, unless this is the last one."""
    started = time.monotonic()
    item: dict[str, Any] | None = None
    error: TaskError | None = None
    try:
        item = kernel_of(job.kernel)(job.settings, job.tasks[index], context)
    except Exception as caught:
        cause: Exception = caught
        if isinstance(caught, PartlyDoneError):
            item, cause = caught.item, caught.cause
        if not context.last_attempt and may_pass(cause):
            if cause is not caught:
                raise cause from None
            raise
        error = task_error(cause)
    return TaskResult(index, item, error, context.attempt + 1, time.monotonic() - started)


def may_pass(error: BaseException) -> bool:
    """Whether another attempt may succeed: a broker that is away, an election; and what is no error of Kafka's, but
    for a file system that is full."""
    if not isinstance(error, KcliError):
        return not (isinstance(error, OSError) and error.errno in _LASTING)
    return isinstance(error, ConnectError | TimedOutError) or classify_error(error).retriable


def task_error(error: BaseException) -> TaskError:
    """The error as a value."""
    if isinstance(error, KcliError):
        return TaskError(error.exit_code, error.what, error.why, error.do, may_pass(error))
    if isinstance(error, MemoryError):
        return TaskError(
            1, "a task is out of memory", "its process has no more", "run fewer tasks at once: --local N"
        )
    if isinstance(error, OSError):
        return TaskError(1, *described(error)) if error.filename is not None else TaskError(1, str(error))
    return TaskError(
        1,
        f"internal error in a task: {type(error).__name__}: {error}",
        "this is a defect of kcli",
        "run again with --runner inline --debug and report what it prints",
    )


def stopped_result(index: int, attempts: int = 0) -> TaskResult:
    """The result of a task that had not ended when the job was stopped."""
    error = StoppedTaskError()
    return TaskResult(index, None, task_error(error), attempts)


def killed_error(index: int, why: str) -> TaskError:
    """The error of a task whose process was killed at each attempt."""
    return TaskError(
        1,
        f"task {index} failed {ATTEMPTS} times",
        why,
        "the system's log may say who killed it; with too little memory, run fewer tasks at once: --local N",
        may_pass=True,
    )
