"""A small HTTP/3 client on niquests (qh3), with the default settings of niquests."""

import argparse
import json
import sys
import time
import urllib.parse

import niquests

parser = argparse.ArgumentParser()
for name in ("url", "name", "ca", "output"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--timeout", type=float, default=60)
options = parser.parse_args()
where = urllib.parse.urlsplit(options.url)

times = dict.fromkeys(("handshake_s", "first_byte_s", "completion_s"))
result = {"bytes": 0, **times, "protocol": None}
begin = time.monotonic()


def since():
    return time.monotonic() - begin


def fetch():
    hosts = f"in-memory://default/?hosts={options.name}:{where.hostname}"
    with niquests.Session(resolver=hosts, disable_http1=True, disable_http2=True) as session:
        url = f"https://{options.name}:{where.port}{where.path}"
        with session.get(url, stream=True, verify=options.ca, timeout=options.timeout) as answer:
            answer.raise_for_status()
            latency = answer.conn_info and answer.conn_info.tls_handshake_latency
            result["handshake_s"] = latency.total_seconds() if latency else None
            result["protocol"] = {30: "h3", 20: "h2", 11: "http/1.1"}.get(answer.http_version)
            with open(options.output, "wb") as file:
                for piece in answer.iter_raw(1 << 16):
                    result["first_byte_s"] = result["first_byte_s"] or since()
                    result["bytes"] += len(piece)
                    file.write(piece)
                    if since() > options.timeout:
                        raise TimeoutError(f"not complete within {options.timeout} s")
            length = answer.headers.get("content-length")
            if length is not None and int(length) != result["bytes"]:
                raise OSError(f"received {result['bytes']} of {length} bytes")
            result["completion_s"] = since()


try:
    fetch()
except (OSError, TimeoutError, niquests.RequestException) as error:
    sys.exit(f"{type(error).__name__}: {error}")
finally:
    print(json.dumps(result), flush=True)
