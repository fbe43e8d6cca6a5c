# One step of the plan: whole distributions, each by its URL and hash, on top of the parent's.
# Valid for the classic builder and for BuildKit.
ARG BASE
FROM ${BASE}
ARG STEP
LABEL io.orchestrator.tool="matrix-orchestrator" io.orchestrator.step="${STEP}"

# requirements.txt, and where they are needed the host's certificates and wheels that no index serves.
COPY context /tmp/build

# uv unpacks into its cache and hard-links from there: the cache has to lie in the same layer, and to be gone from it
# when the instruction ends. Bytecode is left out, it would add a tenth to every layer.
RUN cd /tmp/build \
 && if [ -f certificates.pem ]; then export SSL_CERT_FILE=/tmp/build/certificates.pem; fi \
 && UV_CACHE_DIR=/opt/venv/.cache UV_LINK_MODE=hardlink UV_NO_CONFIG=1 UV_HTTP_TIMEOUT=30 \
    /opt/uv/uv pip install --python /opt/venv/bin/python --no-deps --require-hashes --no-index -r requirements.txt \
 && rm -rf /opt/venv/.cache /tmp/build
