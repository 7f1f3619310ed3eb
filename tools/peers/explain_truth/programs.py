"""The programs that transfer: which are installed, what they can do, and how they are called."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.peers import quic_go

HERE = Path(__file__).resolve().parent
OWN = HERE / "programs"
ADDRESS = "198.19.0.1"
PLAIN, SECURE, QUIC = 8080, 8443, 4433
NGINX = """
daemon off; error_log stderr; pid {folder}/nginx.pid; worker_processes 1; user root;
events {{ }}
http {{
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 10000;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{
        listen {plain};
        listen {secure} ssl;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
        location / {{ {answer} }}
    }}
}}
"""
# What a browser loads: it writes the time since the navigation into the page, which is printed.
PAGE = """<link rel="icon" href="data:,"><script async src="/SIZE"></script><script>
addEventListener("load", () => { document.body.textContent = JSON.stringify({bytes: SIZE,
completion_s: performance.getEntriesByType("resource")[0].responseEnd / 1000}) })
</script>"""
# The server behind nginx that thinks.
BEHIND = 8081


@dataclass
class Program:
    """`features` are what a case may need of it. `most` is the rate that it keeps up with, in
    Mbps."""

    name: str
    features: set
    quic: bool
    most: float = 100.0


CLIENTS = [
    Program("curl", {"several", "pause", "receive-buffer", "read-rate", "tls", "acks", "upload"},
            False),
    Program("python", {"several", "pause", "receive-buffer", "read-rate", "acks", "upload"}, False),
    Program("iperf3", {"acks", "upload"}, False),
    Program("chromium", {"acks"}, False),
    Program("chromium-quic", {"acks"}, True),
    Program("quic-go", {"several", "pause", "window", "read-rate", "acks"}, True),
    Program("aioquic", {"several", "pause", "ack-delay"}, True, 9.0),
    Program("bentpipe", {"several", "pause"}, True),
    Program("ngtcp2", set(), True),
    Program("picoquic", set(), True),
]
SERVERS = [
    # nginx and http.server had more in flight than the send buffer of their kernel should hold.
    Program("nginx", {"several", "think", "pace", "tls"}, False),
    Program("python", {"several", "send-buffer", "think", "pace", "upload"}, False),
    Program("http.server", set(), False),
    Program("iperf3", {"upload"}, False),
    Program("bentpipe-tcp", {"several", "send-buffer"}, False),
    Program("quic-go", {"several", "think", "pace"}, True),
    Program("aioquic", {"several", "think", "pace"}, True, 9.0),
    Program("bentpipe", {"several"}, True),
    Program("picoquic", set(), True),
]
# Clients that say what they transferred, and leave an exit status of 0 if that is nothing.
SAYS = {"chromium", "chromium-quic"}
# Programs that only talk to each other.
ALONE = {"iperf3": "iperf3", "chromium": "bentpipe-tcp", "chromium-quic": "bentpipe"}


def fit(client, server):
    """Whether the two can be the ends of a transfer."""
    if client.quic != server.quic:
        return False
    if client.name in ALONE:
        return server.name == ALONE[client.name]
    if server.name == "iperf3":
        return False
    return server.name != "bentpipe-tcp" or client.name == "curl"


class Installed:
    """Which programs are here, and where."""

    def __init__(self, bentpipe, peers):
        self.bentpipe, self.peers = bentpipe.resolve(), peers.resolve()
        self.missing = {}
        for name in ("tcpdump", "dumpcap", "curl", "nginx", "iperf3", "chromium"):
            if not shutil.which(name):
                self.missing[name] = f"{name} is not installed"
        for name, needed in (("aioquic", "aioquic/venv/bin/python"),
                             ("ngtcp2", "curl_cffi/venv/bin/python"),
                             ("picoquic", "picoquic/bin/picoquicdemo")):
            if not (self.peers / needed).exists():
                self.missing[name] = f"{self.peers / needed} is missing; see peers/install"
        if "chromium" in self.missing:
            self.missing["chromium-quic"] = self.missing["chromium"]
        self.quic_go = self.build_quic_go()

    def build_quic_go(self):
        """Builds the client and server on quic-go, unless that has been done."""
        built = self.peers / "explain-truth/quic-go"
        source = OWN / "quic_go.go"
        if built.exists() and built.stat().st_mtime > source.stat().st_mtime:
            return built
        built.parent.mkdir(parents=True, exist_ok=True)
        if reason := quic_go.build(source, built):
            self.missing["quic-go"] = reason
        return built

    def has(self, name):
        return name not in self.missing


def certificate(folder):
    """Writes a certificate and its key."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "30", "-keyout", str(folder / "key.pem"), "-out",
         str(folder / "cert.pem"), "-subj", "/CN=server", "-addext",
         f"subjectAltName=DNS:server,IP:{ADDRESS}"], check=True, capture_output=True)


def serve(case, installed, folder):
    """The commands of the server's end, and writes the files that they need."""
    work, root = case.work, folder / "root"
    root.mkdir(exist_ok=True)
    with open(root / str(work.size), "wb") as file:
        file.truncate(work.size)
    (root / "index.html").write_text(PAGE.replace("SIZE", str(work.size)))
    secure = ["--cert", str(folder / "cert.pem"), "--key", str(folder / "key.pem")]
    slow = ["--think", str(work.think), "--pace", str(work.pace)]
    python = [sys.executable, str(OWN / "http_tcp.py"), "server"]
    listen = f"{ADDRESS}:{QUIC}"
    match case.server:
        case "nginx":
            behind = [[*python, "--port", str(BEHIND), "--think", str(work.think)]]
            answer = (f"proxy_pass http://127.0.0.1:{BEHIND};" if work.think else
                      f"root {root}; " + (f"limit_rate {work.pace};" if work.pace else ""))
            (folder / "nginx.conf").write_text(NGINX.format(
                folder=folder, plain=PLAIN, secure=SECURE, answer=answer))
            return [*(behind if work.think else []), ["nginx", "-c", str(folder / "nginx.conf")]]
        case "python":
            more = ["--send-buffer", str(work.send_buffer)]
            return [[*python, "--port", str(PLAIN), *slow, *more]]
        case "http.server":
            return [[sys.executable, "-m", "http.server", "-d", str(root), str(PLAIN)]]
        case "iperf3":
            return [["iperf3", "-s", "-p", str(PLAIN)]]
        case "quic-go":
            return [[str(installed.quic_go), "server", "--listen", listen, *secure, *slow]]
        case "aioquic":
            return [[aioquic(installed), str(OWN / "http3_aioquic.py"), "server", "--listen",
                     listen, *secure, *slow]]
        case "bentpipe" | "bentpipe-tcp":
            start = ["--slow-start", "standard", "--resume", "none"]
            return [[str(installed.bentpipe), "serve", str(root), "--listen", listen, *secure,
                     "--no-store", "--no-sessions", "--log", "none", "--qlog",
                     str(folder / "server-qlog"), *start]]
        case "picoquic":
            return [[str(installed.peers / "picoquic/bin/picoquicdemo"), "-p", str(QUIC), "-c",
                     str(folder / "cert.pem"), "-k", str(folder / "key.pem"), "-w", str(root),
                     "-8", "-q", str(folder / "server-qlog")]]
    raise ValueError(case.server)


def aioquic(installed):
    return str(installed.peers / "aioquic/venv/bin/python")


def url(case):
    port = SECURE if case.work.tls else PLAIN
    if case.quic or case.server == "bentpipe-tcp":
        port = QUIC
    scheme = "http" if port == PLAIN else "https"
    return f"{scheme}://{ADDRESS}:{port}/{case.work.size}"


def fetch(case, installed, folder):
    """The command of the client."""
    work = case.work
    several = ["--count", str(work.count), "--pause", f"{work.pause:.3f}"]
    windows = []
    if work.connection_window or work.stream_window:
        windows += ["--stream-window", str(work.stream_window)]
        windows += ["--connection-window", str(work.connection_window or 256 << 20)]
    match case.client:
        case "curl":
            return curl(case, folder)
        case "python":
            upload = ["--upload", str(work.size)] if work.upload else []
            return [sys.executable, str(OWN / "http_tcp.py"), "client", url(case), *several,
                    "--read-rate", str(work.read_rate), "--receive-buffer",
                    str(work.receive_buffer), *upload]
        case "iperf3":
            back = [] if work.upload else ["-R"]
            return ["iperf3", "-c", ADDRESS, "-p", str(PLAIN), "-n", str(work.size), *back]
        case "chromium" | "chromium-quic":
            return chromium(case, folder)
        case "quic-go":
            return [str(installed.quic_go), "client", "--url", url(case), *several, "--parallel",
                    str(work.parallel), "--read-rate", str(work.read_rate), *windows]
        case "aioquic":
            return [aioquic(installed), str(OWN / "http3_aioquic.py"), "client", "--url", url(case),
                    *several, "--parallel", str(work.parallel), "--ack-delay",
                    str(work.ack_delay), *windows]
        case "bentpipe":
            return [str(installed.bentpipe), "get", *[url(case)] * work.count, "--insecure",
                    "--discard", "--http3-only", "--no-tokens", "--quiet", "--json", "--pause",
                    f"{work.pause:.3f} s", "--qlog", str(folder / "client-qlog")]
        case "ngtcp2":
            return [str(installed.peers / "curl_cffi/venv/bin/python"),
                    str(HERE.parents[2] / "peers/curl_cffi/peer.py"), "--url", url(case), "--name",
                    "server", "--ca", str(folder / "cert.pem"), "--output", "/dev/null"]
        case "picoquic":
            received = folder / "received"
            received.mkdir(exist_ok=True)
            return [str(installed.peers / "picoquic/bin/picoquicdemo"), "-n", "server", "-o",
                    str(received), "-a", "h3", "-8", "-q", str(folder / "client-qlog"), ADDRESS,
                    str(QUIC), f"/{work.size}"]
    raise ValueError(case.client)


def chromium(case, folder):
    """Chromium for a page with the file; its certificate errors are those of this key."""
    key = subprocess.run(
        f"openssl x509 -in {folder}/cert.pem -pubkey -noout | openssl pkey -pubin -outform der "
        "| openssl dgst -sha256 -binary | base64", shell=True, check=True, capture_output=True,
        text=True).stdout.strip()
    origin = f"{ADDRESS}:{QUIC}"
    quic = ["--enable-quic", f"--origin-to-force-quic-on={origin}"] if case.quic else [
        "--disable-quic"]
    return ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", *quic,
            "--no-proxy-server", "--disable-background-networking", "--disable-component-update",
            "--no-first-run", f"--user-data-dir={folder}/web",
            f"--ignore-certificate-errors-spki-list={key}", f"--log-net-log={folder}/net-log.json",
            "--dump-dom", f"https://{origin}/"]


def curl(case, folder):
    work = case.work
    words = ["curl", "-s", "-S", "-k", "--noproxy", "*", "--http1.1"]
    if case.server == "bentpipe-tcp":
        words.remove("--http1.1")
    if work.tls:
        words += ["--tls-max", work.tls]
    if work.pause:
        words += ["--rate", f"{round(60 / work.pause)}/m"]
    if work.read_rate:
        words += ["--limit-rate", str(work.read_rate)]
    if work.upload:
        return [*words, "-T", str(folder / "root" / str(work.size)), "-o", "/dev/null", url(case)]
    if work.parallel > 1:
        words += ["-Z", "--parallel-max", str(work.parallel)]
    for _ in range(work.count):
        words += ["-o", "/dev/null", url(case)]
    return words


def environment(case, end, folder):
    """The environment of the program at this end."""
    made = {name: value for name, value in os.environ.items()
            if name not in ("QLOGDIR", "SSLKEYLOGFILE")}
    if case.quic:
        made["QLOGDIR"] = str(folder / f"{end}-qlog")
        # Bentpipe's client writes no keys; then the server does, if it can.
        if case.keys and end == ("server" if case.client == "bentpipe" else "client"):
            made["SSLKEYLOGFILE"] = str(folder / "keys.txt")
    return made
