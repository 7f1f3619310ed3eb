"""A round for each web server: everything is started, asked, and ended."""

import contextlib
import hashlib
import html
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from tools.peers import quic_go
from tools.peers.front_beside import browsers
from tools.peers.front_beside.running import start
from tools.peers.front_beside.servers import SERVERS, Places
from tools.running import waited

OWN = Path(__file__).resolve().parent / "programs"
FILE = 1_000_000
# What browsers do, and tell the application.
PAGE = """<!doctype html><link rel="icon" href="data:,"><p>HOST</p><script>
const events = () => new Promise(done => {
    const source = new EventSource("/app/events"), got = []
    source.onmessage = event => { if (got.push(event.data) === 3) { source.close(); done(3) } }
    source.onerror = () => { source.close(); done(got.length) }
})
const socket = () => new Promise(done => {
    const socket = new WebSocket(`wss://${location.host}/app/ws`)
    socket.onopen = () => socket.send("hello")
    socket.onmessage = event => { done(event.data); socket.close() }
    socket.onerror = () => done("failed")
})
const upload = async () => {
    const answer = await fetch("/app/upload", {method: "POST", body: new Uint8Array(1e6)})
    return (await answer.json()).length
}
addEventListener("load", async () => {
    const protocol = performance.getEntriesByType("navigation")[0].nextHopProtocol
    const browser = navigator.userAgent.includes("Firefox") ? "firefox" : "chromium"
    const result = {browser, protocol}
    for (const [name, work] of Object.entries({events, upload, ws: socket})) {
        const late = new Promise(done => setTimeout(done, 10000, "no result within 10 s"))
        result[name] = await Promise.race([work(), late])
    }
    await fetch("/app/result", {method: "POST", body: JSON.stringify(result)})
})
</script>"""


def run(arguments, programs, folder):
    """Returns the rows of the table."""
    if not programs.python.exists():
        reason = f"{programs.python} is missing; see peers/install aioquic, or give --python"
        return [row("all", "aioquic", "everything", reason, None)]
    hosts = ["a.test", "b.test"] + [f"h{number}.test" for number in range(arguments.hosts - 2)]
    folder.chmod(0o755)
    subprocess.run([programs.python, OWN / "certificates.py", folder, *hosts], check=True)
    spec = files(folder, hosts, arguments)
    go = built(folder)
    rows = []
    for name in arguments.servers.split(","):
        program, version, command = SERVERS[name]
        if not programs.find(program):
            rows.append(row(name, "all", "everything", f"{program} is not installed", None))
            continue
        print(f"{name}: {programs.version(program, *version)}", file=sys.stderr)
        places = Places(folder, hosts, *free_ports(3))
        with contextlib.ExitStack() as stack:
            rows += one(arguments, programs, places, name, command, spec, stack, go)
    return rows


def one(arguments, programs, places, name, command, spec, stack, go):
    """Starts a web server and a front, and asks for everything."""
    python, environment = str(programs.python), programs.environment
    start(stack, [python, str(OWN / "application.py"), str(places.application),
                  str(places.folder / "www")], environment, ready=True)
    grpc, why = grpc_server(stack, python, places, environment)
    start(stack, command(places, programs), environment)
    if not waited(lambda: connects(places.port), 20):
        return [row(name, "all", "everything", f"{name} does not listen", False)]
    before = over_tcp(places, spec)
    listen = f"127.0.0.1:{places.port}"
    front = [str(arguments.bentpipe), "front", "--certs", str(places.folder / "live"),
             "--upstream", f"https://{listen}", "--listen", listen]
    started = start(stack, front, environment, ready=True)
    checked = subprocess.run([*front, "--check", "--json"], capture_output=True, text=True)
    rows = [check_row(name, checked, places)]
    asked = {**spec, "port": places.port, "ca": str(places.folder / "ca.pem"),
             "hosts": places.hosts, "megabytes": int(arguments.slow)}
    for line in lines([python, str(OWN / "http3_client.py"), json.dumps(asked)], environment):
        if line["asked"].startswith("gRPC") and not grpc:
            line["measured"], line["right"] = why, None
        rows.append(row(name, "aioquic", line["asked"], line["measured"], line["right"]))
    rows += large(name, go, places, arguments)
    rows += [row(name, browser, browsers.ASKED, *found)
             for browser, *found in browsers.visits(name, programs, places)]
    after = over_tcp(places, spec)
    text = f"{before[0]} before, {after[0]} after, {after[1]} bytes"
    rows.append(row(name, "curl", "the same over TCP, at the web server itself", text,
                    before == after and after[0].startswith("2 200")))
    if started.poll() is not None:
        rows.append(row(name, "front", "is still running", f"ended: {started.returncode}", False))
    return rows


def row(server, client, asked, measured, right):
    return {"server": server, "client": client, "asked": asked, "measured": measured,
            "right": right}


def files(folder, hosts, arguments):
    """Writes the files of the hosts. Returns what clients have to know of them."""
    content = os.urandom(FILE)
    for place, host in enumerate(hosts):
        www = folder / "www" / host
        www.mkdir(parents=True)
        (www / "index.html").write_text(PAGE.replace("HOST", html.escape(host)))
        if place < 2:
            (www / "file.bin").write_bytes(content)
            with (www / "sparse.bin").open("wb") as sparse:
                sparse.truncate(int(arguments.large * 1e6))
    return {"file_sha256": hashlib.sha256(content).hexdigest(),
            "range_sha256": hashlib.sha256(content[1000:2000]).hexdigest()}


def check_row(name, checked, places):
    try:
        report = json.loads(checked.stdout)
    except ValueError:
        return row(name, "front", "--check", checked.stderr.strip()[:100], False)
    answers = [probe.get("status") for host in report["hosts"] for probe in host["upstreams"]]
    good = sum(status == 200 for status in answers)
    text = f"{len(report['hosts'])} hosts, {good} answer 200, status {checked.returncode}"
    return row(name, "front", "--check", text, good == len(places.hosts))


def grpc_server(stack, python, places, environment):
    """Returns whether there is one, and otherwise why not."""
    if subprocess.run([python, "-c", "import grpc"], capture_output=True).returncode:
        return False, f"grpcio is not installed for {python}"
    start(stack, [python, str(OWN / "grpc_server.py"), str(places.grpc)], environment, ready=True)
    return True, ""


def large(name, go, places, arguments):
    program, why = go
    if not program:
        return [row(name, "quic-go", "large transfers", why, None)]
    size = (places.folder / "www/a.test/sparse.bin").stat().st_size
    command = [program, str(places.port), str(places.folder / "ca.pem"), "a.test",
               str(int(arguments.upload * 1e6)), str(size)]
    found = lines(command, dict(os.environ))
    rows = [row(name, "quic-go", line["asked"], line["measured"], line["right"]) for line in found]
    return rows or [row(name, "quic-go", "large transfers", "nothing was printed", False)]


def built(folder):
    """Builds the client on quic-go. Returns its path, or None and why."""
    client = folder / "quic-go"
    why = quic_go.build(OWN / "quic_go.go", client)
    return (None, why) if why else (str(client), "")


def over_tcp(places, spec):
    """Asks the web server itself for a file. Returns its version and status, size and hash."""
    url = f"https://a.test:{places.port}/file.bin"
    got = subprocess.run(
        ["curl", "-sS", "--cacert", str(places.folder / "ca.pem"), "--resolve",
         f"a.test:{places.port}:127.0.0.1", "-o", str(places.folder / "curl.bin"), "-w",
         "%{http_version} %{http_code}", url], capture_output=True, text=True)
    body = (places.folder / "curl.bin").read_bytes()
    whole = hashlib.sha256(body).hexdigest() == spec["file_sha256"]
    return got.stdout, len(body), whole


def lines(command, environment):
    """Runs a client. Returns the JSON lines that it prints."""
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def connects(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
