"""A relay of datagrams between the emulated path and the server: it loses, corrupts and delays
nothing by itself, but does what a test case orders. It keeps a capture of the server's side."""

import random
import select
import socket
import struct
import time

PORT = 443
# Addresses of the relay on the server's network, which stand for those of a client.
CLIENTS = [f"10.99.0.{host}" for host in range(1, 21)]
SERVER = "10.99.0.100"
# Link type of bare IP packets in a capture.
RAW_IP = 101


class Capture:
    """A pcap file of UDP datagrams over IPv4."""

    def __init__(self, file):
        self.file = open(file, "wb", buffering=0)
        self.file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, RAW_IP))

    def add(self, source, destination, payload):
        length = 28 + len(payload)
        head = struct.pack("!BBHHHBBH4s4sHHHH", 0x45, 0, length, 0, 0, 64, 17, 0,
                           socket.inet_aton(source[0]), socket.inet_aton(destination[0]),
                           source[1], destination[1], length - 20, 0)
        now = time.time()
        record = struct.pack("<IIII", int(now), int(now % 1 * 1e6), length, length)
        self.file.write(record + head + payload)


class Direction:
    """What happens to the datagrams of one direction."""

    def __init__(self, orders, to_server, seed):
        self.random = random.Random(f"{seed} {to_server}")
        self.loss = orders.get("loss", 0)
        self.corruption = orders.get("corruption", 0)
        self.burst = orders.get("burst", 1)
        self.drops = set(orders.get("drop_to_server", [])) if to_server else set()
        self.count, self.in_a_row = 0, 0

    def passed(self, data):
        """Returns the datagram as it arrives, or None if it is lost."""
        self.count += 1
        if self.count in self.drops:
            return None
        hit = self.random.random() < max(self.loss, self.corruption)
        hit = hit and self.in_a_row < self.burst
        self.in_a_row = self.in_a_row + 1 if hit else 0
        if not hit:
            return data
        if self.loss:
            return None
        damaged = bytearray(data)
        damaged[self.random.randrange(len(damaged))] ^= 1 << self.random.randrange(8)
        return bytes(damaged)


def run(listen, orders, seed, capture, ended):
    """Relays until `ended` returns true."""
    outside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outside.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    outside.bind((listen, PORT))
    capture = Capture(capture)
    to_server, to_client = Direction(orders, True, seed), Direction(orders, False, seed)
    first_rebind, rebind_interval = orders.get("rebind", (float("inf"), 1))
    on, off = orders.get("blackhole", (1, 0))
    # Each client (the handshakes of a test case have ports of their own) has a socket of its own.
    inside, clients, begun = {}, {}, None

    def connect(client, number):
        address = CLIENTS[number % len(CLIENTS)] if orders.get("rebind_address") else CLIENTS[0]
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        made.bind((address, 0))
        inside[client] = made
        clients[made] = client

    number, next_rebind = 0, None
    while not ended():
        now = time.monotonic()
        if next_rebind is not None and now >= next_rebind:
            number, next_rebind = number + 1, next_rebind + rebind_interval
            for client in list(inside):
                # The old binding is gone, as behind a NAT that has forgotten it.
                old = inside[client]
                del clients[old]
                old.close()
                connect(client, number)
        dark = begun is not None and (now - begun) % (on + off) >= on
        ready, _, _ = select.select([outside, *clients], [], [], 0.05)
        for ready_socket in ready:
            data, source = ready_socket.recvfrom(65535)
            if begun is None:
                begun, next_rebind = now, now + first_rebind
            if ready_socket is outside:
                if source not in inside:
                    connect(source, number)
                made = inside[source]
                data = None if dark else to_server.passed(data)
                if data is not None:
                    made.sendto(data, (SERVER, PORT))
                    capture.add(made.getsockname(), (SERVER, PORT), data)
            else:
                capture.add((SERVER, PORT), ready_socket.getsockname(), data)
                data = None if dark else to_client.passed(data)
                if data is not None:
                    outside.sendto(data, clients[ready_socket])
