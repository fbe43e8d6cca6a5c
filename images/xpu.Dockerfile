# The user-space driver of Intel GPUs, for computing: Level Zero and its loader, and the OpenCL driver. The kernel's
# part stays on the host, and wheels bring the SYCL runtime. Made on Ubuntu 22.04 (jammy) or 24.04 (noble).
# Valid for the classic builder and for BuildKit.
ARG BASE
FROM ${BASE}
ARG STEP
LABEL io.orchestrator.tool="matrix-orchestrator" io.orchestrator.step="${STEP}"

# Which driver: rolling, lts/2523, or lts/2350 (jammy only, and its packages have other names).
ARG TRAIN=rolling
# Other packages than the train's own, each as apt takes it: `libze1=1.20.2.0-1098~22.04` pins one.
ARG PACKAGES=
# What else to install: `clinfo xpu-smi` to diagnose, `intel-ocloc` to compile ahead, `g++ python3-dev` for inductor.
ARG EXTRA=
ARG REPOSITORY=https://repositories.intel.com/gpu/ubuntu
ARG KEY=https://repositories.intel.com/gpu/intel-graphics.key
# The SHA-256 of the key's file, compared where it is given; without it, TLS alone vouches for the key.
ARG KEY_SHA256=
# The distribution's name in the repository, where that is not its own.
ARG SUITE=

# The host's certificates are there only where TLS failed without them.
COPY Dockerfile* certificates.pem* /tmp/build/

# Debian's and Ubuntu's own archives are signed and need no TLS: what TLS needs comes first, from them. What was
# installed is listed in the image; the repository is not left behind, a cell could not reach it anyway.
RUN export LC_ALL=C DEBIAN_FRONTEND=noninteractive && mkdir -p /opt/orchestrator \
 && printf '%s\n' 'APT::Update::Error-Mode "any";' 'Acquire::Retries "3";' 'APT::Install-Recommends "false";' > /etc/apt/apt.conf.d/90orchestrator \
 && if [ -f /tmp/build/certificates.pem ]; then export SSL_CERT_FILE=/tmp/build/certificates.pem; \
    echo 'Acquire::https::CAInfo "/tmp/build/certificates.pem";' >> /etc/apt/apt.conf.d/90orchestrator; fi \
 && apt-get update -q \
 && apt-get install -q -y python3 ca-certificates \
 && suite="${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}" \
 && case "$TRAIN" in \
      rolling) place="$suite"; packages='libze1 libze-intel-gpu1 intel-opencl-icd' ;; \
      lts/2350) place="$suite/$TRAIN"; packages='intel-opencl-icd intel-level-zero-gpu level-zero' ;; \
      lts/*) place="$suite/$TRAIN"; packages='libze1 libze-intel-gpu1 intel-opencl-icd' ;; \
      *) echo "error: TRAIN is '$TRAIN', and has to be rolling or lts/ with a number"; exit 1 ;; \
    esac \
 && python3 -c "import hashlib, sys, urllib.request as u; d = u.urlopen(sys.argv[1], timeout=60).read(); f = hashlib.sha256(d).hexdigest(); sys.exit('error: the key at ' + sys.argv[1] + ' has the SHA-256 ' + f) if sys.argv[2] not in ('', f) else open('/usr/share/keyrings/intel-graphics.asc' if d.startswith(b'-----') else '/usr/share/keyrings/intel-graphics.gpg', 'wb').write(d)" "$KEY" "$KEY_SHA256" \
 && echo "deb [arch=amd64 signed-by=$(echo /usr/share/keyrings/intel-graphics.*)] $REPOSITORY $place unified" > /etc/apt/sources.list.d/intel-graphics.list \
 && apt-get update -q \
 && apt-get install -q -y ${PACKAGES:-$packages} $EXTRA \
 && dpkg-query -W -f '${Package}=${Version}\n' | sort > /opt/orchestrator/packages.txt \
 && rm -rf /etc/apt/sources.list.d/intel-graphics.list /usr/share/keyrings/intel-graphics.* /etc/apt/apt.conf.d/90orchestrator \
    /tmp/build /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb /var/log/apt /var/log/dpkg.log
