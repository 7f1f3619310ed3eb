import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { base64Bytes, inflateBase64, inOrder, seriesAt } from "../src/data/blob.ts";
import { BlobWriter } from "./blobwriter.ts";

describe("the trace data", () => {
  it("comes back as it was written", async () => {
    const w = new BlobWriter();
    const a = w.add({ t: [0.5, 1.25, 3], v: [1, -2.5, 1e9] }, "bytes");
    const b = w.add({ t: [7], v: [8] }, "ms");
    expect(b.offset % 8).toBe(0);
    const blob = await inflateBase64(Buffer.from(deflateSync(w.bytes())).toString("base64"));
    const s = seriesAt(blob, a);
    expect([...s.t]).toEqual([0.5, 1.25, 3]);
    expect([...s.v]).toEqual([1, -2.5, 1e9]);
    expect([...seriesAt(blob, b).v]).toEqual([8]);
  });
  it("decodes base64 of every length, with white space, in several slices", () => {
    for (const n of [0, 1, 2, 3, 4, 1000, 1_600_001]) {
      const bytes = Uint8Array.from({ length: n }, (_, i) => (i * 31) & 255);
      const text = Buffer.from(bytes).toString("base64");
      const back = base64Bytes(`\n ${text}\n`);
      expect(back.length).toBe(n);
      expect(Buffer.from(back).toString("base64") === text).toBe(true);
    }
  });
  it("refuses what is not base64, not zlib, or cut short", async () => {
    expect(() => base64Bytes("@@@@")).toThrow();
    await expect(
      inflateBase64(Buffer.from(new Uint8Array(50).fill(3)).toString("base64")),
    ).rejects.toThrow();
    const whole = deflateSync(new Uint8Array(10_000).map((_, i) => i * i));
    await expect(
      inflateBase64(Buffer.from(whole.subarray(0, whole.length - 20)).toString("base64")),
    ).rejects.toThrow();
  });
  it("refuses series outside the data", () => {
    const blob = new ArrayBuffer(48);
    for (const ref of [
      { offset: 0, n: 5 },
      { offset: 48, n: 1 },
      { offset: 4, n: 1 },
      { offset: -8, n: 1 },
      { offset: 0, n: 1.5 },
    ]) {
      expect(() => seriesAt(blob, { ...ref, unit: "" })).toThrow(RangeError);
    }
    expect(seriesAt(blob, { offset: 0, n: 4, unit: "" }).t.length).toBe(4);
  });
  it("puts times in order, keeping the order of equals", () => {
    const s = inOrder({
      t: Float64Array.from([1, 3, 2, 2]),
      v: Float32Array.from([10, 30, 20, 21]),
    });
    expect([...s.t]).toEqual([1, 2, 2, 3]);
    expect([...s.v]).toEqual([10, 20, 21, 30]);
    const same = { t: Float64Array.from([1, 1]), v: Float32Array.from([1, 2]) };
    expect(inOrder(same)).toBe(same);
  });
});
