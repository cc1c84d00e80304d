#!/bin/sh
# Builds dist/kcli.pex: one file that runs with every CPython from 3.11 to 3.14 on Linux, and brings a Java for the sandbox.
#
# Called by build.sh with the folder of the tools, the wheel, and a folder to work in.
set -eu

tools=$1 wheel=$2 work=$3
# shellcheck source=tools/packaging/extras.sh
. tools/packaging/extras.sh

echo 'make dist: pex' >&2
mkdir -p "$work"
requirements "$work/requirements.txt"
# pip takes no hashes beside a file; the versions are those with hashes.
sed -n 's/^\([a-z0-9.-]*==[^ ]*\).*/\1/p' "$work/requirements.txt" >"$work/versions.txt"
"$tools/python" tools/packaging/platforms.py "$work/platforms" >"$work/platforms.txt"
# shellcheck disable=SC2046,SC2086 # words are meant
PEX_ROOT=$work/root "$tools/pex" "kcli-kafka[$(echo $extras | tr ' ' ,)] @ file://$(pwd -P)/$wheel" \
    --pip-version 25.1 --constraints "$work/versions.txt" $(sed 's/^/--complete-platform /' "$work/platforms.txt") \
    --console-script kcli --venv prepend --sh-boot --python-shebang '/usr/bin/env python3' \
    --output-file dist/kcli.pex >"$work/log" 2>&1 || { echo "make dist: pex failed: $work/log" >&2; exit 1; }
