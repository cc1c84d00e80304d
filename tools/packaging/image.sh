#!/bin/sh
# Builds the container image kcli:VERSION from the wheel in dist/, with the first engine that answers, and runs it.
#
# Called by `make image` from the top of the tree. ENGINE chooses docker, podman or buildah; PYTHON_IMAGE the tag of python.
set -eu

say() { echo "make image: $*" >&2; }

answers() {
    case $1 in
        buildah) buildah version ;;
        *) "$1" version ;;
    esac >/dev/null 2>&1
}

wheel=$(ls dist/kcli_kafka-*-abi3-manylinux*_"$(uname -m)".whl 2>/dev/null || :)
[ -n "$wheel" ] || { say 'there is no wheel in dist/: make dist'; exit 1; }
version=$(basename "$wheel" | cut -d- -f2)
engine=
for one in ${ENGINE:-docker podman buildah}; do
    if command -v "$one" >/dev/null 2>&1 && answers "$one"; then
        engine=$one
        break
    fi
done
[ -n "$engine" ] || {
    say "no container engine answers (${ENGINE:-docker, podman, buildah}): install one, or start its service"
    exit 1
}
case $engine in
    buildah)
        buildah build --build-arg "PYTHON=${PYTHON_IMAGE:-3.13-slim}" --tag "kcli:$version" .
        container=$(buildah from "kcli:$version")
        buildah run "$container" -- kcli --version
        buildah rm "$container" >/dev/null
        ;;
    *)
        "$engine" build --build-arg "PYTHON=${PYTHON_IMAGE:-3.13-slim}" --tag "kcli:$version" .
        "$engine" run --rm "kcli:$version" --version
        ;;
esac
