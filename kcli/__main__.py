"""The outermost rim: runs the command line and turns whatever ends it into an exit status.

While kcli is being imported Ctrl-C ends it as it ends any program without a handler: by the signal, which a shell shows
as 130, and without a word. A KeyboardInterrupt there would find half of what it takes to handle it.

The last thing here is to flush stdout while its errors can still be told: a reader that went away ends the
process as the shell expects (141), a full disk is an error (1), never a traceback from the interpreter's exit.
"""

# Nothing that has to be found first: until main() is called, Ctrl-C would be a traceback. `_signal` is all of `signal`
# that is used here.
import _signal as signal  # type: ignore[import-not-found]
import sys


def main() -> None:
    """The entry point of the ``kcli`` script."""
    # Not where the parent has it ignored (nohup).
    handles = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handles:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import gc

    # The default of Python 3.13. With the 700 of before, imports would be searched for garbage forty times.
    gc.set_threshold(2_000)
    if sys.argv[1:2] == ["__complete"]:
        _complete(sys.argv[2:])
    try:
        code = run(sys.argv[1:], raise_interrupts=handles)
        if handles:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be put in order
    except KeyboardInterrupt:  # while another one, or an error, was being handled
        import os

        os._exit(130)
    gc.freeze()  # what is left goes with the process: nobody needs to search it for garbage once more
    sys.exit(code)


def _complete(arguments: list[str]) -> None:
    """A shell asks for names: without click, and not a word about what goes wrong."""
    import os

    try:
        from kcli.commands._complete import complete

        complete(arguments)
    finally:
        os._exit(0)


def run(arguments: list[str], *, raise_interrupts: bool = False) -> int:
    """Runs one command line; returns its exit status. ``raise_interrupts``: from the command's start on, and in its end,
    SIGINT is a KeyboardInterrupt.
    """
    values = None
    try:
        from kcli.commands.shared.global_values import GlobalValues

        values = GlobalValues()
        _survive_odd_locales()
        code = _invoke(arguments, values, raise_interrupts=raise_interrupts)
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException as error:  # noqa: BLE001 - this is the place where everything ends
        from kcli.commands.shared.exit import report_error

        code = report_error(error, values)
    try:
        _close_stdout()
    except OSError as error:
        from kcli.commands.shared.exit import report_error

        return report_error(error, values)
    return code


def _invoke(arguments: list[str], values: object, *, raise_interrupts: bool) -> int:
    """Not ``cli.main()``: that turns a closed pipe into exit status 1 and prints a line end for Ctrl-C."""
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
    """Flushes, then closes a copy: some file systems tell of a full disk only at close."""
    import os

    if sys.stdout is None:
        return
    sys.stdout.flush()
    try:
        copy = os.dup(sys.stdout.fileno())
    except (OSError, ValueError):  # a stand-in without a descriptor
        return
    os.close(copy)


if __name__ == "__main__":
    main()
