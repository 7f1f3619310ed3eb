import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench, clean, ink, layoutFaults, type Opened } from "./browser.ts";
import { geoReport } from "./fixture.ts";
import { reverseReport } from "./reversefixture.ts";
import { policySweep } from "./sweepfixture.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.start();
});
afterAll(() => bench?.close());

/** Scrolls to the section and waits for its plots. */
async function drawn({ page }: Opened): Promise<void> {
  await page.locator("#reverse .controls.left").scrollIntoViewIfNeeded();
  await page.waitForSelector("#reverse .chart canvas");
  await page.waitForFunction(() => performance.getEntriesByName("bentpipe-redraw").length > 0);
}

const chips = ({ page }: Opened, panel: string): Promise<string[]> =>
  page.locator(`#reverse .panel[data-panel=${panel}] button.chip > span`).allTextContents();

describe("reverse traffic", () => {
  for (const { width, dark } of [
    { width: 1440, dark: false },
    { width: 1000, dark: true },
    { width: 400, dark: false },
  ]) {
    it(`is a section with facts, bars and plots at ${width}, dark: ${dark}`, async () => {
      const opened = await bench.open(reverseReport({ bytes: 2e6 }), { width, dark });
      const { page } = opened;
      await drawn(opened);
      const facts = await page.innerText(".reverse-facts");
      expect(facts).toMatch(/^Data packets per ACK: .*\. Mean reverse rate offered to the link: /);
      expect(facts).toMatch(/\. Reverse bytes are .*\.$/);
      expect(await page.locator(".layer-bar").count()).toBe(4);
      expect(await page.locator(".size-bars").count()).toBe(4);
      expect(await page.locator("#reverse .panel h3").allTextContents()).toEqual([
        "Byte sequence and ACKs at the sender",
        "Reverse rate",
        "Data packets per ACK",
        "ACK frame sizes",
      ]);
      for (const id of ["sender", "reverse-rate", "data-per-ack"])
        expect(await ink(opened, `.panel[data-panel="${id}"]`), id).toBeGreaterThan(200);
      expect(await layoutFaults(opened)).toEqual([]);
      clean(opened);
      await bench.leave(page);
    });
  }

  it("draws the chosen runs in bytes or packet numbers, which the address keeps", async () => {
    const opened = await bench.open(reverseReport({ bytes: 2e6 }));
    const { page } = opened;
    await drawn(opened);
    expect(await chips(opened, "reverse-rate")).toEqual(["tcp-cubic", "quic 1:2", "quic 1:10"]);
    await page.uncheck("#reverse label:has-text('quic 1:2') input");
    await page.check("#reverse label:has-text('quic auto') input");
    await page.waitForFunction(
      () =>
        document.querySelectorAll("#reverse .panel[data-panel=reverse-rate] button.chip").length ===
        3,
    );
    expect(await chips(opened, "reverse-rate")).toEqual(["tcp-cubic", "quic 1:10", "quic auto"]);
    expect(await page.evaluate("document.activeElement.dataset.run")).toBe("3");
    await page.selectOption("#reverse select", "packets");
    await page.waitForSelector("h3:has-text('Packet numbers and ACKs at the sender')");
    await page.waitForFunction(
      () => location.hash.includes("compared=0%2C2%2C3") && location.hash.includes("count=packets"),
    );
    // With one run alone, sent packets and ACKs have colours of their own.
    for (const name of ["tcp-cubic", "quic auto"])
      await page.uncheck(`#reverse label:has-text('${name}') input`);
    await page.waitForFunction(
      () =>
        document.querySelectorAll("#reverse .panel[data-panel=reverse-rate] button.chip").length ===
        1,
    );
    expect(await chips(opened, "sender")).toEqual(["sent", "ACKs"]);
    // The last one cannot be taken away.
    expect(await page.locator("#reverse .run-choice input:disabled").count()).toBe(1);
    expect(await page.isDisabled("#reverse label:has-text('quic 1:10') input")).toBe(true);
    clean(opened);
    await bench.leave(page);
  });

  it("has its own window, and a folded plot that is drawn once it is opened", async () => {
    const opened = await bench.open(reverseReport({ bytes: 2e6 }), {
      hash: "#compared=1&reverseZoom=2,4",
    });
    const { page } = opened;
    await drawn(opened);
    expect(await page.textContent("#reverse .timebar .where")).toBe("2.000 to 4.000\u00a0s");
    expect(await page.locator("#reverse .panel[data-panel=ack-size] canvas").count()).toBe(0);
    await page.click("#reverse .panel[data-panel=ack-size] summary");
    await page.waitForSelector("#reverse .panel[data-panel=ack-size] canvas");
    await page.waitForTimeout(200);
    expect(await ink(opened, ".panel[data-panel=ack-size]")).toBeGreaterThan(50);
    await page.focus("#reverse .stack");
    await page.keyboard.press("0");
    await page.waitForFunction(() =>
      document.querySelector("#reverse .timebar .where")!.textContent.startsWith("0.00"),
    );
    expect(await page.locator("#reverse .panel[data-panel=ack-size] canvas").count()).toBe(1);
    clean(opened);
    await bench.leave(page);
  });

  it("stays folded without anything to see, and is missing in early reports", async () => {
    const alike = [
      { variant: "quic a", every: 2 },
      { variant: "quic b", every: 2 },
    ];
    const opened = await bench.open(reverseReport({ bytes: 2e6, policies: alike }));
    expect(await opened.page.locator(".reverse-facts:visible").count()).toBe(1);
    expect(await opened.page.locator(".layer-bar:visible").count()).toBe(0);
    await opened.page.click(".reverse-more > summary");
    await drawn(opened);
    expect(await opened.page.locator(".layer-bar:visible").count()).toBe(2);
    clean(opened);
    await bench.leave(opened.page);
    const old = await bench.open(geoReport({ repeats: 1, sizes: ["2 MB"] }));
    expect(await old.page.locator("#reverse, a:has-text('ACKs')").count()).toBe(0);
    await bench.leave(old.page);
  });
});

describe("inside a run", () => {
  it("flow control is open if it blocked the sender; terminals have their capacity", async () => {
    const opened = await bench.open(
      reverseReport({ bytes: 2e6, blocked: 0.8, terminals: ["t1", "t2"] }),
      { hash: "#run=1" },
    );
    const { page } = opened;
    await bench.plots(opened);
    const titles = await page.locator("#series .panel h3").allTextContents();
    expect(titles).toEqual([
      "Time and sequence",
      "Packets and ACKs",
      "Congestion window and bytes in flight",
      "Flow control",
      "Capacity of geo/return, all terminals",
      "Capacity of geo/return, terminal t1",
      "Capacity of geo/return, terminal t2",
      "Link throughput",
      "Queue",
    ]);
    for (const id of ["flow-control", "capacity:geo/return", "capacity:geo/return#t1"]) {
      await page.locator(`.panel[data-panel="${id}"]`).scrollIntoViewIfNeeded();
      await page.waitForTimeout(150);
      expect(await ink(opened, `.panel[data-panel="${id}"]`), id).toBeGreaterThan(200);
    }
    expect(await page.locator(`.panel[data-panel="capacity:geo/return#t2"] canvas`).count()).toBe(
      0,
    );
    expect(await layoutFaults(opened)).toEqual([]);
    clean(opened);
    await bench.leave(page);
  });

  it("flow control is folded if it blocked no sender, and opens in both runs", async () => {
    const opened = await bench.open(reverseReport({ bytes: 2e6 }), { hash: "#run=1&versus=2" });
    const { page } = opened;
    await bench.plots(opened);
    const plot = page.locator(".panel[data-panel=flow-control]");
    expect(await plot.innerText()).toContain("never blocked the sender");
    await plot.locator("summary").click();
    await page.waitForFunction(
      () => document.querySelectorAll(".panel[data-panel=flow-control] canvas").length === 2,
    );
    clean(opened);
    await bench.leave(page);
  });
});

describe("a sweep of return capacity", () => {
  for (const dark of [false, true]) {
    it(`has a log axis, labels that can be read and eight colours, dark: ${dark}`, async () => {
      const opened = await bench.open(policySweep(), {
        dark,
        width: 1280,
        hash: "#metric=goodput_mbps",
      });
      const { page } = opened;
      const plot = page.locator(".sweep svg.plot");
      expect(await plot.locator(".caption").textContent()).toBe("return rate (log scale)");
      const labels = await plot.locator("text.tick[text-anchor=middle]").allTextContents();
      expect(labels[0]).toBe("10 kbps");
      expect(labels.at(-1)).toBe("3 Mbps");
      expect(labels.length).toBeGreaterThan(6);
      expect(
        new Set(
          await plot
            .locator("path.step")
            .evaluateAll((paths) => paths.map((p) => p.getAttribute("stroke"))),
        ).size,
      ).toBe(8);
      expect(await page.locator(".sweep .key > button").count()).toBe(8);
      expect(await layoutFaults(opened)).toEqual([]);
      clean(opened);
      await bench.leave(page);
    });
  }
});
