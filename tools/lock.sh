#!/bin/sh
# Writes requirements.lock: the versions and hashes of everything that kcli needs at run time, with all extras for users;
# and tools/site/site.lock: the same of what builds the documentation site.
#
# Called by `make lock` from the top of the tree; needs a package registry. `tests/checks/test_lock.py` compares the
# result with pyproject.toml.
set -eu

tools=$1
extras=$("$tools/python" -c '
import tomllib
found = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]
print(*(f"--extra {name}" for name in found if name not in ("dev", "test")))')

compile() {
    "$tools/uv" pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@"
}
# shellcheck disable=SC2086 # words are meant
compile $extras -o requirements.lock pyproject.toml
compile -o tools/site/site.lock tools/site/site.in
