"""The part of a test case that runs in the namespaces of the emulator, as root.

    inside.py server|client FOLDER     starts the endpoint of a side, and what it needs
    inside.py endpoint ROLE FOLDER     in a mount namespace of its own: binds the directories that
                                       the runner's contract names, and becomes the endpoint
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[3])
from tools.peers.interop_cases import relay  # noqa: E402

TCP_PORT = 5201
SELF = str(Path(__file__).resolve())


def endpoint(role, folder):
    """Binds /certs, /www, /downloads and /logs in a root of our own; runs the endpoint there."""
    orders = json.loads((folder / "orders.json").read_text())
    root = folder / role / "root"
    root.mkdir()
    mount("-t", "tmpfs", "tmpfs", root)
    for entry in Path("/").iterdir():
        place = root / entry.name
        if entry.is_symlink():
            place.symlink_to(os.readlink(entry))
        elif entry.is_dir():
            place.mkdir()
            mount("--rbind", entry, place)
    logs = folder / role / "logs"
    for source, name in [(folder / "certs", "certs"), (folder / role / "www", "www"),
                         (folder / role / "downloads", "downloads"), (logs, "logs")]:
        (root / name).mkdir(exist_ok=True)
        mount("--bind", source, root / name)
    mount("--bind", folder / "hosts", root / "etc/hosts")
    environment = dict(os.environ) | orders[role]["environment"] | {
        "ROLE": role, "SSLKEYLOGFILE": "/logs/keys.log", "QLOGDIR": "/logs/qlog/"}
    os.chroot(root)
    os.chdir("/")
    command = orders[role]["command"]
    os.execvpe(command[0], command, environment)


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def start(role, folder, before=()):
    """Starts the endpoint; its output goes to its folder."""
    with open(folder / role / "output", "wb") as output:
        words = [*before, "unshare", "--mount", sys.executable, SELF, "endpoint", role, str(folder)]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def nested_network():
    """Makes a network for the server behind this namespace. Returns the words that enter it."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "1000"])
    own = os.stat("/proc/self/ns/net").st_ino
    while os.stat(f"/proc/{holder.pid}/ns/net").st_ino == own:
        time.sleep(0.01)
    enter = ["nsenter", "--target", str(holder.pid), "--net"]

    def ip(words, before=()):
        subprocess.run([*before, "ip", *words.split()], check=True)

    ip(f"link add relay0 type veth peer name relay1 netns {holder.pid}")
    for address in relay.CLIENTS:
        ip(f"address add {address}/24 dev relay0")
    ip("link set relay0 up")
    ip(f"address add {relay.SERVER}/24 dev relay1", enter)
    ip("link set relay1 up", enter)
    ip("link set lo up", enter)
    return enter, holder.pid


def listens(pid):
    """Returns whether a UDP socket is bound to the port, in the network namespace of a process."""
    for family in ("udp", "udp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]
        except OSError:
            continue
        if any(line.split()[1].endswith(f":{relay.PORT:04X}") for line in lines):
            return True
    return False


def server(folder):
    orders = json.loads((folder / "orders.json").read_text())
    # `bentpipe shell` starts the client once something listens for TCP.
    listener = tcp_listener()
    before, network = ([], os.getpid())
    if orders["relay"]:
        before, network = nested_network()
    process = start("server", folder, before)

    def ended():
        status = process.poll()
        if status is not None:
            (folder / "server/status").write_text(str(status))
        return status is not None

    while not listens(network):
        if ended():
            return
        time.sleep(0.02)
    if orders["cross_traffic"]:
        threading.Thread(target=send_tcp, daemon=True, args=(listener,)).start()
    if orders["relay"]:
        threading.Thread(target=relay.run, daemon=True, args=(
            orders["address"], orders["relay"], orders["seed"], folder / "relay.pcap",
            lambda: False)).start()
        while not listens(os.getpid()):
            time.sleep(0.02)
    (folder / "ready").touch()
    while not ended():
        time.sleep(0.1)


def client(folder):
    orders = json.loads((folder / "orders.json").read_text())
    limit = time.monotonic() + 60
    while not (folder / "ready").exists():
        if (folder / "server/status").exists() or time.monotonic() > limit:
            return
        time.sleep(0.02)
    if orders["cross_traffic"]:
        threading.Thread(target=receive_tcp, daemon=True, args=(orders["address"],)).start()
    process = start("client", folder)
    try:
        status = process.wait(orders["timeout"])
    except subprocess.TimeoutExpired:
        process.kill()
        status = "timeout"
    (folder / "client/status").write_text(str(status))
    # The last packets cross the path.
    time.sleep(0.3)


def tcp_listener():
    listener = socket.socket()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    listener.bind(("", TCP_PORT))
    listener.listen()
    return listener


def send_tcp(listener):
    """Sends to a client without end, with CUBIC."""
    connection, _ = listener.accept()
    try:
        while True:
            connection.sendall(bytes(65536))
    except OSError:
        pass


def receive_tcp(address):
    connection = socket.create_connection((address, TCP_PORT))
    while connection.recv(65536):
        pass


if __name__ == "__main__":
    part, *rest = sys.argv[1:]
    if part == "endpoint":
        endpoint(rest[0], Path(rest[1]))
    else:
        {"server": server, "client": client}[part](Path(rest[0]))
