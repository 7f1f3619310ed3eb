"""RTT through a constellation over ten minutes, with route changes and visible satellites."""

import bentpipe
import matplotlib.pyplot as plt

survey = bentpipe.orbit.survey(
    "kuiper-630", "Toronto", "Washington", duration="10 min", step="1 s"
)
samples = survey.samples.to_pandas()
routes = survey.routes.to_pandas()

figure, (rtt, satellites) = plt.subplots(2, sharex=True)
rtt.plot(samples["time_s"], samples["rtt_ms"])
for at in routes["time_s"][1:]:
    rtt.axvline(at, color="grey", linewidth=0.5)
rtt.set(ylabel="RTT [ms]", title="kuiper-630, Toronto to Washington")
satellites.step(samples["time_s"], samples["visible_from"], label="visible from Toronto")
satellites.step(samples["time_s"], samples["visible_to"], label="visible from Washington")
satellites.set(xlabel="time [s]", ylabel="satellites")
satellites.legend()
figure.savefig("rtt_over_a_pass.png")
