import type { GlobeModule } from "../view.ts";
import { GlobeView } from "./globe.ts";
import { readLand } from "./land.ts";

/** The script in reports with satellites: puts the globe and the outlines of land on the page. */
const land = readLand();
const module: GlobeModule = {
  land,
  mount: (element, scene) => new GlobeView(element, scene, land),
};
globalThis.BentpipeGlobe = module;
