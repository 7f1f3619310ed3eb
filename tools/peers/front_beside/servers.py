"""The web servers: how each is configured as its users write it, and started."""

import os
import shutil
import subprocess
from dataclasses import InitVar, dataclass, field
from pathlib import Path

NGINX = """
daemon off; error_log {folder}/nginx.log; pid {folder}/nginx.pid; worker_processes 1; {user}
events {{ worker_connections 2048; }}
http {{
    access_log off; sendfile on; client_max_body_size 0; proxy_request_buffering off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server_names_hash_bucket_size 128;
    map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
    {sites}
}}
"""
NGINX_SITE = """
    server {{
        listen 127.0.0.1:{port} ssl http2;
        server_name {host};
        ssl_certificate {live}/{host}/fullchain.pem;
        ssl_certificate_key {live}/{host}/privkey.pem;
        add_header Alt-Svc 'h3=":{port}"; ma=86400' always;
        root {www}/{host};
        location /app/ {{
            proxy_pass http://127.0.0.1:{application};
            proxy_http_version 1.1;
            proxy_buffering off;
            proxy_set_header Host $host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
        }}
        location /echo.Echo/ {{ grpc_pass grpc://127.0.0.1:{grpc}; }}
    }}
"""
CADDY = """
{{
    admin off
    auto_https off
    storage file_system {folder}/caddy
    servers {{
        protocols h1 h2
    }}
}}
{sites}
"""
CADDY_SITE = """
https://{host}:{port} {{
    bind 127.0.0.1
    tls {live}/{host}/fullchain.pem {live}/{host}/privkey.pem
    header Alt-Svc "h3=\\":{port}\\"; ma=86400"
    handle /app/* {{
        reverse_proxy 127.0.0.1:{application} {{
            trusted_proxies 127.0.0.1/32
        }}
    }}
    handle /echo.Echo/* {{
        reverse_proxy h2c://127.0.0.1:{grpc}
    }}
    handle {{
        root * {www}/{host}
        file_server
    }}
}}
"""
APACHE = """
ServerRoot {folder}
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.log
ServerName localhost
{user}
{modules}
Listen 127.0.0.1:{port}
Protocols h2 http/1.1
SSLSessionCache none
TypesConfig /dev/null
AddType text/html .html
LimitRequestBody 0
<Directory {www}>
    Require all granted
</Directory>
{sites}
"""
APACHE_SITE = """
<VirtualHost 127.0.0.1:{port}>
    ServerName {host}
    SSLEngine on
    SSLCertificateFile {live}/{host}/fullchain.pem
    SSLCertificateKeyFile {live}/{host}/privkey.pem
    DocumentRoot {www}/{host}
    DirectoryIndex index.html
    Header always set Alt-Svc "h3=\\":{port}\\"; ma=86400"
    ProxyPreserveHost on
    ProxyPass /app/ws ws://127.0.0.1:{application}/app/ws
    ProxyPass /app/ http://127.0.0.1:{application}/app/ flushpackets=on
    ProxyPass /echo.Echo/ h2c://127.0.0.1:{grpc}/echo.Echo/
</VirtualHost>
"""
MODULES = ("mpm_event authz_core dir headers mime socache_shmcb ssl http2 proxy proxy_http "
           "proxy_http2 proxy_wstunnel").split()
HAPROXY = """
global
    maxconn 4000
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout tunnel 1h
frontend web
    bind 127.0.0.1:{port} ssl crt {folder}/haproxy alpn h2,http/1.1
    http-response set-header Alt-Svc 'h3=":{port}"; ma=86400'
    use_backend grpc if {{ path_beg /echo.Echo/ }}
    default_backend application
backend application
    server a 127.0.0.1:{application}
backend grpc
    server g 127.0.0.1:{grpc} proto h2
"""


@dataclass
class Places:
    """Where things are in one round."""

    folder: Path
    hosts: list
    port: int
    application: int
    grpc: int

    def fill(self, text, **more):
        return text.format(folder=self.folder, live=self.folder / "live", www=self.folder / "www",
                           port=self.port, application=self.application, grpc=self.grpc, **more)

    def sites(self, text):
        return "\n".join(self.fill(text, host=host) for host in self.hosts)


@dataclass
class Programs:
    """Where installed programs are found."""

    python: Path
    prefix: InitVar[Path | None]
    environment: dict = field(default_factory=lambda: dict(os.environ))

    def __post_init__(self, prefix):
        if prefix:
            root = prefix.resolve()
            self.environment["PATH"] += f":{root}/usr/sbin:{root}/usr/bin"
            libraries = root / "usr/lib" / f"{os.uname().machine}-linux-gnu"
            self.environment["LD_LIBRARY_PATH"] = str(libraries)

    def find(self, name):
        return shutil.which(name, path=self.environment["PATH"])

    def version(self, *command):
        shown = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        lines = (shown.stdout + shown.stderr).strip().splitlines()
        return lines[0] if lines else "unknown version"


def nginx(places, programs):
    user = "user root;" if os.geteuid() == 0 else ""
    text = places.fill(NGINX, user=user, sites=places.sites(NGINX_SITE))
    return [programs.find("nginx"), "-c", written(places, "nginx.conf", text)]


def caddy(places, programs):
    text = places.fill(CADDY, sites=places.sites(CADDY_SITE))
    return [programs.find("caddy"), "run", "--adapter", "caddyfile", "--config",
            written(places, "Caddyfile", text)]


def apache(places, programs):
    found = Path(programs.find("apache2"))
    modules = found.parents[1] / "lib/apache2/modules"
    loaded = "\n".join(f"LoadModule {name}_module {modules}/mod_{name}.so" for name in MODULES)
    user = "User www-data\nGroup www-data" if os.geteuid() == 0 else ""
    text = places.fill(APACHE, modules=loaded, user=user, sites=places.sites(APACHE_SITE))
    return [str(found), "-D", "FOREGROUND", "-f", written(places, "apache.conf", text)]


def haproxy(places, programs):
    return [programs.find("haproxy"), "-f",
            written(places, "haproxy.cfg", places.fill(HAPROXY))]


def written(places, name, text):
    path = places.folder / name
    path.write_text(text)
    return str(path)


# The program of each, how its version is printed, and how it is called.
SERVERS = {
    "nginx": ("nginx", ["-v"], nginx),
    "caddy": ("caddy", ["version"], caddy),
    "apache": ("apache2", ["-v"], apache),
    "haproxy": ("haproxy", ["-v"], haproxy),
}
