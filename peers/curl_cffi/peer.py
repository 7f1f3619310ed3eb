"""A small client on the libcurl of curl_cffi (ngtcp2, nghttp3), with the defaults of curl.

It does not use the browser fingerprints of curl_cffi.
"""

import argparse
import json
import sys
import urllib.parse

from curl_cffi import Curl, CurlError, CurlHttpVersion, CurlInfo, CurlOpt

VERSIONS = {"h3": CurlHttpVersion.V3ONLY, "h2": CurlHttpVersion.V2TLS, "h1": CurlHttpVersion.V1_1}
# Protocol by value of CURLINFO_HTTP_VERSION.
PROTOCOLS = {0: None, 1: "http/1.0", 2: "http/1.1", 3: "h2", 30: "h3"}

parser = argparse.ArgumentParser()
for name in ("url", "name", "ca", "output"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--protocol", choices=VERSIONS, default="h3")
parser.add_argument("--timeout", type=float, default=60)
options = parser.parse_args()
where = urllib.parse.urlsplit(options.url)

curl = Curl()
failure = None
with open(options.output, "wb") as file:
    curl.setopt(CurlOpt.URL, f"https://{options.name}:{where.port}{where.path}".encode())
    curl.setopt(CurlOpt.RESOLVE, [f"{options.name}:{where.port}:{where.hostname}"])
    curl.setopt(CurlOpt.CAINFO, options.ca.encode())
    curl.setopt(CurlOpt.HTTP_VERSION, VERSIONS[options.protocol])
    curl.setopt(CurlOpt.FAILONERROR, 1)
    curl.setopt(CurlOpt.TIMEOUT_MS, int(options.timeout * 1000))
    curl.setopt(CurlOpt.WRITEDATA, file)
    try:
        curl.perform()
    except CurlError as error:
        failure = str(error)


def seconds(info):
    """Returns a time in seconds, or None if the transfer did not get that far."""
    return curl.getinfo(info) or None


print(
    json.dumps(
        {
            "bytes": int(curl.getinfo(CurlInfo.SIZE_DOWNLOAD_T)),
            "handshake_s": seconds(CurlInfo.APPCONNECT_TIME),
            "first_byte_s": seconds(CurlInfo.STARTTRANSFER_TIME),
            "completion_s": seconds(CurlInfo.TOTAL_TIME) if failure is None else None,
            "protocol": PROTOCOLS.get(curl.getinfo(CurlInfo.HTTP_VERSION)),
        }
    )
)
sys.exit(failure)
