#!/bin/sh
# Builds in dist/ everything that a release has: sdist, wheels, .pex, .deb, and their checksums; checks each of them.
#
# Called by `make dist` from the top of the tree; needs PyPI, the headers of Python, for the wheels of Python 3.14t those of a
# Python 3.14 (PYTHON314), and for the .deb dpkg-deb. What is built depends on the sources, requirements.lock and
# requirements.txt beside this file only: all times are that of the last commit.
set -eu

tools=$1
python=$tools/python
work=.cache/dist
sources=$work/sources

say() { echo "make dist: $*" >&2; }
die() { say "$@"; exit 1; }

[ "$(uname -s)" = Linux ] || die 'Linux only'
$python -c 'import os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
    die 'no Python.h: install the headers of Python'

rm -rf $work dist
mkdir -p $work dist
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date -r CHANGELOG.md +%s)}
export SOURCE_DATE_EPOCH
umask 022

say sdist
$python -m build --sdist --outdir $work . >$work/sdist.log 2>&1 || die "it cannot be built: $work/sdist.log"
mkdir $sources
tar -xzf $work/kcli_kafka-*.tar.gz -C $sources
name=$(ls $sources)
tar -C $sources --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -c "$name" |
    gzip -n -9 >"dist/$name.tar.gz"

# Both from the sdist: what is missing there is missing for others too.
say wheels
KCLI_NO_EXT=1 $python -m build --wheel --outdir dist "$sources/$name" >$work/pure.log 2>&1 ||
    die "the pure wheel cannot be built: $work/pure.log"
$python tools/packaging/native.py dist/*-py3-none-any.whl "$sources/$name" dist >$work/native.log ||
    die 'a wheel with the C kernels cannot be built'
"$tools/abi3audit" --strict --assume-minimum-abi3 3.11 dist/*-abi3-*.whl >$work/abi3.log 2>&1 ||
    die "symbols beyond the stable ABI: $work/abi3.log"
for one in dist/*-manylinux*.whl; do
    "$tools/auditwheel" show "$one" >>$work/show.log
done
$python tools/packaging/symbols.py dist/*linux*.whl || die 'a wheel needs what its platform has not'
wheel=$(ls dist/*-abi3-manylinux*_"$(uname -m)".whl) || die "no wheel for $(uname -m)"

sh tools/packaging/pex.sh "$tools" "$wheel" $work/pex
if command -v dpkg-deb >/dev/null 2>&1; then
    sh tools/packaging/deb.sh "$tools" "$wheel" $work/deb
else
    say 'no .deb, as there is no dpkg-deb'
fi

say checks
"$tools/twine" check --strict dist/*.tar.gz dist/*.whl >$work/twine.log 2>&1 || { cat $work/twine.log >&2; die 'twine found faults'; }
(cd dist && sha256sum -- * >SHA256SUMS)
cat dist/SHA256SUMS
