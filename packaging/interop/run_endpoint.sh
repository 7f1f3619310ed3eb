#!/bin/sh
# The endpoint's side of the contract of the QUIC interop runner: the runner starts it in the image's
# container, and tools/peers/interop-cases in a namespace.
set -e

# Routes through the runner's simulator, in the image only.
[ ! -x /setup.sh ] || /setup.sh

# CLIENT_PARAMS and SERVER_PARAMS have no meaning here: all that a test case needs is in TESTCASE.
exec "${BENTPIPE_ENDPOINT:-/usr/local/bin/quic-interop}"
