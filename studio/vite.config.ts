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

/** Makes a schema shorter: `"#X"` is a reference, `"a|b"` a type, and what is optional is listed. */
function brief(node: unknown, names = false): unknown {
  if (Array.isArray(node)) return node.map((item) => brief(item));
  if (typeof node !== "object" || node === null) return node;
  const { $ref, type, ...rest } = node as Record<string, unknown>;
  const only = !names && Object.keys(rest).length === 0;
  if (only && typeof $ref === "string" && type === undefined) return $ref.replace("/$defs/", "");
  const natural =
    !names && JSON.stringify(rest) === '{"minimum":0}' && [type].flat().includes("integer");
  if ((only || natural) && $ref === undefined && type !== undefined) {
    const types = [type].flat().join("|");
    return natural ? types.replace("integer", "natural") : types;
  }
  const inner = (key: string): boolean => !names && (key === "properties" || key === "$defs");
  const out = Object.entries(node).map(([key, value]) => [key, brief(value, inner(key))]);
  const short: Record<string, unknown> = Object.fromEntries(out);
  const { required, properties } = node as { required?: string[]; properties?: object };
  if (names || !required || !properties) return short;
  const all = Object.keys(properties);
  if (!required.every((key) => all.includes(key))) return short;
  delete short.required;
  return { ...short, optional: all.filter((key) => !required.includes(key)) };
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
      id.endsWith("report.schema.json") ? JSON.stringify(brief(lean(JSON.parse(code)))) : null,
  };
}

/** Authors and licences of the globe's script, as the licences require. */
const NOTICE = `/*! Contains globe.gl, three-globe, three-render-objects and others by Vasco
Asturiano, three.js by its authors, tween.js, tinycolor2, polished and lodash-es (MIT licence); parts
of D3, topojson-client and world-atlas by Mike Bostock, delaunator and earcut by Mapbox (ISC
licence). Land: Natural Earth, public domain. */
`;

/** Of the editor and the engine in editable reports. */
const ENGINE_NOTICE = `/*! Contains CodeMirror and Lezer by Marijn Haverbeke and others, and
xz-decompress by Tim Perry, based on xzwasm by Steve Sanderson, with walloc by Igalia (MIT licence);
xz-embedded by Lasse Collin and Igor Pavlov (public domain). */
`;

/** A script that is put into reports as it is, so it must not end the element around it. */
function embeddable(notice: string): Plugin {
  return {
    name: "bentpipe-embeddable",
    apply: "build",
    enforce: "post",
    generateBundle(_options, bundle) {
      for (const item of Object.values(bundle)) {
        if (item.type === "chunk")
          item.code =
            notice +
            item.code.replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3C!--").trim();
      }
    },
  };
}

const absent = fileURLToPath(new URL("src/sky/globe/absent.ts", import.meta.url));

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
          // A run of a busy machine takes seconds.
          expect: { poll: { timeout: 20_000 } },
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

/** The page of `bentpipe explain FILE --html`. */
const trace: UserConfig = {
  plugins: [inlineAll("trace.html")],
  build: {
    ...page.build,
    emptyOutDir: false,
    rollupOptions: { input: "trace.html" },
  },
};

/** A classic script: pages on a disk load no modules. */
const script = (
  name: string,
  entry: string,
  global: string,
  plugins: Plugin[] = [],
): UserConfig => ({
  plugins,
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2022",
    emptyOutDir: false,
    reportCompressedSize: false,
    lib: {
      entry,
      formats: ["iife"],
      name: global,
      fileName: () => `${name}.js`,
      cssFileName: name,
    },
  },
});

const globe: UserConfig = {
  ...script("globe", "src/sky/globe/index.ts", "BentpipeGlobeScript", [embeddable(NOTICE)]),
  resolve: {
    alias: ["three/webgpu", "three/tsl", "h3-js"].map((name) => ({
      find: new RegExp(`^${name}$`),
      replacement: absent,
    })),
  },
};

const builds: Record<string, UserConfig> = {
  globe,
  studio,
  trace,
  // The site's pages.
  site: script("site", "src/site/main.ts", "BentpipeSite"),
  // The editor of editable reports, and what unpacks it and the engine.
  editor: script("editor", "src/editable/main.ts", "BentpipeEditor", [embeddable(ENGINE_NOTICE)]),
  loader: script("loader", "src/editable/loader.ts", "BentpipeLoader", [embeddable(ENGINE_NOTICE)]),
};

// `vite build` makes dist/index.html; with `--mode`, the others beside it: globe.js, studio.html,
// trace.html, site.js, editor.js with editor.css, loader.js.
export default defineConfig(({ mode }) => builds[mode] ?? page);
