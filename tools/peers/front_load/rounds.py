"""The rounds: each proxy in turn, started anew for each number of connections."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

from tools.peers import quic_go
from tools.peers.front_beside.rounds import connects, free_ports
from tools.peers.front_beside.running import start
from tools.peers.front_load.servers import SERVERS, UPSTREAM, Places
from tools.running import waited

HERE = Path(__file__).resolve().parent
CERTIFICATES = HERE.parent / "front_beside/programs/certificates.py"
HOST = "a.test"
# Connections that take the large file.
LARGE = 20
TICKS = os.sysconf("SC_CLK_TCK")


def run(arguments, folder):
    """Returns a row for each proxy, round and number of connections."""
    folder.chmod(0o755)
    subprocess.run([arguments.python, CERTIFICATES, folder, HOST], check=True)
    www = folder / "www"
    www.mkdir()
    for name, size in (("1k", 1000), ("1m", 1_000_000)):
        (www / name).write_bytes(os.urandom(size))
    client = folder / "load"
    if why := quic_go.build(HERE / "programs/load.go", client):
        raise SystemExit(f"the client is missing: {why}")
    upstream, port = free_ports(2)
    places = Places(folder, upstream, port, arguments)
    rows = []
    with contextlib.ExitStack() as stack:
        start(stack, UPSTREAM(places), dict(os.environ))
        if not waited(lambda: connects(upstream), 20):
            raise SystemExit("the web server does not listen")
        for number in range(arguments.rounds):
            for connections in arguments.connections.split(","):
                for server in arguments.servers.split(","):
                    asked = [("1k", int(connections), arguments.requests)]
                    if connections == arguments.connections.split(",", 1)[0]:
                        asked.append(("1m", LARGE, arguments.megabytes))
                    for file, clients, requests in asked:
                        row = one(places, client, server, (file, clients, requests))
                        rows.append({"round": number, "server": server, "file": file, **row})
                        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def one(places, client, server, asked):
    """Starts a proxy, opens connections to it and asks. Returns the figures."""
    file, connections, requests = asked
    with contextlib.ExitStack() as stack:
        ready = server == "front"
        proxy = start(stack, SERVERS[server](places), environment(places), ready=ready)
        if not waited(lambda: holds(places.port), 20):
            raise SystemExit(f"{server} does not listen")
        before = memory(proxy.pid)
        begun = processor(proxy.pid)
        command = [str(client), str(places.port), str(places.folder / "ca.pem"), HOST, f"/{file}",
                   str(connections), str(requests)]
        load = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        stack.callback(load.kill)
        opened = json.loads(load.stdout.readline())
        connected, grown = processor(proxy.pid), memory(proxy.pid) - before
        load.stdin.write("go\n")
        load.stdin.flush()
        done = json.loads(load.stdout.readline())
        used = processor(proxy.pid) - connected
        load.wait()
    return {
        "connections": connections, "requests": done["ok"], "failed": opened["failed"]
        + done["failed"], "why": opened["why"] or done["why"], "seconds": done["seconds"],
        "p99_ms": done["p99_ms"], "cpu_s": used, "connect_cpu_s": connected - begun,
        "rss_kb": grown, "bytes": done["bytes"],
    }


def environment(places):
    return {**os.environ, "HOME": str(places.folder)}


def family(pid):
    """Returns a process and those below it."""
    found = [pid]
    for each in found:
        children = Path(f"/proc/{each}/task/{each}/children")
        with contextlib.suppress(FileNotFoundError):
            found += [int(child) for child in children.read_text().split()]
    return found


def processor(pid):
    """Returns the processor time of a program, in seconds (proc_pid_stat(5))."""
    ticks = 0
    for each in family(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def memory(pid):
    """Returns the memory of a program that no other has, in kB."""
    kilobytes = 0
    for each in family(pid):
        for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            if line.startswith(("Private_Clean", "Private_Dirty")):
                kilobytes += int(line.split()[1])
    return kilobytes


def holds(port):
    """Whether a program has the UDP port of the loopback (proc_net_udp(5))."""
    lines = Path("/proc/net/udp").read_text().splitlines()[1:]
    return any(line.split()[1] == f"0100007F:{port:04X}" for line in lines)
