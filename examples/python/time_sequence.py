"""Time and sequence: bytes sent and acknowledged of one run, with its congestion window."""

import bentpipe
import matplotlib.pyplot as plt

scenario = bentpipe.Scenario(
    name="time-sequence",
    path={"profile": "geo-50-10"},
    workload={"download": "10 MB"},
    defaults={"congestion": "cubic", "slow_start": "standard", "resume": "none"},
)
results = scenario.run()
series = results.series().to_pandas()
flow = series[series["flow"].notna()].set_index("time_s").groupby("series")["value"]
marks = results.marks().to_pandas().query("kind == 'mark'")

figure, (sequence, window) = plt.subplots(2, sharex=True)
sequence.plot(flow.get_group("sent") / 1e6, ".", markersize=2, label="sent")
sequence.step(flow.get_group("acked").index, flow.get_group("acked") / 1e6, label="acknowledged")
sequence.set(ylabel="offset [MB]")
window.step(flow.get_group("cwnd").index, flow.get_group("cwnd") / 1e6, label="cwnd")
window.plot(flow.get_group("bytes_in_flight") / 1e6, label="in flight")
window.set(xlabel="time [s]", ylabel="window [MB]")
for axes in (sequence, window):
    for at in marks["time_s"]:
        axes.axvline(at, color="grey", linewidth=0.5)
    axes.legend()
figure.savefig("time_sequence.png")
