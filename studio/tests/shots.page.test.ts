import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { env } from "node:process";
import { afterAll, beforeAll, describe, it } from "vitest";
import { Bench, WEBGL } from "./browser.ts";
import { geoReport, millionReport, singleReport } from "./fixture.ts";
import { matrixReport } from "./matrixfixture.ts";
import { oddReport } from "./oddfixture.ts";
import { phaseReport } from "./phasefixture.ts";
import { reverseReport } from "./reversefixture.ts";
import { constellationReport, MANY, orbitReport } from "./skyfixture.ts";
import { failedReport, lossReport, policySweep } from "./sweepfixture.ts";
import { pageReport } from "./waterfallfixture.ts";

const dir = env.BENTPIPE_SHOTS;

// Pictures to look at: BENTPIPE_SHOTS=DIR npm run test:page
describe.skipIf(!dir)("screenshots", () => {
  let bench: Bench;
  beforeAll(async () => {
    mkdirSync(dir!, { recursive: true });
    bench = await Bench.start(WEBGL);
  });
  afterAll(() => bench?.close());

  const shots = [
    {
      name: "geo-1440-light",
      make: geoReport,
      width: 1440,
      height: 900,
      dark: false,
      hash: "#run=5",
    },
    {
      name: "geo-1280-dark",
      make: geoReport,
      width: 1280,
      height: 720,
      dark: true,
      hash: "#run=4&zoom=1.5,5",
    },
    {
      name: "two-1440-dark",
      make: () => geoReport({ repeats: 8, sizes: ["10 MB"] }),
      width: 1440,
      height: 900,
      dark: true,
      hash: "#run=1&versus=3",
    },
    {
      name: "phases-1440-light",
      make: phaseReport,
      width: 1440,
      height: 900,
      dark: false,
      hash: "",
    },
    { name: "phases-1280-dark", make: phaseReport, width: 1280, height: 720, dark: true, hash: "" },
    {
      name: "phases-1280-light",
      make: phaseReport,
      width: 1280,
      height: 720,
      dark: false,
      hash: "#traceFlow=%5B%22probing%22%2C1%5D",
    },
    {
      name: "phases-1440-dark",
      make: phaseReport,
      width: 1440,
      height: 900,
      dark: true,
      hash: "#zoom=0,4",
    },
    {
      name: "together-1440-light",
      make: phaseReport,
      width: 1440,
      height: 900,
      dark: false,
      hash: "#traceFlow=all",
    },
    {
      name: "together-1280-dark",
      make: phaseReport,
      width: 1280,
      height: 720,
      dark: true,
      hash: "#traceFlow=all&origin=run",
    },
    {
      name: "page-1440-light",
      make: pageReport,
      width: 1440,
      height: 900,
      dark: false,
      hash: "#versus=1",
    },
    {
      name: "orbit-1440-light",
      make: () => orbitReport(),
      width: 1440,
      height: 900,
      dark: false,
      hash: "",
    },
    {
      name: "orbit-400-dark",
      make: () => orbitReport(),
      width: 400,
      height: 800,
      dark: true,
      hash: "",
    },
    {
      name: "orbit-many-1280-dark",
      make: () => orbitReport(MANY, 200, 20, 20),
      width: 1280,
      height: 720,
      dark: true,
      hash: "",
    },
    {
      name: "constellation-1440-light",
      make: constellationReport,
      width: 1440,
      height: 900,
      dark: false,
      hash: "#traceFlow=all",
    },
    {
      name: "constellation-1440-dark",
      make: constellationReport,
      width: 1440,
      height: 900,
      dark: true,
      hash: "",
    },
    {
      name: "matrix-1440-light",
      make: () => matrixReport(),
      width: 1440,
      height: 900,
      dark: false,
      hash: "",
    },
    {
      name: "matrix-1280-dark",
      make: () => matrixReport(),
      width: 1280,
      height: 720,
      dark: true,
      hash: "#metric=jain_index",
    },
    {
      name: "single-1280-light",
      make: singleReport,
      width: 1280,
      height: 720,
      dark: false,
      hash: "",
    },
    { name: "odd-1000-light", make: oddReport, width: 1000, height: 800, dark: false, hash: "" },
    {
      name: "million-1280-light",
      make: () => millionReport(),
      width: 1280,
      height: 720,
      dark: false,
      hash: "",
    },
    {
      name: "losses-1440-light",
      make: () => lossReport(),
      width: 1440,
      height: 900,
      dark: false,
      hash: "",
    },
    {
      name: "policies-1280-dark",
      make: policySweep,
      width: 1280,
      height: 720,
      dark: true,
      hash: "#metric=goodput_mbps",
    },
    {
      name: "return-1440-light",
      make: () => reverseReport(),
      width: 1440,
      height: 900,
      dark: false,
      hash: "",
    },
    {
      name: "return-1280-dark",
      make: () => reverseReport({ blocked: 0.8, terminals: ["t1", "t2", "t3"] }),
      width: 1280,
      height: 720,
      dark: true,
      hash: "#run=1",
    },
    {
      name: "failed-1280-dark",
      make: failedReport,
      width: 1280,
      height: 720,
      dark: true,
      hash: "",
    },
    {
      name: "geo-400-light",
      make: () => geoReport({ sizes: ["10 MB"] }),
      width: 400,
      height: 800,
      dark: false,
      hash: "",
    },
  ];
  for (const { name, make, ...options } of shots) {
    it(name, async () => {
      const opened = await bench.open(make(), options);
      if (await opened.page.locator(".stack").count()) await bench.plots(opened);
      // Names of stations fade in with the first frames.
      if (await opened.page.locator(".sky").count()) await opened.page.waitForTimeout(2500);
      await opened.page.evaluate("scrollTo(0, 0)");
      await opened.page.waitForTimeout(200);
      await opened.page.screenshot({ path: join(dir!, `${name}.png`), fullPage: true });
      const height = Number(await opened.page.evaluate("document.documentElement.scrollHeight"));
      const slice = 1100;
      for (let i = 0; i * slice < height; i++) {
        const clip = {
          x: 0,
          y: i * slice,
          width: options.width,
          height: Math.min(slice, height - i * slice),
        };
        await opened.page.screenshot({
          path: join(dir!, `${name}-${i}.png`),
          fullPage: true,
          clip,
        });
      }
      if (opened.errors.length) console.log(name, opened.errors);
      await opened.page.close();
    });
  }
  it("print", async () => {
    const opened = await bench.open(geoReport({ sizes: ["10 MB"] }), { width: 1440, dark: true });
    await bench.plots(opened);
    await opened.page.pdf({ path: join(dir!, "print.pdf"), preferCSSPageSize: true });
    await opened.page.evaluate("dispatchEvent(new Event('beforeprint'))");
    await opened.page.emulateMedia({ media: "print" });
    await opened.page.screenshot({
      path: join(dir!, "print.png"),
      clip: { x: 0, y: 0, width: 1100, height: 3000 },
      fullPage: true,
    });
  });
  it("empty", async () => {
    const opened = await bench.open(null, { width: 1280, height: 720 });
    await opened.page.screenshot({ path: join(dir!, "empty.png") });
  });
});
