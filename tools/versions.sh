#!/bin/sh
# Runs a part of the suites with the oldest or the newest versions of all libraries: `lowest` or `latest` ($1).
#
# Called by `make test-lowest` and `make test-latest` from the top of the tree, with the folder of the tools ($2). The environment
# is kept below .cache/, and made anew when pyproject.toml changes, or on the next day for `latest`. What pyproject.toml names
# is installed in the lowest version that it allows; what these need in turn, and what only the tests use, in the newest.
set -eu

which=$1 tools=$2
shift 2
home=.cache/$which
python=$home/venv/bin/python
case $which in
    lowest) stamp=$(cksum <pyproject.toml) ;;
    latest) stamp="$(cksum <pyproject.toml) $(date +%F)" ;;
    *) echo "usage: $0 lowest|latest TOOLS" >&2; exit 2 ;;
esac
say() { echo "make test-$which: $*" >&2; }
# What users can install; the tests need no keyring of the system and no Kerberos.
extras='sandbox fast schemas lake sql zookeeper exporter pkcs12 msk-iam glue spark'

if [ "$(cat $home/stamp 2>/dev/null)" != "$stamp" ]; then
    say "making $home/venv; this needs PyPI"
    rm -rf $home
    mkdir -p $home
    "$tools/uv" venv --quiet --seed --python "${PYTHON:-.cache/venv/bin/python}" $home/venv
    if [ "$which" = lowest ]; then
        # shellcheck disable=SC2046,SC2086 # words are meant
        "$tools/uv" pip compile --quiet --resolution lowest-direct --python $python $(printf -- '--extra %s ' $extras) \
            pyproject.toml -o $home/versions.txt >/dev/null
    else
        : >$home/versions.txt
    fi
    "$tools/uv" pip install --quiet --python $python --upgrade -c $home/versions.txt \
        --editable ".[$(echo $extras | tr ' ' ,),test]"
    echo "$stamp" >$home/stamp
fi
"$tools/uv" pip list --python $python --color never 2>/dev/null >$home/installed.txt
say "$(wc -l <$home/installed.txt) packages: $home/installed.txt"
# shellcheck disable=SC2086 # words are meant
# What stands between kcli and a library: options and help, tables and screens, codecs, serdes, files, profiles, data frames.
suites='tests/checks/test_foreign_names.py tests/unit/codecs tests/unit/commands tests/unit/docgen tests/unit/exporter
    tests/unit/files tests/unit/output tests/unit/profiles tests/unit/serde tests/unit/tui tests/parity tests/frames/test_read_export.py
    tests/cli/test_help.py tests/cli/test_looks.py tests/cli/test_completions.py tests/cli/test_serdes.py tests/tui/test_look.py
    tests/tui/test_table.py tests/tui/test_typing_ahead.py'
PATH=$PWD/$home/venv/bin:$PATH $python -m pytest -p tests.checks.skips -q -n 2 --dist worksteal \
    -m 'not integration and not long and not brokers and not soak and not kerberos and not spark_cluster' \
    $suites "$@"
