#!/bin/bash
# quic-go's own endpoint of the QUIC interop runner, for tools/peers/interop-cases.
set -e
if [ "$ROLE" = client ]; then
    # One argument for each URL.
    exec "$PEER_HOME/bin/interop-client" $REQUESTS
fi
exec "$PEER_HOME/bin/interop-server"
