import { it } from "vitest";
import { Bench, WEBGL } from "./browser.ts";
import { orbitReport, constellationReport } from "./skyfixture.ts";
it("shot", async () => {
  const bench = await Bench.start(WEBGL);
  for (const [name, make] of [["orbit", () => orbitReport()], ["run", constellationReport]] as const)
  for (const dark of [false, true]) {
    const o = await bench.open(make(), { dark, hash: name === "run" ? "#traceFlow=all" : "" });
    const t0 = Date.now();
    await bench.plots(o);
    await o.page.waitForTimeout(2500);
    console.log(name, Date.now() - t0, o.errors, o.requests);
    const g = await o.page.evaluate(() => performance.getEntriesByName("bentpipe-sky").map((e) => Math.round(e.duration)));
    console.log(g.join(" "));
    await o.page.screenshot({ path: `/tmp/S-try/${name}-${dark}.png` });
    await o.page.close();
  }
  await bench.close();
}, 120000);
