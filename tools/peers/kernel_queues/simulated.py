"""The same flows over a link of the simulator."""

import json
import pathlib
import struct
import subprocess
import tempfile

from tools.peers.kernel_queues.ends import ETHERNET, HEADERS, SECOND


def scenario(rate, queue, flows, duration, dscp):
    """The text of a scenario: flows as `ends.measured` takes them, and a link of `rate` Mbps.

    The kernel counts Ethernet's header, so the link has less by as much of the first flow.
    """
    payload = flows[0][0]
    slower = rate * (payload + HEADERS) / (payload + HEADERS + ETHERNET)
    text = f"""
        name = "kernel-queues"
        [path]
        forward = {{ rate = "{slower:.6f} Mbps", delay = "0 s", queue = {queue} }}
        return = {{ rate = "1 Gbps", delay = "1 ms" }}
        [output]
        full_time_series = true
    """
    for number, ((payload, mbps), code_point) in enumerate(zip(flows, dscp)):
        size = payload + HEADERS
        text += f"""
        [[flow]]
        name = "flow-{number}"
        dscp = {code_point}
        cbr = {{ rate = "{mbps * size / payload:.6f} Mbps", packet = "{size} B", \
            duration = "{duration / SECOND} s" }}
    """
    return text


class Run:
    """A run of such a scenario."""

    def __init__(self, bentpipe, rate, queue, flows, duration, dscp=None):
        text = scenario(rate, queue, flows, duration, dscp or [0] * len(flows))
        with tempfile.TemporaryDirectory(prefix="bentpipe-kernel-queues-") as folder:
            folder = pathlib.Path(folder)
            (folder / "scenario.toml").write_text(text)
            command = [bentpipe, "run", folder / "scenario.toml", "--out", folder / "out"]
            subprocess.run([*command, "--no-store", "--quiet"], check=True)
            self.flows = json.loads((folder / "out/results.json").read_text())["runs"][0]["flows"]
            index = json.loads((folder / "out/traces.json").read_text())[0]
            self._data = (folder / "out/traces.bin").read_bytes()
        self._link = next(one for one in index["links"] if one["name"].endswith("forward"))

    def points(self, name):
        """Times in seconds and values of a time series of the link."""
        series = self._link["series"][name]
        begin, count = series["offset"], series["n"]
        times = struct.unpack_from(f"<{count}d", self._data, begin)
        return times, struct.unpack_from(f"<{count}f", self._data, begin + 8 * count)
