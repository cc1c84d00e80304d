#!/bin/sh
# Makes .cache/venv, or brings it up to date: kcli, editable, with what `run` or `dev` ($1) needs.
#
# Called by the Makefile from the top of the tree. PYTHON chooses the interpreter. A stamp remembers
# what was installed from where; while it matches, nothing is done and no network is used.
set -eu

wanted=$1
case $wanted in
    run) extras=sandbox,fast ;;
    dev) extras=sandbox,fast,dev,test ;;
    *) echo "usage: $0 run|dev" >&2; exit 2 ;;
esac
venv=.cache/venv
stamp=$venv/kcli.stamp
kernels=kcli/core/kernels
kernels_stamp=$venv/kcli.kernels
oldest=3.11

say() { echo "kcli: $*" >&2; }
die() { say "$@"; exit 1; }

# "3.12", or "3.13t" where threads are free; nothing if this is no Python 3.
version_of() {
    "$1" -c 'import sys; print("%d.%d%s" % (*sys.version_info[:2], sys.abiflags))' 2>/dev/null || :
}

new_enough() {
    "$1" -c "import sys; sys.exit(sys.version_info[:2] < (${oldest%.*}, ${oldest#*.}))" 2>/dev/null
}

# The Debian package that holds this Python's $2: venv or dev.
package_of() { echo "python$(version_of "$1" | tr -d t)-$2"; }

# What decides whether an installation is still right. A virtual environment cannot be moved, so its
# place comes first.
fingerprint() {
    pwd -P
    version_of $venv/bin/python
    cksum < pyproject.toml
}

# The same for the kernels. Where a compiler is missing, this changes on the day that it is there.
kernels_fingerprint() {
    echo "${KCLI_NO_EXT:-} $(kernels_lack $venv/bin/python)"
    cat setup.py $kernels/native/*.[ch] | cksum
    ls $kernels/_native*.so 2>/dev/null || :
}

# The interpreter asked for, if one was, is the one that is there.
right_version() {
    [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON")" = "$(version_of $venv/bin/python)" ]
}

up_to_date() {
    right_version && [ -f $stamp ] || return 1
    now=$(fingerprint)
    # What dev needs includes what run needs.
    case $(cat $stamp) in
        "dev
$now" | "$wanted
$now") return 0 ;;
    esac
    return 1
}

# May the environment stay, and be installed into?
usable() {
    right_version || return 1
    [ ! -f $stamp ] || [ "$(sed -n 2p $stamp)" = "$(pwd -P)" ] || return 1
    $venv/bin/python -m pip --version >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        [ -n "$(version_of "$PYTHON")" ] || die "PYTHON=$PYTHON does not run as a Python 3"
        new_enough "$PYTHON" ||
            die "PYTHON=$PYTHON is Python $(version_of "$PYTHON"); kcli needs $oldest or newer"
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if new_enough $candidate; then
            echo $candidate
            return
        fi
    done
    old=$(version_of python3)
    say "no Python $oldest or newer on the PATH${old:+ (python3 is $old)}"
    die "  install one (Debian, Ubuntu: apt install python3 python3-venv), or name it with PYTHON="
}

# Debian and its relatives ship the venv module without the part that installs pip.
need_venv_module() {
    "$1" -c 'import venv, ensurepip' 2>/dev/null && return
    say "$1 has no complete venv module; Debian and Ubuntu keep it in a package of its own:"
    die "  apt install $(package_of "$1" venv)"
}

# The Debian packages without which there are no C kernels, and everything works in pure Python.
kernels_lack() {
    include=$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    lacks=
    [ -f "$include/Python.h" ] || lacks=$(package_of "$1" dev)
    command -v "${CC:-cc}" >/dev/null 2>&1 || lacks="${lacks:+$lacks }gcc"
    echo "$lacks"
}

# Is setuptools there, and does it understand pyproject.toml? In 'run' it may be that of the venv module.
can_build() {
    $venv/bin/python -c '
import sys
from importlib import metadata
sys.exit(int(metadata.version("setuptools").partition(".")[0]) < 77)' 2>/dev/null
}

# Built aside and moved, so that a kcli that starts meanwhile finds the old kernels or the new ones.
build_kernels() {
    aside=.cache/kernels
    rm -rf $aside
    mkdir -p $aside
    $venv/bin/python setup.py --quiet build_ext --build-temp $aside/temp --build-lib $aside/lib \
        >$aside/log 2>&1 || :
    built=$(ls $aside/lib/$kernels/_native*.so 2>/dev/null || :)
    if [ -n "$built" ]; then
        mv -f "$built" $kernels/
        rm -rf $aside
    else
        rm -f $kernels/_native*.so
    fi
}

finish_kernels() {
    if [ -n "${KCLI_NO_EXT:-}" ]; then
        rm -f $kernels/_native*.so
    elif ! ls $kernels/_native*.so >/dev/null 2>&1; then
        lacks=$(kernels_lack $venv/bin/python)
        [ -z "$lacks" ] || say "going on in pure Python; for the C kernels: apt install $lacks, and again"
        [ -n "$lacks" ] || say "going on in pure Python; .cache/kernels/log or .cache/pip.log says why"
    fi
    kernels_fingerprint > $kernels_stamp
}

if up_to_date; then
    [ "$(cat $kernels_stamp 2>/dev/null)" != "$(kernels_fingerprint)" ] || exit 0
    if [ -n "${KCLI_NO_EXT:-}" ] || can_build; then
        [ -n "${KCLI_NO_EXT:-}" ] || build_kernels
        finish_kernels
        exit 0
    fi
fi
if ! usable; then
    python=$(find_python)
    need_venv_module "$python"
    say "making $venv with Python $(version_of "$python")"
    rm -rf $venv
    "$python" -m venv $venv || die "$python -m venv failed"
fi
say "installing kcli[$extras] into $venv; this needs PyPI, later runs do not"
rm -f .cache/pip.log # pip appends
# The kernels are optional: if they cannot be built, pip leaves those of older sources.
[ "$(cat $kernels_stamp 2>/dev/null)" = "$(kernels_fingerprint)" ] || rm -f $kernels/_native*.so
# A wheel that is built here and unpacked at once is not compressed: pyspark is 500 MB of jars, and published as source.
printf '[bdist_wheel]\ncompression = stored\n' > $venv/wheels.cfg
DIST_EXTRA_CONFIG=$(pwd -P)/$venv/wheels.cfg \
    $venv/bin/python -m pip install --quiet --progress-bar off --disable-pip-version-check --no-compile \
    --prefer-binary --log .cache/pip.log --editable ".[$extras]" ||
    die "the installation failed; .cache/pip.log has the details"
# On all processors, not on one as pip does; without the tests of libraries, a fifth of all.
$venv/bin/python -m compileall -qq -j 0 -x '/tests?/' $venv/lib >/dev/null || :
{ echo "$wanted"; fingerprint; } > $stamp
finish_kernels
