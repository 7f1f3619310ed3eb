#!/bin/bash
# A small endpoint of the QUIC interop runner on quinn, for scripts/interop-cases.
exec "$PEER_HOME/bin/peer-quinn" interop
