import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig, type ViteUserConfig as UserConfig } from "vitest/config";

/**
 * Moves every script and style sheet of the build into the HTML file, so that one file is the page.
 */
function inlineAll(name = "index.html"): Plugin {
  return {
    name: "bentpipe-inline",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      const html = bundle[name];
      if (html?.type !== "asset") throw new Error(`${name} is missing from the build`);
      let text = String(html.source);
      for (const [file, item] of Object.entries(bundle)) {
        const asset = file.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
        if (item.type === "chunk") {
          const code = item.code
            .replaceAll("</script", "<\\/script")
            .replaceAll("<!--", "\\x3C!--")
            .trim();
          text = text.replace(
            new RegExp(`<script[^>]*src="[^"]*${asset}"[^>]*></script>`),
            () => `<script type="module">${code}</script>`,
          );
          delete bundle[file];
        } else if (file.endsWith(".css")) {
          const css = String(item.source).trim();
          text = text.replace(
            new RegExp(`<link[^>]*href="[^"]*${asset}"[^>]*>`),
            () => `<style>${css}</style>`,
          );
          delete bundle[file];
        }
      }
      if (/<script[^>]*\ssrc=|<link[^>]*rel="stylesheet"/.test(text))
        throw new Error("something was not inlined");
      html.source = text;
    },
  };
}

/** Leaves out of the report's schema what does not restrict values: texts, and the metrics. */
function leanSchema(): Plugin {
  const texts = ["title", "description", "default", "format", "$schema"];
  const lean = (node: unknown, names = false): unknown => {
    if (Array.isArray(node)) return node.map((item) => lean(item));
    if (typeof node !== "object" || node === null) return node;
    // Below these keys are names of properties and definitions.
    const inner = (key: string): boolean => key === "properties" || key === "$defs";
    const isText = (key: string): boolean => texts.includes(key) || key.startsWith("x-");
    const kept = Object.entries(node).filter(([key]) => names || !isText(key));
    return Object.fromEntries(kept.map(([key, value]) => [key, lean(value, !names && inner(key))]));
  };
  return {
    name: "bentpipe-lean-schema",
    apply: "build",
    enforce: "pre",
    transform: (code, id) =>
      id.endsWith("report.schema.json") ? JSON.stringify(lean(JSON.parse(code))) : null,
  };
}

/** Authors and licences of the globe's script, as the licences require. */
const NOTICE = `/*! Contains globe.gl, three-globe, three-render-objects and others by Vasco
Asturiano, three.js by its authors, tween.js, tinycolor2, polished and lodash-es (MIT licence); parts
of D3, topojson-client and world-atlas by Mike Bostock, delaunator and earcut by Mapbox (ISC
licence). Land: Natural Earth, public domain. */
`;

/** The globe's script, put into reports as it is, so it must not end the element around it. */
function embeddable(): Plugin {
  return {
    name: "bentpipe-embeddable",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      for (const item of Object.values(bundle)) {
        if (item.type === "chunk")
          item.code =
            NOTICE +
            item.code.replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3C!--").trim();
      }
    },
  };
}

const absent = fileURLToPath(new URL("src/sky/globe/absent.ts", import.meta.url));

const globe: UserConfig = {
  plugins: [embeddable()],
  resolve: {
    alias: ["three/webgpu", "three/tsl", "h3-js"].map((name) => ({
      find: new RegExp(`^${name}$`),
      replacement: absent,
    })),
  },
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2022",
    emptyOutDir: false,
    reportCompressedSize: false,
    lib: {
      entry: "src/sky/globe/index.ts",
      formats: ["iife"],
      name: "BentpipeGlobeScript",
      fileName: () => "globe.js",
    },
  },
};

const page: UserConfig = {
  plugins: [leanSchema(), inlineAll()],
  build: {
    target: "es2022",
    cssCodeSplit: false,
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    modulePreload: false,
    reportCompressedSize: false,
  },
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/*.unit.test.ts"], testTimeout: 30_000 } },
      {
        test: {
          name: "page",
          include: ["tests/*.page.test.ts"],
          testTimeout: 90_000,
          hookTimeout: 90_000,
          fileParallelism: false,
        },
      },
    ],
  },
};

/** The page of `bentpipe studio`. */
const studio: UserConfig = {
  plugins: [inlineAll("studio.html")],
  build: {
    ...page.build,
    emptyOutDir: false,
    rollupOptions: { input: "studio.html" },
  },
};

/** The script of the site's pages. A classic one, as pages on a disk load no modules. */
const site: UserConfig = {
  build: {
    target: "es2022",
    emptyOutDir: false,
    reportCompressedSize: false,
    lib: {
      entry: "src/site/main.ts",
      formats: ["iife"],
      name: "BentpipeSite",
      fileName: () => "site.js",
    },
  },
};

const builds: Record<string, UserConfig> = { globe, studio, site };

// `vite build` makes dist/index.html; `--mode globe` dist/globe.js, `--mode studio`
// dist/studio.html and `--mode site` dist/site.js beside it.
export default defineConfig(({ mode }) => builds[mode] ?? page);
