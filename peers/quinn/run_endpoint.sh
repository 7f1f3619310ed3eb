#!/bin/bash
# A small endpoint of the QUIC interop runner on quinn, for tools/peers/interop-cases.
exec "$PEER_HOME/bin/peer-quinn" interop
