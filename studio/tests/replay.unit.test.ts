import { describe, expect, it } from "vitest";
import { replayCommand } from "../src/data/replay.ts";

describe("the command that replays a run", () => {
  const run = { variant: "0rtt", point: { "workload.download": "2 MB" }, run: 19 };

  it("names the directory of a page that is a file", () => {
    expect(replayCommand(run, "file:///home/a%20b/out/study/report.html#run=0")).toBe(
      "bentpipe replay '/home/a b/out/study' --variant 0rtt --run 19 " +
        "--point 'workload.download=2 MB'",
    );
  });

  it("leaves the directory of any other page to the reader", () => {
    expect(replayCommand({ ...run, point: {} }, "https://example.org/x/report.html")).toBe(
      "bentpipe replay DIR --variant 0rtt --run 19",
    );
  });

  it("quotes what a shell would read", () => {
    const name = { variant: "a", point: { k: "$(reboot) 'x'" }, run: 0 };
    expect(replayCommand(name, "https://example.org/")).toBe(
      "bentpipe replay DIR --variant a --run 0 --point 'k=$(reboot) '\\''x'\\'''",
    );
  });
});
