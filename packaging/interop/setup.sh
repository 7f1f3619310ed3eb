#!/bin/sh
# Prepares the container for the QUIC interop runner: routes through its network simulator, which is
# host 2 of the container's network, instead of around it.
set -e

# The simulator passes on what the kernel sends, so checksums have to be there.
ethtool -K eth0 tx off >/dev/null

# Prints the simulator's address: simulator FAMILY SEPARATOR
simulator() {
    ip "$1" addr show dev eth0 scope global |
        sed -n "s|.*inet6\? \(.*$2\)[^$2/]*/.*|\12|p" | sed q
}
ipv4=$(simulator -4 '\.')
ipv6=$(simulator -6 :)
ip -4 route add 193.167.0.0/16 via "$ipv4"
ip -4 route del "${ipv4%.*}.0/24"
if [ -n "$ipv6" ]; then
    ip -6 route add fd00:cafe:cafe::/48 via "$ipv6"
    ip -6 route del "${ipv6%:*}:/64"
fi

# The simulator listens here when it forwards. After connecting, nc becomes `true`.
if [ "$ROLE" = client ]; then
    for _ in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29; do
        ! nc -w 1 sim 57832 -e true 2>/dev/null || exit 0
        sleep 1
    done
    echo "setup.sh: the simulator does not listen" >&2
    exit 1
fi
