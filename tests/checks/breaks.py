"""``python -m tests.checks.breaks``: breaks each guard of the security checklist on purpose; its test has to fail.

A break is a change of a few characters in one function of kcli, made in memory while one test runs: the function's source
is edited and compiled again. What is written here is therefore compared with the sources in every run, and a break whose
text is gone is an error. All tests run in one process; `test_breaks.py` starts it.
"""

import ast
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from inspect import unwrap
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
CORE = "tests/unit/core"
SASL = f"{CORE}/connection/sasl"


class Break(NamedTuple):
    """In the function ``place``, ``old``, which is there once, becomes ``new``; then ``test`` fails, which holds ``row``.

    Of a test with parameters without any of them in its name, one case has to fail.
    """

    row: str
    place: str
    old: str
    new: str
    test: str


BREAKS = [
    Break("X1", "core/connection/framing.py:FrameReader._frame_size", "if 4 <= size <= most:", "if 4 <= size:",
          f"{CORE}/connection/test_framing.py::test_sizes_that_cannot_be_are_refused_before_anything_is_allocated"),
    Break("X2", "core/protocol/codec.py:_checked_count", "or count * minimum > len(buf) - pos", "",
          "tests/protocol/test_codec.py::test_a_count_is_checked_against_the_bytes_that_are_left"),
    Break("X3", "core/protocol/codec.py:read_uvarint", "pos + MAX_UVARINT_BYTES", "pos + 9",
          "tests/protocol/test_codec.py::test_a_varint_of_six_bytes_is_refused"),
    Break("X4", "core/codecs/compression.py:decompress", "except Exception as error:", "except KeyError as error:",
          "tests/unit/codecs/test_compression.py::test_gzip_checksum_is_compared"),
    Break("X5", "core/records/batch.py:RecordBatch.verify_crc", "crc32c(self.raw[CRC_START:])", "self.crc",
          "tests/unit/records/test_batch.py::test_a_flipped_bit_is_reported_with_offsets_and_both_checksums"),
    Break("X9", "core/net/tls/context.py:make_context", "if not verify:", "if verify:",
          f"{CORE}/net/tls/test_context.py::test_certificates_and_names_are_checked_by_default"),
    Break("X9", "core/net/tls/context.py:unverified", "if not options.enable_ssl_certificate_verification:", "if False:",
          f"{CORE}/net/tls/test_context.py::test_a_check_that_is_off_is_warned_of"),
    Break("X9", "core/net/channel.py:Channel._wrap", "certified_name(self.node.host)", "'127.0.0.1'",
          "tests/fault/test_tls.py::test_the_name_is_sent_for_names_and_not_for_addresses"),
    Break("X9", "core/net/channel.py:Channel._wrap", "certified_name(self.node.host)", "'127.0.0.1'",
          "tests/fault/test_detours.py::test_the_certificate_of_the_tunnel_is_not_enough"),
    Break("X10", "core/net/proxy.py:proxy_of", "not (options.allow_plaintext_secrets or _is_loopback(host))", "False",
          f"{CORE}/net/test_proxy.py::test_a_login_is_sent_to_another_machine_only_where_that_is_allowed"),
    Break("X10", "profiles/proxy_login.py:without_logins", "at >= strongest or", "True or",
          "tests/unit/profiles/test_proxy_login.py::test_a_stronger_proxy_gets_no_login_of_a_weaker_one"),
    Break("X10", "core/connection/sasl/registry.py:login_of", "and not options.allow_plaintext_secrets", "and False",
          f"{SASL}/test_authentication.py::test_what_reveals_a_secret_needs_tls_or_permission"),
    Break("X11", "core/connection/sasl/scram.py:parse_challenge", "not nonce.startswith(client_nonce)", "False",
          f"{SASL}/test_scram.py::test_a_first_message_that_breaks_the_rules_is_refused"),
    Break("X11", "core/connection/sasl/scram.py:scram", "if not hmac.compare_digest(", "if None is (",
          f"{SASL}/test_scram.py::test_a_broker_without_the_right_signature_is_refused"),
    Break("X12", "core/connection/connection.py:Connection.request", "now >= self.session.renew_at", "False",
          f"{CORE}/connection/test_sessions.py::test_what_is_in_flight_is_answered_first_and_what_waits_keeps_its_order"),
    Break("X13", "core/cluster/authentication.py:Authentication.refusal", "now + self._pauses.next()", "now",
          f"{CORE}/cluster/test_authentication.py::test_the_pauses_grow_up_to_a_minute"),
    Break("X15", "core/cluster/hosts.py:host_check", "not is_legal_host(node.host)", "False",
          f"{CORE}/cluster/test_hosts.py::test_other_text_is_refused_with_the_brokers_number"),
    Break("X16", "profiles/file_safety.py:refusal", "state.owner not in (user, _ROOT)", "False",
          "tests/unit/profiles/test_profiles.py::test_a_file_with_secrets_is_warned_of_or_refused"),
    Break("X16", "profiles/secrets.py:check_private_files", "refusal(path, state, os.getuid(), held)", "None",
          "tests/unit/profiles/test_private_files.py::test_a_key_of_another_user_is_refused"),
    Break("X17", "core/secret.py:Secret.__str__", '"(hidden)"', "self._text",
          "tests/cli/test_canary.py::test_a_crash_with_its_traceback"),
    Break("X18", "files/atomic.py:replace_file", "| os.O_EXCL", "",
          "tests/unit/files/test_atomic.py::test_the_temporary_file_is_created_and_no_link_is_followed"),
    Break("X18", "files/atomic.py:replace_file", "os.fsync(fd)", "pass",
          "tests/unit/files/test_atomic.py::test_it_is_on_disk_before_it_has_its_name_and_then_the_name_is"),
    Break("X19", "core/protocol/schema.py:Struct.__repr__", "if row.secret", "if False",
          "tests/protocol/test_hidden_fields.py::test_a_secret_is_not_shown"),
    Break("X20", "flows/completion/names.py:write_names", "(_HEADER, *", "(_HEADER, 'x', *",
          "tests/unit/flows/completion/test_names.py::test_it_holds_names_and_nothing_else"),
    Break("X21", "output/sanitise.py:visible", "re.sub(_UNSAFE, _escape, text)", "text",
          "tests/unit/output/test_sanitise.py::test_controls_are_shown"),
    Break("X23", "output/sanitise.py:visible_json", "_escape_json", "_escape",
          "tests/unit/output/test_records.py::test_json_stays_json_on_a_terminal"),
    Break("X25", "commands/shared/confirm.py:decide", "ASK if terminal and not no_input else IMPOSSIBLE", "GO",
          "tests/cli/test_questions.py::test_nothing_is_changed_without_an_answer[groups delete]"),
    Break("X26", "core/cluster/cluster.py:_wrong_cluster", "not wanted or found == wanted", "True",
          "tests/cli/test_profile.py::test_a_cluster_with_another_id_gets_no_request_but_for_its_metadata"),
    Break("X27", "flows/produce/checkpoint.py:locked", "lock.__enter__()", "pass",
          "tests/unit/flows/produce/test_checkpoint.py::test_a_second_run_is_refused_while_the_first_one_runs"),
    Break("X30", "pipeline/cluster_ref.py:_split", "if not isinstance(value, Secret)}", "}",
          "tests/pipeline/test_cluster_ref.py::test_a_job_contains_no_password"),
    Break("X30", "pipeline/spark/conf.py:session_conf", "if key in given else _SECRETS", "if key in given else ''",
          "tests/pipeline/test_spark_conf.py::test_what_pages_and_event_logs_show_is_redacted"),
]  # fmt: skip

OTHERWISE = {
    "X6": "tests/unit/codecs has a batch at the cap and one above it",
    "X7": "a check of versions",
    "X8": "the corpus is compared with what its inputs did",
    "X14": "an identity provider answers with each fault in turn",
    "X24": "test_terminal.py::test_such_a_sequence_is_found",
    "X28": "test_lock.py::test_the_check_finds",
    "X29": "test_security_page.py::test_a_page_without_a_part_is_found",
    "X31": "this table: `CONTROL` has to survive",
}
"""Rows whose tests bring wrong input of their own, or check what is no function."""

CONTROL = Break("X17", "core/secret.py:Secret.__bool__", "bool(self._text)", "bool(self._text or '')",
                f"{CORE}/test_secret.py::test_reveal_returns_the_text")  # fmt: skip
"""A break that harms nothing: it must be reported as survived."""


@cache
def source(file: str) -> str:
    return (ROOT / "kcli" / file).read_text()


def broken_code(one: Break) -> CodeType:
    """The code of the function with the change in it."""
    file, _, name = one.place.partition(":")
    text = source(file)
    nodes: list[Any] = ast.parse(text).body
    for part in name.split("."):
        (node,) = (each for each in nodes if getattr(each, "name", "") == part)
        nodes = node.body
    segment = ast.get_source_segment(text, node)
    assert segment is not None
    assert segment.count(one.old) == 1, f"{one.place} does not have {one.old!r} once"
    assert text.count(segment) == 1
    found = [compile(text.replace(segment, segment.replace(one.old, one.new)), file, "exec")]
    for code in found:
        if code.co_qualname == name:
            return code
        found += [each for each in code.co_consts if isinstance(each, CodeType)]
    raise AssertionError(one.place)


@contextmanager
def broken(one: Break) -> Iterator[None]:
    """kcli with this change, also where the function was imported from its module before."""
    file, _, name = one.place.partition(":")
    module = import_module(f"kcli.{file.removesuffix('.py').replace('/', '.')}")
    function: Any = unwrap(attrgetter(name)(module))
    right = function.__code__
    function.__code__ = broken_code(one)
    try:
        yield
    finally:
        function.__code__ = right


class Breaking:
    """A plugin of pytest: breaks what each test guards while it runs."""

    def __init__(self, breaks: list[Break]) -> None:
        self._by_test = {one.test: one for one in breaks}
        assert len(self._by_test) == len(breaks), "one test for each break"
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        with broken(self._by_test.get(item.nodeid) or self._by_test[item.nodeid.partition("[")[0]]):
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.failed:
            self.failed |= {report.nodeid, report.nodeid.partition("[")[0]}

    @property
    def survivors(self) -> list[str]:
        """The places whose break no test has noticed."""
        return [
            f"{one.row} {one.place}: {one.old}"
            for one in self._by_test.values()
            if one.test not in self.failed
        ]


def main() -> None:
    """Prints the survivors as the last line; the control must be the only one."""
    plugin = Breaking([*BREAKS, CONTROL])
    tests = [one.test for one in (*BREAKS, CONTROL)]
    options = ["-q", "--tb=line", "-o", "cache_dir=.cache/breaks", "-p", "no:xdist"]
    pytest.main([*options, *tests], [plugin])
    print(json.dumps(plugin.survivors))


if __name__ == "__main__":
    sys.exit(main())
