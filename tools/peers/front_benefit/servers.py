"""Starts the servers at the far end of the path: servers RUN_FOLDER ADDRESS."""

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

from tools.peers.front_beside.running import start
from tools.running import waited

# Port of each: over TCP and UDP.
PORTS = {"nginx": 8001, "caddy": 8002, "front": 8003}
NGINX = """
daemon off; error_log {run}/nginx.log; pid {run}/nginx.pid; worker_processes 1; {user}
events {{ worker_connections 1024; }}
http {{
    access_log off; sendfile on; ssl_early_data on;
    client_body_temp_path {run}/body; proxy_temp_path {run}/proxy;
    fastcgi_temp_path {run}/f; uwsgi_temp_path {run}/u; scgi_temp_path {run}/s;
    ssl_certificate {folder}/live/a.test/fullchain.pem;
    ssl_certificate_key {folder}/live/a.test/privkey.pem;
    server {{
        listen {address}:{nginx} ssl;
        listen 127.0.0.1:{nginx} ssl;
        listen {address}:{nginx} quic reuseport;
        http2 on;
        http3_stream_buffer_size 8m;
        server_name a.test;
        root {folder}/www;
    }}
}}
"""
CADDY = """
{{
    admin off
    auto_https off
    storage file_system {run}/caddy
}}
https://a.test:{caddy} {{
    bind {address}
    tls {folder}/live/a.test/fullchain.pem {folder}/live/a.test/privkey.pem
    root * {folder}/www
    file_server
}}
"""


def main(run, address):
    run = Path(run)
    spec = json.loads((run / "spec.json").read_text())
    user = "user root;" if os.geteuid() == 0 else ""
    for name, text in (("nginx.conf", NGINX), ("Caddyfile", CADDY)):
        filled = text.format(run=run, folder=spec["folder"], address=address, user=user, **PORTS)
        (run / name).write_text(filled)
    environment = {**os.environ, "HOME": str(run)}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.ExitStack() as stack:
        start(stack, [spec["nginx"], "-c", str(run / "nginx.conf")], environment)
        start(stack, [spec["caddy"], "run", "--adapter", "caddyfile", "--config",
                      str(run / "Caddyfile")], environment)
        front = [spec["bentpipe"], "front", "--certs", f"{spec['folder']}/live", "--upstream",
                 f"https://127.0.0.1:{PORTS['nginx']}", "--listen", f"{address}:{PORTS['front']}",
                 "--store", str(run / "paths.sqlite"), "--log", "none"]
        start(stack, front, environment, ready=True)
        up = waited(lambda: all(listening(PORTS[name]) for name in ("nginx", "caddy")), 20)
        (run / "ready").write_text("yes" if up else "a server does not listen")
        signal.pause()


def listening(port):
    """Whether a socket listens on the port (proc_net_tcp(5): state 0A)."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
               for line in lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
