import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resultsJson } from "../src/data/export.ts";
import type { Fixture } from "./blobwriter.ts";
import { Bench, clean, layoutFaults, view } from "./browser.ts";
import { builtPage, embed, PLACEHOLDER } from "./embed.ts";
import { geoReport, singleReport } from "./fixture.ts";
import { hostileReport, oddReport } from "./oddfixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

describe("the built file", () => {
  it("is one file with one placeholder and no address to load from", () => {
    const page = builtPage();
    expect(page.split(PLACEHOLDER)).toHaveLength(2);
    expect(page).not.toMatch(
      /<script[^>]+src=|<link[^>]+stylesheet|@import|url\((?!["']?(?:data:|#))/,
    );
  });
  it("keeps its size", () => {
    // 46 kB of it are the first screen: its sentences, figures and styles; 10 kB the pivot table
    // and the search of variants, without which a report of 40 variants cannot be read; 10 kB what
    // takes figures away as drawings and tables, for papers too; 11 kB are the metrics of calls and
    // players with what they mean; 9 kB are packets between sender and receiver and on the path;
    // 5 kB are requests beside a load, and the names of metrics and flows in sentences; 5 kB are
    // the metrics of users who call or watch, and their panel; 2 kB the form for a phone;
    // 2 kB are the metrics of web pages and the table of their servers; 1 kB are axes and times of
    // runs that take days.
    // The smallest report with data has 700 kB.
    expect(builtPage().length).toBeLessThan(370_000);
  });
});

describe("a realistic report", () => {
  const fixture = geoReport();
  it("shows its link to the content only to a keyboard, below a site's bar too", async () => {
    const { page } = await bench.open(fixture);
    const seen = (): Promise<boolean> =>
      page.evaluate(() => {
        const link = document.querySelector(".skip")!;
        const { left, top, height } = link.getBoundingClientRect();
        return document.elementsFromPoint(left + 5, top + height / 2).includes(link);
      });
    await page.evaluate(() => {
      const bar = document.createElement("div");
      bar.style.height = "80px";
      document.body.prepend(bar);
    });
    expect(await seen()).toBe(false);
    await page.keyboard.press("Tab");
    expect(await seen()).toBe(true);
    await bench.leave(page);
  });
  for (const dark of [false, true]) {
    for (const [width, height] of [
      [1440, 900],
      [1280, 720],
      [1000, 800],
      [400, 800],
    ] as const) {
      it(`is laid out at ${width} in ${dark ? "dark" : "light"}`, async () => {
        const opened = await bench.open(fixture, { width, height, dark });
        const { page } = opened;
        await bench.plots(opened);
        expect(await page.getAttribute("html", "data-theme")).toBe(dark ? "dark" : "light");
        const back = await page.evaluate("getComputedStyle(document.body).backgroundColor");
        expect(back).toBe(dark ? "rgb(14, 18, 23)" : "rgb(245, 246, 248)");
        expect(await layoutFaults(opened)).toEqual([]);
        clean(opened);
        await bench.leave(page);
      });
    }
  }

  it("says what was run, on what path, and what was expected", async () => {
    const opened = await bench.open(fixture);
    const { page } = opened;
    for (const strip of await page.locator(".strip-line > summary").all()) await strip.click();
    await page.click(".verdict button >> nth=0");
    const text = await page.innerText("#answer");
    for (const words of [
      "Resuming a download",
      "geo-resume",
      "virtual",
      "0.4.0 (0123456789ab)",
      "4 variants × 3 points × 20 runs",
      "650 ms",
      "4.06 MB",
      "1 of 3 failed",
      "measured 3.83",
    ]) {
      expect(text.replaceAll("\u00a0", " ")).toContain(words);
    }
    expect(await page.locator(".expectations li.failed").count()).toBe(1);
    const settings = await page.locator(".settings tr").allInnerTexts();
    expect(settings.map((line) => line.trim().split(/\s*\t\s*/))).toEqual([
      [
        "Variant",
        "Transport",
        "Congestion control",
        "Slow start",
        "ACK policy",
        "Handshake",
        "Resume",
      ],
      ["tcp-cubic", "tcp", "cubic", "hystart++", "stack", "1rtt", "none"],
      ["quic-1rtt", "quic", "cubic", "hystart++", "1:2", "1rtt", "none"],
      ["quic-0rtt", "quic", "cubic", "hystart++", "1:2", "1rtt", "none"],
      ["quic-0rtt-careful", "quic", "cubic", "careful-resume", "1:2", "1rtt", "none"],
    ]);
    const drawing = await page.locator("svg.path").textContent();
    expect(drawing).toContain("GEO satellite");
    expect(drawing).toContain("50 Mbps");
    expect(await page.title()).toContain("Resuming");
    clean(opened);
    await bench.leave(page);
  });

  it("counts expectations in a chip, and lists those that failed first", async () => {
    const { report, blob } = geoReport({ repeats: 1, traces: false });
    const passed = Array.from({ length: 7 }, (_, i) => ({
      text: `expectation ${i}`,
      passed: true,
      measured: i,
    }));
    report.expectations = [
      ...passed,
      { text: "one that failed", passed: false, measured: 9 },
      { text: "one that was not decided", passed: null, measured: null },
    ];
    const opened = await bench.open({ report, blob });
    const { page } = opened;
    const items = page.locator(".expectations li");
    const chip = page.locator(".verdict button").first();
    expect(await chip.innerText()).toMatch(/^Expectations\s+✗ 1 of 9 failed$/);
    expect(await items.filter({ visible: true }).count()).toBe(0);
    await chip.focus();
    await page.keyboard.press("Enter");
    expect(await items.filter({ visible: true }).count()).toBe(9);
    const first = (await items.allInnerTexts()).slice(0, 2).map((t) => t.replace(/\s+/g, " "));
    expect(first).toEqual([
      "✗ failed one that failed measured 9",
      "? not decided one that was not decided",
    ]);
    await page.keyboard.press("Escape");
    expect(await items.filter({ visible: true }).count()).toBe(0);
    await chip.click();
    expect(await layoutFaults(opened)).toEqual([]);
    clean(opened);
    await bench.leave(page);
  });

  it("draws every run, follows the selectors, and fills the table", async () => {
    const opened = await bench.open(fixture);
    const { page } = opened;
    expect(await page.locator(".dist .strip").count()).toBe(3);
    const dots = await page
      .locator(".strip")
      .first()
      .locator("path.dots")
      .first()
      .getAttribute("d");
    expect(dots!.split("h0")).toHaveLength(21);
    expect(await page.locator(".strip .published.objective").count()).toBe(12);
    await page.getByLabel("Lines").selectOption("list");
    expect(await page.locator("#table tbody tr").count()).toBe(13);
    const median = fixture.report.summary.find(
      (s) =>
        s.variant === "quic-0rtt-careful" &&
        s.metric === "completion_s" &&
        s.point["workload.download"] === "10 MB",
    )!.median!;
    expect(await page.innerText("#table tbody")).toContain(median.toFixed(2));
    await page.selectOption("#results select >> nth=1", { label: "download 10 MB" });
    expect(await page.locator(".dist .strip").count()).toBe(1);
    await page.selectOption("#results select >> nth=0", { label: "Goodput" });
    expect(await page.innerText(".dist")).toContain("times the goodput of");
    await page.waitForFunction(() => location.hash.includes("metric=goodput_mbps"));
    clean(opened);
    await bench.leave(page);
  });

  it("shows the time series, zooms by wheel, drag and keys, and resets", async () => {
    const opened = await bench.open(fixture);
    const { page } = opened;
    expect(await page.locator(".chart canvas").count()).toBe(0);
    await bench.plots(opened);
    const panels = await page.locator(".panel h3").allTextContents();
    expect(panels).toEqual([
      "Time and sequence",
      "Packets and ACKs",
      "Congestion window and bytes in flight",
      "Round-trip time",
      "Pacing rate",
      "Link throughput",
      "Queue",
    ]);
    expect(await page.locator(".panel > .howto").count()).toBe(6);
    await page.evaluate(
      "document.querySelector('.panel').scrollIntoView({block: 'center', behavior: 'instant'})",
    );
    const whole = await view(opened);
    await bench.wheel(opened, -400);
    const closer = await view(opened);
    expect(closer[1] - closer[0]).toBeLessThan((whole[1] - whole[0]) * 0.6);
    // Values at the cursor, the same instant in every plot.
    expect(
      (await page.locator(".panel[data-panel=window] .chip output").nth(1).innerText()).replace(
        "\u00a0",
        " ",
      ),
    ).toMatch(/^[\d.]+ (kB|MB|B)$/);
    expect(await page.locator(".cursor-line:visible").count()).toBe(6);
    const box = (await page.locator(".plot-area").first().boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.25, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 80, { steps: 4 });
    await page.mouse.up();
    await page.waitForTimeout(100);
    const dragged = await view(opened);
    expect(dragged[1] - dragged[0]).toBeCloseTo((closer[1] - closer[0]) / 4, 1);
    await page.waitForFunction(() => location.hash.includes("zoom="));
    await page.keyboard.down("Shift");
    await page.mouse.move(box.x + box.width * 0.5, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 80, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.waitForTimeout(100);
    const moved = await view(opened);
    expect(moved[0]).toBeLessThan(dragged[0]);
    expect(moved[1] - moved[0]).toBeCloseTo(dragged[1] - dragged[0], 1);
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(100);
    expect((await view(opened))[0]).toBeGreaterThan(moved[0]);
    await page.mouse.dblclick(box.x + box.width / 2, box.y + 80);
    await page.waitForTimeout(100);
    expect(await view(opened)).toEqual(whole);
    await page.keyboard.press("+");
    await page.waitForTimeout(100);
    expect((await view(opened))[1] - (await view(opened))[0]).toBeLessThan(whole[1] - whole[0]);
    clean(opened);
    await bench.leave(page);
  });

  it("paints in the plots, and less once a series is switched off", async () => {
    const opened = await bench.open(fixture);
    const { page } = opened;
    await bench.plots(opened);
    const ink = (): Promise<number> =>
      page.evaluate(() => {
        const c = document.querySelector<HTMLCanvasElement>(".panel[data-panel=window] canvas")!;
        const { data } = c.getContext("2d")!.getImageData(0, 0, c.width, c.height);
        // Blue as in the window's line, #0060a8.
        let n = 0;
        for (let i = 0; i < data.length; i += 4)
          if (data[i]! < 40 && data[i + 2]! > 140 && data[i + 3]! > 200) n++;
        return n;
      });
    const before = await ink();
    expect(before).toBeGreaterThan(500);
    await page.click(".panel[data-panel=window] button.chip:has-text('cwnd')");
    await expect.poll(ink).toBeLessThan(before / 10);
    await bench.leave(page);
  });

  it("opens a linked view, and two runs beside each other on one axis", async () => {
    const opened = await bench.open(fixture, { hash: "#run=5&versus=7&zoom=1,3" });
    const { page } = opened;
    await bench.plots(opened);
    expect(await view(opened)).toEqual([1, 3]);
    expect(await page.locator(".panel[data-panel=window] canvas").count()).toBe(2);
    expect(await page.locator(".run-card h3").allInnerTexts()).toEqual([
      expect.stringContaining("quic-1rtt · download 10 MB"),
      expect.stringContaining("quic-0rtt-careful · download 10 MB"),
    ]);
    expect(await layoutFaults(opened)).toEqual([]);
    await page.selectOption("#series select >> nth=1", "-1");
    await page.waitForFunction(
      () => document.querySelectorAll(".panel[data-panel=window] canvas").length === 1,
    );
    clean(opened);
    await bench.leave(page);
  });

  it("switches colours by hand and copies and saves the data", async () => {
    const opened = await bench.open(fixture);
    const { page } = opened;
    await page.click(".toggle button:has-text('dark')");
    expect(await page.getAttribute("html", "data-theme")).toBe("dark");
    await page.emulateMedia({ colorScheme: "dark" });
    await page.click(".toggle button:has-text('light')");
    expect(await page.getAttribute("html", "data-theme")).toBe("light");
    await page.click("text=Copy TSV");
    await page.waitForSelector("text=Copied as TSV.");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.click("text=Save results as JSON"),
    ]);
    expect(file.suggestedFilename()).toBe("geo-resume_results.json");
    expect(readFileSync((await file.path())!, "utf8")).toBe(resultsJson(fixture.report));
    const [csv] = await Promise.all([page.waitForEvent("download"), page.click("text=Save CSV")]);
    expect(readFileSync((await csv.path())!, "utf8").split("\n")).toHaveLength(15);
    expect(await page.locator("details pre").isVisible()).toBe(false);
    await page.click("text=The resolved scenario");
    expect(await page.innerText("details pre")).toContain('profile = "geo-50-10"');
    clean(opened);
    await bench.leave(page);
  });

  it("can be reached by keyboard, every control with a name", async () => {
    const opened = await bench.open(fixture);
    const { page } = opened;
    await bench.plots(opened);
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>("button, select, input, a, [tabindex='0']")]
        .filter((e) => !(e.innerText?.trim() || e.getAttribute("aria-label") || e.closest("label")))
        .map((e) => e.outerHTML.slice(0, 80)),
    );
    expect(nameless).toEqual([]);
    await page.focus(".stack");
    const whole = await view(opened);
    await page.keyboard.press("+");
    await page.waitForTimeout(100);
    expect((await view(opened))[0]).toBeGreaterThan(whole[0]);
    await page.keyboard.press("0");
    await page.waitForTimeout(100);
    expect(await view(opened)).toEqual(whole);
    await page.keyboard.press(".");
    expect(await page.locator(".cursor-line:visible").count()).toBe(6);
    await bench.leave(page);
  });

  it("prints in light colours without the controls", async () => {
    const opened = await bench.open(fixture, { dark: true });
    await bench.plots(opened);
    await opened.page.evaluate("dispatchEvent(new Event('beforeprint'))");
    await opened.page.emulateMedia({ media: "print" });
    expect(await opened.page.getAttribute("html", "data-theme")).toBe("light");
    expect(await opened.page.locator(".controls:visible, .topbar:visible").count()).toBe(0);
    expect(
      await opened.page.evaluate(
        "Math.max(...[...document.querySelectorAll('svg, canvas')]" +
          ".map((e) => e.getBoundingClientRect().right))",
      ),
    ).toBeLessThan(1031);
    expect((await opened.page.pdf({ preferCSSPageSize: true })).length).toBeGreaterThan(20_000);
    clean(opened);
    await bench.leave(opened.page);
  });
});

describe("particular reports", () => {
  it("with nothing random show dots and no interval", async () => {
    const opened = await bench.open(singleReport());
    const { page } = opened;
    await page.getByRole("button", { name: "Cautions" }).click();
    expect(await page.innerText(".verdict.open")).toContain("There is one run of each case");
    expect(await page.locator(".strip path.single").count()).toBe(4);
    expect(await page.locator(".strip .whisker, .strip .box, .strip .median, .cdf").count()).toBe(
      0,
    );
    expect(await page.innerText("#table tbody tr >> nth=0")).toMatch(
      /^\s*tcp-cubic\s+8\.\d+\s+5\s+objective\s.*\s1\.\d+×$/s,
    );
    expect(await page.innerText("#table caption")).toBe("Completion time (s), one run each");
    clean(opened);
    await bench.leave(page);
  });

  it("with missing, unknown and broken series show what there is", async () => {
    const opened = await bench.open(oddReport(), { width: 1280 });
    const { page } = opened;
    await bench.plots(opened);
    expect(await page.locator(".panel h3").allTextContents()).toEqual([
      "Objects",
      "Congestion window and bytes in flight",
      "temperature",
      "Link delay",
    ]);
    expect(await page.innerText("#series > .note")).toContain("could not be read");
    expect((await view(opened))[0]).toBe(0);
    expect(await page.innerText("#results")).toContain("1 of 4 did not complete");
    await page.selectOption("#series select >> nth=2", "run");
    await page.waitForFunction(() =>
      document.querySelector(".timebar .where")!.textContent.startsWith("60"),
    );
    await page.selectOption("#series select >> nth=0", "1");
    await page.waitForFunction(() => document.querySelectorAll(".panel").length === 0);
    expect(await layoutFaults(opened)).toEqual([]);
    clean(opened);
    await bench.leave(page);
  });

  it("with damaged traces say so and keep the rest", async () => {
    const fixture = geoReport({ repeats: 2, sizes: ["2 MB"] });
    fixture.blob = fixture.blob!.subarray(0, 800);
    const opened = await bench.open(fixture);
    await opened.page.evaluate("document.getElementById('series').scrollIntoView()");
    await opened.page.waitForSelector("text=could not be read");
    expect(await opened.page.locator(".dist .strip").count()).toBe(1);
    clean(opened);
    await bench.leave(opened.page);
  });

  it("with hostile names show them as text", async () => {
    const opened = await bench.open(hostileReport());
    const { page } = opened;
    await bench.plots(opened);
    await page.click(".check");
    await page.hover(".strip-plot");
    await page.hover(".panel[data-panel=objects] .plot-area");
    expect(await page.innerText(".row-tip")).toContain("<img src=x");
    expect(await page.evaluate("window.owned")).toBeUndefined();
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.locator("b", { hasText: /^x$/ }).count()).toBe(0);
    expect(await page.innerText("h1")).toContain('<img src=x onerror="window.owned=4">');
    expect(await page.locator(".panel").count()).toBe(4);
    expect(await page.evaluate("({}).x")).toBeUndefined();
    clean(opened);
    await bench.leave(page);
  });

  it("that cannot be read say so", async () => {
    const opened = await bench.open({ report: { nonsense: 1 }, blob: null } as unknown as Fixture);
    expect(await opened.page.innerText("[role=alert]")).toContain("no list of runs");
    clean(opened);
    await bench.leave(opened.page);
  });
});

describe("the empty page", () => {
  const { report } = geoReport({ repeats: 3, traces: false });
  it("says so and takes a results file by choice", async () => {
    const opened = await bench.open(null);
    const { page } = opened;
    expect(await page.innerText("h1")).toBe("No data in this page");
    await page.evaluate((text) => {
      const files = new DataTransfer();
      files.items.add(new File([text], "broken.json"));
      const input = document.querySelector<HTMLInputElement>("input[type=file]")!;
      input.files = files.files;
      input.dispatchEvent(new Event("change"));
    }, "{ not json");
    await page.waitForSelector("text=broken.json could not be shown");
    clean(opened);
    await bench.leave(page);
  });
  it("says the settings of its variants in one line if they are the same", async () => {
    const same = singleReport();
    const [first] = same.report.variant_settings;
    for (const v of same.report.variant_settings) v.flows = first!.flows;
    const opened = await bench.open(same);
    expect(await opened.page.innerText(".strip-line >> nth=1")).toContain(
      "tcp · cubic · slow start hystart++ · ACK stack · 1rtt · resume none",
    );
    await opened.page.click(".strip-line >> nth=1 >> summary");
    expect(await opened.page.innerText(".settings-line")).toBe(
      "All 4 variants: tcp, congestion control cubic, slow start hystart++, ACK policy stack, " +
        "handshake 1rtt, resume none",
    );
    expect(await opened.page.locator(".settings").count()).toBe(0);
    await bench.leave(opened.page);
  });

  it("names what does not fit its schema instead of staying empty", async () => {
    const broken = singleReport();
    broken.report.runs[0]!.flows[0]!.bytes = "many" as never;
    const opened = await bench.open(broken);
    expect(await opened.page.innerText("[role=alert]")).toBe(
      "The report in this page cannot be read: " +
        'runs[0].flows[0].bytes is "many": expected integer',
    );
    clean(opened);
    await bench.leave(opened.page);
  });

  it("takes a results file by drop", async () => {
    const opened = await bench.open(null);
    const { page } = opened;
    await page.evaluate((text) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([text], "results.json", { type: "application/json" }));
      document
        .querySelector(".drop")!
        .dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    }, resultsJson(report));
    await page.waitForSelector(".dist .strip");
    expect(await page.locator(".dist .strip").count()).toBe(3);
    expect(await page.locator("#table tbody tr").count()).toBe(4);
    expect(await page.locator("#table tbody td").count()).toBe(4 * 4);
    expect(await page.innerText("#series")).toContain("No time series were recorded");
    clean(opened);
    await bench.leave(page);
  });
});

describe("embedding", () => {
  it("leaves no way out of the data element", () => {
    const text = embed(PLACEHOLDER, hostileReport());
    expect(text.split("</script>")).toHaveLength(3);
  });
});
