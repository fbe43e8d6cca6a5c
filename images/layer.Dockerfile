# One step of the plan: whole distributions, each by its hash, on top of the parent's, in one layer.
# Valid for the classic builder and for BuildKit.
ARG BASE
FROM ${BASE}
ARG STEP
LABEL io.orchestrator.tool="matrix-orchestrator" io.orchestrator.step="${STEP}"

# What to install and from where, and what must be there afterwards besides the parent's: name==version, one a line.
ARG REQUIREMENTS
ARG LOCKED

# Only where wheels cannot be had from the host that builds: its certificates, and wheels that no index serves.
# COPY context /tmp/build

# uv unpacks into its cache and hard-links from there: the cache has to lie in the same layer, and to be gone from it
# when the instruction ends. Bytecode is left out, it would add a tenth to every layer. Then what is installed is
# compared with everything that is locked so far: a wheel may be another one than its name says.
RUN mkdir -p /tmp/build && cd /tmp/build \
 && export LC_ALL=C UV_NO_CONFIG=1 UV_CACHE_DIR=/opt/venv/.cache NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 \
 && if [ -f certificates.pem ]; then export SSL_CERT_FILE=/tmp/build/certificates.pem; fi \
 && printf '%s\n' "$REQUIREMENTS" > requirements.txt \
 && if [ -n "$LOCKED" ]; then printf '%s\n' "$LOCKED" >> /opt/venv/locked.txt && UV_LINK_MODE=hardlink UV_HTTP_TIMEOUT=600 \
    /opt/uv/uv pip install --python /opt/venv/bin/python --no-deps --require-hashes -r requirements.txt; fi \
 && touch /opt/venv/locked.txt && sort -o /opt/venv/locked.txt /opt/venv/locked.txt \
 && /opt/uv/uv pip list --python /opt/venv/bin/python --format freeze | sort > installed.txt \
 && differ=$(comm -3 /opt/venv/locked.txt installed.txt | tr -s '\t\n' ' ') \
 && if [ -n "$differ" ]; then echo "error: what is installed is not what is locked: $differ"; exit 1; fi \
 && rm -rf /opt/venv/.cache /tmp/build
