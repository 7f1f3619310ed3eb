"""The rounds: paths, sizes, clients and runs, each with new servers."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tools.peers import quic_go
from tools.running import ROOT

HERE = Path(__file__).resolve().parent
CERTIFICATES = HERE.parent / "front_beside/programs/certificates.py"
HOST = "a.test"
# An RTT of 600 ms and a queue of one BDP, at 20 Mbps; the same at 50.
PATHS = {
    "geo-20": ["fau-sat"],
    "geo-50": ["fau-sat", "--set", 'path.forward.rate="50 Mbps"',
               "--set", 'path.return.rate="5 Mbps"'],
    "leo": ["leo"],
}
# What each client can ask, by the names of the servers.
ASKED = {
    "get": ["front", "nginx-h3", "caddy-h3"],
    "go": ["front", "nginx-h3", "caddy-h3", "nginx-h2"],
    "chromium": ["front", "nginx-h3", "caddy-h3", "nginx-h2"],
}


def run(arguments, folder):
    """Returns a row for each visit: path, size, client, server, run, visit, seconds."""
    folder.chmod(0o755)
    subprocess.run([arguments.python, CERTIFICATES, folder, HOST], check=True)
    sizes = [float(size) for size in arguments.sizes.split(",")]
    www = folder / "www"
    www.mkdir()
    for size in sizes:
        (www / file_name(size)).write_bytes(os.urandom(int(size * 1e6)))
    clients = [client for client in arguments.clients.split(",")
               if usable(client, arguments, folder)]
    rows = []
    for number in range(arguments.runs):
        for path in arguments.paths.split(","):
            for size in sizes:
                for client in clients:
                    rows += once(arguments, folder, (path, size, client, number))
                    print(f"run {number + 1}: {path} {size:g} MB {client}", file=sys.stderr)
        if arguments.json:
            # What takes an hour is kept if it is interrupted.
            arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return rows


def file_name(size):
    return f"{size:g}m"


def usable(client, arguments, folder):
    """Returns whether there is what a client needs, and says what is missing."""
    why = None
    if client == "go":
        why = quic_go.build(HERE / "programs/visits.go", folder / "visits")
    elif client == "chromium":
        if not shutil.which("chromium"):
            why = "chromium is not installed"
        elif not (arguments.modules / "node_modules/playwright-core").exists():
            why = f"playwright-core is missing in {arguments.modules}"
    if why:
        print(f"{client} is left out: {why}", file=sys.stderr)
    return not why


def once(arguments, folder, place):
    """Visits all servers once, over a path of its own."""
    path, size, client, number = place
    asked = [server for server in ASKED[client] if server in arguments.servers.split(",")]
    turn = number % len(asked)
    own = folder / "run"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    spec = {
        "folder": str(folder), "run": str(own), "file": file_name(size), "client": client,
        "asked": asked[turn:] + asked[:turn], "visits": arguments.visits,
        "bentpipe": str(arguments.bentpipe.resolve()), "nginx": arguments.nginx,
        "caddy": arguments.caddy, "modules": str(arguments.modules.resolve()),
    }
    (own / "spec.json").write_text(json.dumps(spec))
    python = [sys.executable, "-m"]
    serve = shlex.join([*python, "tools.peers.front_benefit.servers", str(own), "{server}"])
    command = [arguments.bentpipe, "shell", *PATHS[path], "--serve", serve, "--", *python,
               "tools.peers.front_benefit.visits", str(own), "{server}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    times = {}
    with contextlib.suppress(FileNotFoundError):
        times = json.loads((own / "times.json").read_text())
    if done.returncode or len(times) < len(asked):
        print(f"{place}: status {done.returncode}\n{done.stderr[-2000:]}", file=sys.stderr)
    return [{"path": path, "size": size, "client": client, "server": server, "run": number,
             "visit": visit + 1, "seconds": seconds}
            for server, visits in times.items() for visit, seconds in enumerate(visits)]
