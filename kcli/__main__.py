"""The entry point: runs the command line, and converts whatever ends it into an exit status.

While kcli is being imported Ctrl-C ends it as it ends any program without a handler: silently, by the signal, which a
shell shows as 130. A KeyboardInterrupt there would find only half of the modules that handle it.

stdout is flushed here, where its errors can still be reported: a reader that closed the pipe ends the process by
SIGPIPE (141), a full disk is an error (1), never a traceback from the interpreter's exit. stderr is flushed too: its
errors are nobody's.
"""

# Only modules that the interpreter has loaded already: until main() is called, Ctrl-C would be a traceback. `_signal` has
# all of `signal` that is used here. kcli's own modules are imported by functions for the same reason.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from kcli.commands.shared.global_values import GlobalValues


_FRAMES_OF_RUNPY = 2


def main() -> None:
    """The entry point of the ``kcli`` script."""
    # Not where the parent has it ignored (nohup).
    handles = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handles:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import gc  # not loaded by the interpreter: see above

    # What modules are made of is no garbage: with the 700 of Python 3.11 it would be searched forty times, and once takes
    # as long as a twentieth of a short command.
    gc.set_threshold(100_000)
    if sys.argv[1:2] == ["__complete"]:
        _complete(sys.argv[2:])
    try:
        code = run(sys.argv[1:], raise_interrupts=handles)
        if handles:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # there is nothing left to clean up
    except KeyboardInterrupt:  # while another one, or an error, was being handled
        os._exit(130)
    gc.freeze()  # the process ends: what is left need not be searched for garbage
    _leave(code)


def _leave(code: int) -> "NoReturn":
    """Ends the process as ``sys.exit`` does, without taking the interpreter apart, object by object; not where a thread
    has to be joined, or somebody examines the process or waits for the end of ``main``.
    """
    import atexit  # few runs need it

    threading = sys.modules.get("threading")
    examined = sys.getprofile() or sys.gettrace() or sys.flags.dev_mode or sys.flags.inspect
    if examined or not _is_program() or (threading is not None and threading.active_count() > 1):
        sys.exit(code)
    atexit._run_exitfuncs()
    flush_stderr()
    os._exit(code)


def _is_program() -> bool:
    """Whether ``main`` was called by the script or by ``python -m``: a profiler, or a program of somebody else that calls
    it, goes on when it has ended.
    """
    frame = sys._getframe(2)  # of main
    if frame.f_back is None:
        return False
    frame = frame.f_back
    name, outer = os.path.basename(frame.f_code.co_filename), 0
    while frame.f_back is not None:
        frame, outer = frame.f_back, outer + 1
    return name in ("kcli", "kcli-kafka", "__main__.py") and outer in (0, _FRAMES_OF_RUNPY)


def _complete(arguments: list[str]) -> None:
    """A shell requests names: without click, and silent about errors."""
    try:
        from kcli.commands.complete import complete  # what no other start needs

        complete(arguments)
    finally:
        os._exit(0)


def run(arguments: list[str], *, raise_interrupts: bool = False) -> int:
    """Runs one command line; returns its exit status. ``raise_interrupts``: from the command's start on, and in its end,
    SIGINT is a KeyboardInterrupt.
    """
    values = None
    try:
        # Inside the try: Ctrl-C may come while it loads.
        from kcli.commands.shared.global_values import GlobalValues

        values = GlobalValues()
        _survive_odd_locales()
        code = _invoke(arguments, values, raise_interrupts=raise_interrupts)
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException as error:  # noqa: BLE001 - every error is reported here
        code = _report(error, values)
    try:
        _close_stdout()
    except OSError as error:
        code = _report(error, values)
    flush_stderr()
    return code


def _report(error: BaseException, values: "GlobalValues | None") -> int:
    from kcli.commands.shared.exit import report_error  # only errors need it

    return report_error(error, values)


def _invoke(arguments: list[str], values: object, *, raise_interrupts: bool) -> int:
    """Not ``cli.main()``: that turns a closed pipe into exit status 1 and prints a line end for Ctrl-C."""
    # Not at the top: shells that complete names start without click.
    from click.exceptions import Exit

    from kcli.cli import cli

    if raise_interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with cli.make_context("kcli", arguments, obj=values) as context:
            result = cli.invoke(context)
    except Exit as done:
        return done.exit_code
    return result if isinstance(result, int) else 0


def _survive_odd_locales() -> None:
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _close_stdout() -> None:
    """Flushes, then closes a copy: some file systems report a full disk only at close."""
    if sys.stdout is None:
        return
    sys.stdout.flush()
    try:
        copy = os.dup(sys.stdout.fileno())
    except (OSError, ValueError):  # a stream without a descriptor, in a test
        return
    os.close(copy)


def flush_stderr() -> None:
    """A closed or full stderr is no reason to fail, but what it has not taken would be tried again at the interpreter's
    exit, whose status would then be 120.
    """
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):
        from kcli.commands.shared.exit import abandon  # rare

        abandon(2)


if __name__ == "__main__":
    main()
