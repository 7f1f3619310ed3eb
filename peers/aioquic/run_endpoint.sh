#!/bin/bash
# An endpoint of the QUIC interop runner on aioquic, for tools/peers/interop-cases.
exec "$PEER_HOME/venv/bin/python" "$(dirname "$0")/endpoint.py"
