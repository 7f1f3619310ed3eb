import { it } from "vitest";
import { Bench, WEBGL } from "./browser.ts";
import { orbitReport, constellationReport, MANY } from "./skyfixture.ts";
import { matrixReport } from "./matrixfixture.ts";
import { lossReport } from "./sweepfixture.ts";
import { env } from "node:process";
it("shot", async () => {
  const bench = await Bench.start(env["NOGL"] ? [] : WEBGL);
  const which = env["WHICH"] ?? "orbit,run,matrix";
  const all = {
    orbit: { make: () => orbitReport(), hash: "" },
    many: { make: () => orbitReport(MANY, 200, 20, 8), hash: "" },
    run: { make: constellationReport, hash: "#traceFlow=all" },
    matrix: { make: () => matrixReport(), hash: "" },
    jain: { make: () => matrixReport(), hash: "#metric=bottleneck_queue_ms" },
    loss: { make: () => lossReport(), hash: "#picture=heat" },
  };
  for (const name of which.split(","))
  for (const dark of [false, true]) {
    const { make, hash } = all[name as keyof typeof all];
    const o = await bench.open(make(), { dark, hash });
    if (!["matrix", "jain", "loss"].includes(name)) {
      await bench.plots(o);
      await o.page.evaluate("document.querySelector('.timebar').scrollIntoView({block:'start'})");
      await o.page.waitForTimeout(300);
      await o.page.evaluate("scrollBy(0, 60)");
      const box = (await o.page.locator(".u-over").first().boundingBox())!;
      await o.page.mouse.move(box.x + box.width * 0.31, box.y + 40);
      if (env["MAP"]) await o.page.click(".sky-head button >> text=map");
      await o.page.waitForTimeout(env["MAP"] ? 600 : 2500);
    }
    console.log(name, o.errors, o.requests);
    await o.page.screenshot({ path: `/tmp/S-try/${name}${env["MAP"] ?? ""}-${dark ? "dark" : "light"}.png` });
    await o.page.close();
  }
  await bench.close();
}, 180000);
