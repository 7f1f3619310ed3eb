import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Moves every script and style sheet of the build into the HTML file itself, so that one file is the whole page. */
function inlineAll(): Plugin {
  return {
    name: "bentpipe-inline",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      const html = bundle["index.html"];
      if (html?.type !== "asset") throw new Error("index.html is missing from the build");
      let text = String(html.source);
      for (const [file, item] of Object.entries(bundle)) {
        const name = file.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
        if (item.type === "chunk") {
          const code = item.code.replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3C!--").trim();
          text = text.replace(new RegExp(`<script[^>]*src="[^"]*${name}"[^>]*></script>`), () => `<script type="module">${code}</script>`);
          delete bundle[file];
        } else if (file.endsWith(".css")) {
          const css = String(item.source).trim();
          text = text.replace(new RegExp(`<link[^>]*href="[^"]*${name}"[^>]*>`), () => `<style>${css}</style>`);
          delete bundle[file];
        }
      }
      if (/<script[^>]*\ssrc=|<link[^>]*rel="stylesheet"/.test(text)) throw new Error("something was not inlined");
      html.source = text;
    },
  };
}

export default defineConfig({
  plugins: [inlineAll()],
  build: {
    target: "es2022",
    cssCodeSplit: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    modulePreload: false,
    reportCompressedSize: false,
  },
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/*.unit.test.ts"] } },
      { test: { name: "page", include: ["tests/*.page.test.ts"], testTimeout: 90_000, hookTimeout: 90_000, fileParallelism: false } },
    ],
  },
});
