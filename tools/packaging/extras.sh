# shellcheck shell=sh disable=SC2154 # tools: in the script that reads this file
# What the .pex and the .deb bring, as both cannot be extended; sourced by their scripts.
#
# Not spark, whose users have a Spark, nor lake and sql, whose libraries are larger than all others together, nor kerberos,
# which is compiled against the libraries of the system.
extras='sandbox fast schemas zookeeper keyring exporter pkcs12 msk-iam glue'

# requirements FILE: these extras in the versions of requirements.lock, with hashes.
requirements() {
    # shellcheck disable=SC2046,SC2086 # words are meant
    "$tools/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
        --no-emit-index-url --no-emit-find-links --constraints requirements.lock \
        $(printf -- '--extra %s ' $extras) pyproject.toml -o "$1" >/dev/null
}
