"""Browsers, which load the page of a host and tell the application what they have found out."""

import contextlib
import json
import os
import subprocess
import urllib.request

from tools.peers.front_beside.running import start
from tools.running import waited

ASKED = "page over h3, SSE, upload and WebSocket of it"
EXPECTED = {"protocol": "h3", "events": 3, "upload": 1_000_000, "ws": "hello"}
LIMIT_S = 60
# HTTP/3 at the first visit, names of the test, a certificate authority of our own, and nothing
# that asks others.
FIREFOX = """
user_pref("network.http.http3.alt-svc-mapping-for-testing", "a.test;h3=:{port}");
user_pref("network.http.http3.disable_when_third_party_roots_found", false);
user_pref("network.dns.localDomains", "a.test");
user_pref("network.proxy.type", 0);
user_pref("app.normandy.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "");
"""


def visits(name, programs, places):
    """Returns the client, what was measured, and whether it is right, for each browser."""
    for browser, command in (("chromium", chromium), ("firefox", firefox)):
        yield browser, *visit(browser, command(programs, places, name), places)


def visit(browser, command, places):
    """Starts a browser with the page of a host. Returns what it has found out."""
    if isinstance(command, str):
        return command, None
    url = f"http://127.0.0.1:{places.application}/app/result"

    def told():
        result = json.loads(urllib.request.urlopen(url).read() or "{}")
        return result if result.pop("browser", None) == browser else None

    with contextlib.ExitStack() as stack:
        start(stack, command, dict(os.environ))
        result = waited(told, LIMIT_S)
    if not result:
        return f"no result within {LIMIT_S} s", False
    text = ", ".join(f"{key} {value}" for key, value in result.items())
    return text, result == EXPECTED


def chromium(programs, places, name):
    """Returns the command, or what is missing."""
    found = programs.find("chromium") or programs.find("google-chrome")
    if not found:
        return "chromium is not installed"
    spki = (places.folder / "a.test.spki").read_text()
    return [found, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-proxy-server",
            "--disable-background-networking", "--disable-component-update", "--no-first-run",
            f"--user-data-dir={places.folder}/chromium-{name}", "--enable-quic",
            "--host-resolver-rules=MAP *.test 127.0.0.1",
            f"--origin-to-force-quic-on=a.test:{places.port}",
            f"--ignore-certificate-errors-spki-list={spki}", f"https://a.test:{places.port}/"]


def firefox(programs, places, name):
    """Returns the command, or what is missing."""
    found = programs.find("firefox") or programs.find("firefox-esr")
    certutil = programs.find("certutil")
    if not found or not certutil:
        return f"{'certutil' if found else 'firefox'} is not installed"
    profile = places.folder / f"firefox-{name}"
    profile.mkdir()
    (profile / "user.js").write_text(FIREFOX.format(port=places.port))
    database = f"sql:{profile}"
    for action in (["-N", "--empty-password"],
                   ["-A", "-n", "test", "-t", "C,,", "-i", str(places.folder / "ca.pem")]):
        subprocess.run([certutil, "-d", database, *action], env=programs.environment, check=True)
    return [found, "--headless", "--no-remote", "--profile", str(profile),
            f"https://a.test:{places.port}/"]
