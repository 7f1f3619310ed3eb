import { h } from "./dom.ts";

/** Offers text as a file. */
export function download(name: string, type: string, text: string): void {
  saveBlob(name, new Blob([text], { type }));
}

/** Offers data as a file. */
export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const a = h("a", { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copies text, without the clipboard interface if that is not available. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { readonly: true, class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A name safe as a file name. */
export function fileName(...parts: string[]): string {
  return parts
    .map((p) => p.replace(/[^\w.-]+/g, "-").replace(/^[-.]+|-+$/g, ""))
    .filter(Boolean)
    .join("_")
    .slice(0, 120);
}

/** One cell of delimited text, quoted for CSV if needed; without tabs and line ends for TSV. */
export function cell(value: string | number | null | undefined, separator: "," | "\t"): string {
  let s = value === null || value === undefined ? "" : String(value);
  if (typeof value === "number" && !Number.isFinite(value)) s = "";
  if (separator === "\t") return s.replace(/[\t\r\n]+/g, " ");
  return /[",\r\n]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
}

/** Lines of cells as CSV or TSV with a line end after each. */
export function delimited(
  lines: (string | number | null | undefined)[][],
  separator: "," | "\t",
): string {
  return lines.map((line) => `${line.map((c) => cell(c, separator)).join(separator)}\n`).join("");
}
