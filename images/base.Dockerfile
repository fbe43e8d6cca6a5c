# What lies below every cell of one Python: the interpreter, an empty virtual environment, and where results go.
# Valid for the classic builder and for BuildKit.
ARG BASE
FROM ${BASE}
ARG STEP
LABEL io.orchestrator.tool="matrix-orchestrator" io.orchestrator.step="${STEP}"

# The installer is the host's own: nothing is downloaded here.
COPY uv /opt/uv/uv

# Fails where the image has another Python than the matrix says.
ARG PYTHON
RUN python3 -c "import sys; found = '%d.%d' % sys.version_info[:2]; sys.exit(0 if found == '${PYTHON}' else 'this image has Python ' + found + ', not ${PYTHON}')" \
 && UV_PYTHON_DOWNLOADS=never /opt/uv/uv --no-cache venv --quiet --python "$(command -v python3)" /opt/venv \
 && install -d -m 1777 /out
