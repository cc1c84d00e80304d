"""Every place of kcli that writes a file: through `replace_file`, or for a reason that is written here."""

import ast
import re

import pytest

from tests.checks.source_calls import calls, places

NOT_REPLACED = {
    # The primitives themselves.
    "files/atomic.py:replace_file": "the one place",
    "files/lock.py:file_lock": "a lock: its file is created with mode 0600 by filelock, and holds a pid",
    # Private, and appended to.
    "flows/produce/failed_file.py:FailedFile._open": "records are appended, mode 0600",
    "flows/produce/failed_file.py:check_writable": "an empty file of mode 0600, removed at once",
    "commands/tokens/_hmac.py:HmacFile.open": "an HMAC, in a new file of mode 0600",
    "core/net/tls/context.py:readable": "a key in anonymous memory, or in a file of mode 0600 for a moment",
    "flows/consume/record_command.py:RecordCommand.__init__": "a folder for the key and the value of one record",
    "flows/consume/record_command.py:RecordCommand.start": "key, value and a line of JSON for a program",
    "core/net/command.py:feed_command": "a document, in a file of mode 0600 without a name",
    "pipeline/duckdb/database.py:Database.__init__": "what DuckDB spills, in a folder that ends with the query",
    "files/scratch.py:ScratchFile.__init__": "what memory does not hold, in a file of mode 0600 without a name",
    "serde/protobuf/protoc.py:compile_texts": "schemas, in a private folder for a moment",
    "serde/protobuf/protoc.py:compile_path": "schemas, in a private folder for a moment",
    "serde/protobuf/protoc.py:_run": "what protoc makes, in a private folder for a moment",
    # The user names the file, and what it holds is on the screen too.
    "commands/reassign/_planning.py:_write": "a pipe or a device, which a new file must not replace; files are replaced",
    "flows/lag/recording.py:append_line": "offsets, appended to the file of --record",
    "flows/lag/recording.py:check_appendable": "nothing, to that file",
    "tui/stderr_log.py:_log_path": "what -v and --debug say, 0600 in kcli's private folder",
    "tui/stderr_log.py:stderr_kept": "the same file",
    "tui/driver.py:TopDriver.restore_at_once": "the terminal itself, opened once more",
    # The sandbox: below a folder of mode 0700, without secrets.
    "sandbox/fetch.py:_Draft.__init__": "a published jar, whose digest is compared before it has its name",
    "sandbox/formatting.py:_remove_private_files": "the log of a broker",
    "sandbox/launch.py:write_files": "how brokers write their logs, and where ZooKeeper listens",
    "sandbox/process.py:spawn": "the log of a broker",
    "sandbox/process.py:run": "the log of a broker",
    "flows/round_trip.py:generate_lines": "generated lines of the demo, in a private folder",
    "pipeline/store/folder.py:_NewLocalFile.__init__": "records, in the folder that the user names: a name is kept",
    # A session of Spark: in a temporary folder of mode 0700, files of mode 0600 without secrets.
    "pipeline/spark/folder.py:_locked_folder": "the folder, and its lock",
    "pipeline/spark/folder.py:SessionFolder.__init__": "nothing: the name of the folder for temporary files",
    "pipeline/spark/folder.py:SessionFolder.write": "settings of Spark, and how it logs",
    "pipeline/spark/folder.py:SessionFolder.keep_log": "the log of Spark, made 0600, in kcli's private folder",
    "pipeline/spark/folder.py:_remove_abandoned": "the lock of a folder that is removed",
    "pipeline/spark/jvm.py:Jvm.__init__": "the log of Spark, in that folder",
    "pipeline/spark/board.py:Board.__init__": "numbers of records, in that folder",
    "pipeline/spark/board.py:open_slot": "the same file",
    "flows/mirror/promotion/stranded.py:_new_file": "records, in the file that the user names: the umask decides",
    # Development.
    "docgen/__main__.py:main": "the pages of this project",
    "docgen/__main__.py:write_site": "pages of the documentation site, which are built anew",
    "docgen/pictures.py:main": "their pictures",
}
READABLE = {
    "flows/transfer/file.py:write_file": "offsets, in the file that the user names: the umask decides",
    "commands/reassign/_planning.py:_write": "a plan to be reviewed, in the file that the user names",
    "pipeline/store/folder.py:FolderStore.put": "what an export has, in the user's folder: the umask decides",
    "commands/perf/conclusion.py:_write_page": "a result, in the file that the user names: the umask decides",
    "tui/export.py:write": "what is on the screen, in the file that the user names: the umask decides",
    "flows/completion/install.py:write": "a script of this project, for a shell",
    "commands/exporter/textfile.py:write": "metrics, for node_exporter, which runs as another user",
    "pipeline/spark/java.py:_wrapped": "a program of mode 0700",
}
"""Files that others may read."""


def writes(call: ast.Call) -> bool:
    """Whether a call creates, opens for writing, or writes a file."""
    name = ast.unparse(call.func)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if name.startswith("tempfile.") or name.endswith((".write_text", ".write_bytes")):
        return True
    if name == "os.open":
        return any(flag in ast.unparse(given[1]) for flag in ("O_WRONLY", "O_RDWR", "O_CREAT", "flags"))
    if name == "open" or name.endswith(".open"):
        modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return any(re.fullmatch(r"[wax][bt]?\+?|r[bt]?\+[bt]?", mode) for mode in modes)
    return name in ("os.mkfifo", "os.mknod", "shutil.copy", "shutil.copyfile", "shutil.move")


def replaces(call: ast.Call) -> bool:
    """Whether a call replaces a file as a whole."""
    return ast.unparse(call.func) == "replace_file"


WORDS = r"open\(|tempfile|write_text|write_bytes|os\.mk|shutil"
NO_FILE = {"commands/shared/configuration.py": "the terminal", "commands/shared/exit.py": "/dev/null"}


@pytest.mark.case("X18")
def test_every_writer_replaces_its_file_or_says_why_not() -> None:
    found = {place for place in places(WORDS, writes) if place.partition(":")[0] not in NO_FILE}
    assert found == set(NOT_REPLACED)


@pytest.mark.case("X18")
def test_what_is_replaced_is_private_unless_it_is_listed() -> None:
    modes = {
        place: [ast.unparse(word.value) for call in calls for word in call.keywords if word.arg == "mode"]
        for place, calls in places("replace_file", replaces).items()
    }
    assert {place for place, given in modes.items() if set(given) - {"0o600", "384"}} == set(READABLE)


def test_a_writer_is_found() -> None:
    for line in (
        "open(p, 'wb')",
        "p.open('a')",
        "p.write_text(t)",
        "os.open(p, os.O_WRONLY)",
        "tempfile.mkdtemp()",
    ):
        ((_, call),) = calls(ast.parse(line))
        assert writes(call), line
    for line in ("open(p)", "p.open('rb')", "os.open(p, os.O_RDONLY)", "channel.open(addresses)"):
        ((_, call),) = calls(ast.parse(line))
        assert not writes(call), line
