# What lies below a cell whose packages are in an image already: that image, its own Python as it finds it, a list of
# what that has installed, and where results go. Nothing is installed.
# Valid for the classic builder and for BuildKit.
ARG BASE
FROM ${BASE}
ARG STEP
LABEL io.orchestrator.tool="matrix-orchestrator" io.orchestrator.step="${STEP}"

# Who wrote the image may have left another user; probes run as one that the image does not know.
USER root

# A script and no link: a virtual environment is known by where its Python is. The list is read as the user that
# probes run as, so that an image whose Python only root can use is known before anything runs in it.
ARG PYTHON
RUN python=$(command -v python3 || command -v python) || { echo 'error: this image has no python on its PATH'; exit 1; } \
 && case "$python" in /opt/venv/bin/*) ;; \
      *) if [ -e /opt/venv ]; then echo "error: this image has an /opt/venv, and its Python is $python"; exit 1; fi; \
         mkdir -p /opt/venv/bin; printf '#!/bin/sh\nexec %s "$@"\n' "$python" > /opt/venv/bin/python; chmod 755 /opt/venv/bin/python ;; \
    esac \
 && /opt/venv/bin/python -c "import sys; found = '%d.%d' % sys.version_info[:2]; sys.exit(0 if found == '${PYTHON}' else 'error: this image has Python ' + found + ', not ${PYTHON}')" \
 && mkdir -p /opt/orchestrator /out && chmod 1777 /out && cd / \
 && HOME=/nonexistent "$python" -c "import os; os.setgroups([]); os.setgid(12345); os.setuid(12345); os.execv('/opt/venv/bin/python', ['python', '-c', 'import importlib.metadata as m, json; found = {}; [found.setdefault(d.metadata[\"Name\"], d.version) for d in m.distributions() if d.metadata[\"Name\"]]; print(json.dumps(found))'])" > /opt/orchestrator/contents.json \
 || { echo 'error: the Python of this image cannot be used here, see above'; exit 1; }
