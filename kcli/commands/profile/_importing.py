"""What ``kcli profile import`` does: the files of other tools become profiles."""

import os
from pathlib import Path

from kcli.commands.profile._editing import check_replacement, edited, typed, warn_of_plain_secrets
from kcli.commands.profile._showing import print_profiles, profiles
from kcli.commands.shared.context import Invocation
from kcli.core.errors import ConfigError
from kcli.core.net.tls.stores import conversion, is_jks
from kcli.files.user_file import FileState, read_bounded
from kcli.output.progress import counted
from kcli.profiles.editing import ProfileExistsError, with_profile
from kcli.profiles.file_safety import check_content
from kcli.profiles.importing.checking import check_name, checked, profile_name, with_own_names
from kcli.profiles.importing.found import Found
from kcli.profiles.importing.tools import READERS, TOOLS, default_paths, tool_of
from kcli.profiles.profile import MARKS, Pair, Profile, raise_error
from kcli.profiles.secret_keys import names_file
from kcli.profiles.sources import SourceFiles


def import_from(inv: Invocation, source: str, name: str | None, form: str | None, *, replace: bool) -> int:
    """Adds the profiles of a file, or of a tool's own file; returns the exit status."""
    path, tool = _file_of(source, form)
    text, state = _text(path)
    tool = tool or tool_of(path, text)
    folder = os.path.dirname(os.path.abspath(path))
    read = READERS[tool](text, path, _own_name(path, tool, name))
    originals = [(one.name, checked(one, path, folder)) for one in read]
    originals = [(original, one) for original, one in originals if one.pairs]
    found = with_own_names([one for _original, one in originals])
    renamed = [(was, one.name) for (was, _), one in zip(originals, found, strict=True) if was != one.name]
    if name is not None:
        check_name(name)
        if len(found) == 1:
            found, renamed = [found[0]._replace(name=name)], []
        elif found:
            raise ConfigError(
                f"--name {name}: {path} has {counted(len(found), 'cluster')}",
                why="one name cannot be that of several profiles",
                do="leave --name out; their names are those of the file",
            )
    if not found:
        raise ConfigError(
            f"{path} has no cluster", why=f"it was read as a file of {tool}", do="check --format"
        )
    unsafe = check_content(
        path, state, os.getuid(), (Pair(*pair, path) for one in found for pair in one.pairs)
    )
    _add(inv, found, path, replace=replace)
    if unsafe is not None:
        inv.talk.warn(unsafe)
    for was, own in renamed:
        inv.talk.warn(
            f"the profile of {was!r} is named {own}: a name has letters, digits, and _ . -, and is given once"
        )
    _warn_of_stores(inv, found)
    for one in found:
        if one.reading:
            inv.talk.detail(one.reading)
        for text in one.warnings:
            inv.talk.warn(text)
        for key, why in one.dropped:
            inv.talk.warn(f"{one.name}: {key} is not carried over: {why}")
    pairs = [pair for one in found for pair in _pairs(one, path)]
    if not inv.dry_run:
        warn_of_plain_secrets(inv, list({pair.key: pair for pair in pairs}.values()))
    print_profiles(inv, [Profile(one.name, path, _pairs(one, path)) for one in found])
    current = next((one.name for one in found if one.current), "")
    if current:
        inv.talk.note(
            f"the current one of {tool} is {current}; to make it that of kcli: kcli profile use {current}"
        )
    return 0


def _add(inv: Invocation, found: list[Found], path: str, *, replace: bool) -> None:
    """All of them or none."""
    with edited(inv) as change:
        if replace:
            check_replacement(inv, [one.name for one in found])
        existing = profiles(SourceFiles().configs(raise_error))
        clashes = [one.name for one in found if one.name in existing]
        if clashes and not replace:
            raise ProfileExistsError(
                f"{', '.join(clashes)} {'exists' if len(clashes) == 1 else 'exist'} already; nothing was added",
                why=f"{path} has {'a cluster' if len(clashes) == 1 else 'clusters'} of that name",
                do="use --replace, or remove the profile first",
            )

        def edit(text: str) -> str:
            for one in found:
                values = [typed(key, value) for key, value in dict(one.pairs).items()]
                text = with_profile(text, one.name, values, replace=True)
            return text

        change(edit, f"{counted(len(found), 'profile')} added from {path}")


def _pairs(found: Found, path: str) -> tuple[Pair, ...]:
    """Without the marks, as in a profile."""
    return tuple(Pair(key, text, path) for key, text in found.pairs if key not in MARKS)


def _warn_of_stores(inv: Invocation, found: list[Found]) -> None:
    """Says which files are missing, or of a format that kcli does not read."""
    for one in found:
        for key, text in one.pairs:
            if not names_file(key) or not text:
                continue
            if not os.path.lexists(text):
                inv.talk.warn(f"{one.name}: {key}: there is no file {text}")
            elif is_jks(text):
                inv.talk.warn(
                    f"{one.name}: {key}: {text} is a JKS store, which kcli does not read; {conversion(text)}"
                )


def _file_of(source: str, form: str | None) -> tuple[str, str | None]:
    """The path, and the tool if that is clear from the command line."""
    if source not in TOOLS or os.path.sep in source:
        return source, form
    paths = list(default_paths(source, os.environ))
    for path in paths:
        if os.path.exists(path):
            return path, source
    raise ConfigError(
        f"there is no file of {source}",
        why=f"looked for {', '.join(paths)}",
        do=f"name the file: `kcli profile import FILE --format {source}`",
    )


def _own_name(path: str, tool: str, name: str | None) -> str:
    """For a cluster that has no name in the file."""
    if name is not None:
        return name
    return tool if tool in ("kcat", "kcl") else profile_name(Path(path).stem)


def _text(path: str) -> tuple[str, FileState]:
    try:
        data, state = read_bounded(path)
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}",
            why=error.strerror or str(error),
            do=f"name a file, or one of {', '.join(TOOLS)}",
        ) from None
    return data.decode("utf-8", "replace").removeprefix("\ufeff"), state
