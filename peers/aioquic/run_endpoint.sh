#!/bin/bash
# An endpoint of the QUIC interop runner on aioquic, for scripts/interop-cases.
exec "$PEER_HOME/venv/bin/python" "$(dirname "$0")/endpoint.py"
