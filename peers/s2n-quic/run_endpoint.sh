#!/bin/bash
# A small endpoint of the QUIC interop runner on s2n-quic, for tools/peers/interop-cases.
exec "$PEER_HOME/bin/peer-s2n-quic" interop
