#!/bin/bash
# The endpoint's side of the contract of the QUIC interop runner: the runner starts it in the image's
# container, and scripts/interop-cases in a namespace.
set -e

# Routes through the runner's simulator, which its base image sets up. Without it there are none.
[ ! -x /setup.sh ] || /setup.sh
if [ "$ROLE" = client ] && [ -x /wait-for-it.sh ]; then
    /wait-for-it.sh sim:57832 -s -t 30
fi

# CLIENT_PARAMS and SERVER_PARAMS have no meaning here: all that a test case needs is in TESTCASE.
exec "${BENTPIPE_ENDPOINT:-/usr/local/bin/quic-interop}"
