"""The proxies, and the web server behind them: their configurations."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMON = """
daemon off; error_log {folder}/{name}.log; pid {folder}/{name}.pid; worker_processes 2; {user}
worker_rlimit_nofile 60000;
events {{ worker_connections 25000; }}
http {{
    access_log off; keepalive_requests 100000000;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {rest}
}}
"""
FILES = "sendfile on; server {{ listen 127.0.0.1:{upstream} backlog=4096; root {folder}/www; }}"
PROXY = """
    upstream site {{ server 127.0.0.1:{upstream}; keepalive 1024; }}
    server {{
        listen 127.0.0.1:{port} quic reuseport;
        server_name a.test;
        http3_stream_buffer_size 1m;
        ssl_certificate {folder}/live/a.test/fullchain.pem;
        ssl_certificate_key {folder}/live/a.test/privkey.pem;
        location / {{
            proxy_pass http://site; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_set_header Host $host;
        }}
    }}
"""
CADDY = """
{{
    admin off
    auto_https off
    storage file_system {folder}/caddy
    servers {{
        protocols h3
    }}
}}
https://a.test:{port} {{
    bind 127.0.0.1
    tls {folder}/live/a.test/fullchain.pem {folder}/live/a.test/privkey.pem
    reverse_proxy 127.0.0.1:{upstream}
}}
"""


@dataclass
class Places:
    """Where things are."""

    folder: Path
    upstream: int
    port: int
    arguments: Any

    def write(self, file, text, **more):
        path = self.folder / file
        filled = text.format(folder=self.folder, upstream=self.upstream, port=self.port, **more)
        path.write_text(filled)
        return str(path)

    def nginx(self, name, rest):
        user = "user root;" if os.geteuid() == 0 else ""
        rest = rest.format(folder=self.folder, upstream=self.upstream, port=self.port)
        path = self.write(f"{name}.conf", COMMON, name=name, user=user, rest=rest)
        return [self.arguments.nginx, "-c", path]


def web_server(places):
    return places.nginx("web", FILES)


def front(places):
    # The client has few addresses, and each may have more connections than one client has.
    limits = ["--max-connections", "12000", "--max-per-client", "12000",
              "--upstream-connections", "2048", "--upstream-per-client", "1024"]
    return [str(places.arguments.bentpipe), "front", "--certs", f"{places.folder}/live",
            "--upstream", f"http://127.0.0.1:{places.upstream}", "--listen",
            f"127.0.0.1:{places.port}", "--no-store", "--log", "none", *limits]


def nginx(places):
    return places.nginx("proxy", PROXY)


def caddy(places):
    path = places.write("Caddyfile", CADDY)
    return [places.arguments.caddy, "run", "--adapter", "caddyfile", "--config", path]


UPSTREAM = web_server
SERVERS = {"front": front, "nginx": nginx, "caddy": caddy}
