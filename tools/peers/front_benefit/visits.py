"""Visits the servers from the near end of the path: visits RUN_FOLDER ADDRESS."""

import json
import subprocess
import sys
from pathlib import Path

from tools.peers.front_benefit.servers import PORTS
from tools.running import waited

HERE = Path(__file__).resolve().parent
HOST = "a.test"
# Between two visits, each on a connection of its own.
PAUSE_S = 2
LIMIT_S = 180


def main(run, address):
    run = Path(run)
    spec = json.loads((run / "spec.json").read_text())
    ready = run / "ready"
    if not waited(ready.exists, 30) or ready.read_text() != "yes":
        sys.exit(ready.read_text() if ready.exists() else "the servers have not started")
    times = {}
    for server in spec["asked"]:
        name, _, protocol = server.partition("-")
        target = (address, PORTS[name], protocol or "h3")
        try:
            times[server] = CLIENTS[spec["client"]](run, spec, target)
        except (subprocess.SubprocessError, KeyError, ValueError) as error:
            print(f"{server}: {error}", file=sys.stderr)
    (run / "times.json").write_text(json.dumps(times))


def get(run, spec, target):
    address, port, _ = target
    urls = [f"https://{HOST}:{port}/{spec['file']}"] * spec["visits"]
    shown = output([spec["bentpipe"], "get", *urls, "--no-reuse", "--pause", f"{PAUSE_S} s",
                    "--discard", "--http3-only", "--json", "--resolve", f"{HOST}={address}",
                    "--ca", f"{spec['folder']}/ca.pem", "--tokens", str(run / f"{port}.tokens")])
    return [visit["completion_s"] for visit in json.loads(shown)["downloads"]]


def go(_, spec, target):
    address, port, protocol = target
    shown = output([f"{spec['folder']}/visits", protocol, address, str(port),
                    f"{spec['folder']}/ca.pem", HOST, f"/{spec['file']}", str(spec["visits"]),
                    str(PAUSE_S)])
    return json.loads(shown)


def chromium(_, spec, target):
    address, port, protocol = target
    shown = output(["node", str(HERE / "programs/visits.mjs"), json.dumps({
        "modules": spec["modules"], "protocol": protocol, "host": HOST, "address": address,
        "port": port, "cert": f"{spec['folder']}/live/{HOST}/fullchain.pem",
        "path": f"/{spec['file']}", "visits": spec["visits"], "pause": PAUSE_S})])
    return json.loads(shown)


CLIENTS = {"get": get, "go": go, "chromium": chromium}


def output(command):
    """Returns what a client prints. What it says of an error goes to standard error."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S,
                          check=True).stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
