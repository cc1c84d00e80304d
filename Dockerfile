# kcli as a container image, from the wheel and the locked versions. `make image` builds it after `make dist`.
#
# Without the Java that `kcli sandbox` and `kcli demo` need: these start brokers, which have images of their own.
ARG PYTHON=3.13-slim

FROM python:${PYTHON} AS build
COPY requirements.lock dist/kcli_kafka-*-abi3-manylinux*.whl /build/
# The versions of the lock, as constraints: pip compares hashes only where every requirement has one.
RUN sed -n 's/^\([a-z0-9.-]*==[^ ]*\)\( ;[^\\]*\)\{0,1\}.*/\1\2/p' /build/requirements.lock >/build/versions.txt \
    && python -m venv /opt/kcli \
    && wheel=$(ls /build/*_"$(uname -m)".whl) \
    && /opt/kcli/bin/pip install --no-cache-dir --only-binary :all: --constraint /build/versions.txt \
        "${wheel}[fast,schemas,zookeeper,exporter,pkcs12,msk-iam,glue]" \
    && /opt/kcli/bin/pip uninstall --yes pip

FROM python:${PYTHON}
LABEL org.opencontainers.image.title="kcli" \
      org.opencontainers.image.description="One fast, trustworthy command-line suite for Apache Kafka" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/kcli /opt/kcli
RUN useradd --create-home --uid 1000 kcli
USER 1000
WORKDIR /home/kcli
ENV PATH=/opt/kcli/bin:$PATH
ENTRYPOINT ["kcli"]
CMD ["--help"]
