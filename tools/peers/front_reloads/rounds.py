"""Everything is started, put under load, reloaded, and counted."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tools.peers import quic_go
from tools.peers.front_beside import servers
from tools.peers.front_beside.rounds import OWN, connects, free_ports
from tools.peers.front_beside.running import start
from tools.peers.front_beside.servers import Places
from tools.running import waited

HERE = Path(__file__).resolve().parent
HOST = "a.test"
DOWNLOAD = 20_000_000
# Reloads between two upgrades.
UPGRADES = 5
# The longest that a process may take to hand over.
LIMIT_S = 60


class Front:
    """The front, whose process changes: each tells its service manager the next one."""

    def __init__(self, stack, bentpipe, places):
        self.bentpipe, self.own = bentpipe, places.folder / "bentpipe"
        self.manager = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.manager.bind(str(places.folder / "notify"))
        self.manager.settimeout(LIMIT_S)
        self.upgrade()
        command = [str(self.own), "front", "--certs", str(places.folder / "live"), "--upstream",
                   f"http://127.0.0.1:{places.application}", "--listen",
                   f"127.0.0.1:{places.port}", "--no-store", "--log", "none"]
        environment = {**os.environ, "NOTIFY_SOCKET": str(places.folder / "notify")}
        self.process = start(stack, command, environment, ready=True).pid
        stack.callback(lambda: os.kill(self.process, signal.SIGTERM))

    def upgrade(self):
        """Replaces the file, as a package does it."""
        new = self.own.with_suffix(".new")
        shutil.copy(self.bentpipe, new)
        new.rename(self.own)

    def reload(self, number):
        if number % UPGRADES == UPGRADES - 1:
            self.upgrade()
        os.kill(self.process, signal.SIGHUP)
        while True:
            told = self.manager.recv(100).decode()
            if told.startswith("MAINPID="):
                self.process = int(told.removeprefix("MAINPID="))
                return


class Nginx:
    def __init__(self, stack, programs, places):
        command = servers.nginx(places, programs)
        self.process = start(stack, command, programs.environment).pid

    def reload(self, _):
        os.kill(self.process, signal.SIGHUP)


class Caddy:
    def __init__(self, stack, programs, places):
        command = servers.caddy(places, programs)
        self.file, self.admin = Path(command[-1]), f"unix/{places.folder}/admin"
        text = self.file.read_text().replace("admin off", f"admin {self.admin}")
        self.file.write_text(text)
        self.programs = programs
        start(stack, command, {**programs.environment, "HOME": str(places.folder)})

    def reload(self, _):
        subprocess.run([self.programs.find("caddy"), "reload", "--force", "--adapter", "caddyfile",
                        "--config", str(self.file), "--address", self.admin], check=True,
                       env=self.programs.environment, capture_output=True)


def run(arguments, programs, folder):
    """Returns a row of counts for each server."""
    folder.chmod(0o755)
    subprocess.run([programs.python, OWN / "certificates.py", folder, HOST], check=True)
    www = folder / "www" / HOST
    www.mkdir(parents=True)
    (www / "large").write_bytes(os.urandom(DOWNLOAD))
    client = folder / "load"
    if why := quic_go.build(HERE / "programs/load.go", client):
        raise SystemExit(f"the client is missing: {why}")
    with contextlib.ExitStack() as stack:
        application, grpc, *ports = free_ports(5)
        start(stack, [str(programs.python), str(OWN / "application.py"), str(application),
                      str(folder / "www")], programs.environment, ready=True)
        running = {}
        for name, port in zip(arguments.servers.split(","), ports, strict=False):
            own = folder / name
            own.mkdir()
            for shared in ("live", "www"):
                (own / shared).symlink_to(folder / shared)
            places = Places(own, [HOST], port, application, grpc)
            if name == "front":
                server = Front(stack, arguments.bentpipe, places)
            elif not programs.find(name):
                print(f"{name} is not installed", file=sys.stderr)
                continue
            else:
                server = {"nginx": Nginx, "caddy": Caddy}[name](stack, programs, places)
                if not waited(lambda port=port: connects(port), 20):
                    raise SystemExit(f"{name} does not listen")
            running[name] = (server, load(stack, client, folder, name, port))
        spent = reloads(arguments, running)
        return [counted(name, process, spent[name]) for name, (_, process) in running.items()]


def load(stack, client, folder, name, port):
    """Starts the clients of a server."""
    protocol = "h3" if name == "front" else "h2"
    process = subprocess.Popen([str(client), protocol, str(port), str(folder / "ca.pem"), HOST],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stack.callback(process.kill)
    return process


def reloads(arguments, running):
    """Reloads all of them, so many times. Returns the longest time that each took."""
    longest = dict.fromkeys(running, 0.0)
    time.sleep(arguments.interval)
    for number in range(arguments.reloads):
        for name, (server, _) in running.items():
            begin = time.monotonic()
            server.reload(number)
            longest[name] = max(longest[name], time.monotonic() - begin)
        time.sleep(arguments.interval)
    return longest


def counted(name, process, longest):
    """Lets the clients finish what they do. Returns what they counted."""
    counts, _ = process.communicate("stop\n", timeout=300)
    return {"server": name, "longest_reload_s": longest, **json.loads(counts)}


KINDS = ("requests", "downloads", "uploads")


def failures(row):
    return sum(row[f"{kind}_failed"] for kind in KINDS)


def table(rows):
    lines = [f"{'server':8}" + "".join(f"{kind:>22}" for kind in KINDS) + "  first failure"]
    for row in rows:
        cells = [f"{row[f'{kind}_failed']} of {row[kind]} failed" for kind in KINDS]
        why = f"  {row['why']}" if row["why"] else ""
        lines.append(f"{row['server']:8}" + "".join(f"{cell:>22}" for cell in cells) + why)
    return "\n".join(lines)
