/** The script of the site's own pages and of its book. */
import { themeToggle } from "../page/theme.ts";
import { runnableBlocks } from "./blocks.ts";
import { gallerySearch } from "./gallery.ts";
import { type Race, startRace } from "./race.ts";

let race: Race | null = null;
/** Where this script is, from which the site's other pages can be found. */
const here = (document.currentScript as HTMLScriptElement | null)?.src ?? location.href;

/** The book's own switch of themes, which is hidden, loads its colours of code. */
function followInBook(): void {
  const dark = document.documentElement.dataset.theme === "dark";
  const name = dark ? "navy" : "light";
  const own = document.querySelector<HTMLButtonElement>(`#mdbook-theme-${name}`);
  if (own && !document.documentElement.classList.contains(name)) own.click();
}

function start(): void {
  const bar = document.querySelector(".site-bar");
  const toggle = themeToggle(() => {
    followInBook();
    race?.recolour();
  });
  bar?.append(toggle);
  runnableBlocks(here);
  gallerySearch();
  const place = document.getElementById("race");
  if (place) void startRace(place).then((started) => (race = started));
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
