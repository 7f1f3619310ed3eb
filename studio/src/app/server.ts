/**
 * Requests to the command that serves this page. Paths are relative to the address with the secret.
 */
import { shownIn } from "../page/editable.ts";
import {
  type Api,
  type Checked,
  Conflict,
  type Imported,
  type KnownNames,
  NoAnswer,
  type Outlook,
  type ProfileName,
  type RunDetails,
  type RunState,
} from "./api.ts";

async function ask(
  method: string,
  path: string,
  body?: BodyInit,
  { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    });
  } catch {
    throw new NoAnswer("the studio does not answer");
  }
  if (response.ok) return response;
  const text = await response.text();
  let reason = text;
  let theirs: string | null | undefined;
  try {
    ({ error: reason, text: theirs } = JSON.parse(text) as { error: string; text?: string | null });
  } catch {
    // Not from the studio itself.
  }
  if (response.status === 412) throw new Conflict(theirs ?? null);
  throw new Error(reason || `${response.status} ${response.statusText}`);
}

const json = async <T>(
  method: string,
  path: string,
  body?: BodyInit,
  signal?: AbortSignal,
): Promise<T> => (await ask(method, path, body, signal ? { signal } : {})).json() as Promise<T>;

const fileUrl = (file: string): string =>
  `api/scenarios/${file.split("/").map(encodeURIComponent).join("/")}`;
const named = (file: string): string => `file=${encodeURIComponent(file)}`;

/** The command. */
export const server: Api = {
  list: () =>
    json<{ directory: string; scenarios: string[]; titles: string[] }>("GET", "api/scenarios"),
  profiles: () => json<ProfileName[]>("GET", "api/profiles"),
  names: () => json<KnownNames>("GET", "api/names"),
  schema: () => json<unknown>("GET", "api/schema"),
  read: async (file) => {
    const response = await ask("GET", fileUrl(file));
    return { text: await response.text(), tag: response.headers.get("ETag") ?? "" };
  },
  save: async (file, text, replaced) => {
    const headers: Record<string, string> =
      replaced === null ? { "If-None-Match": "*" } : { "If-Match": replaced };
    const response = await ask("PUT", fileUrl(file), text, { headers });
    return { words: `saved ${file}`, tag: response.headers.get("ETag") ?? "" };
  },
  import: ({ to, files, options }) => {
    const named = files.map(({ content: { name, size }, direction }) => ({
      name,
      bytes: size,
      direction,
    }));
    const request = encodeURIComponent(JSON.stringify({ to, files: named, ...options }));
    const contents = new Blob(files.map(({ content }) => content));
    return json<Imported>("POST", `api/import?request=${request}`, contents);
  },
  check: (file, text, signal) => json<Checked>("POST", `api/check?${named(file)}`, text, signal),
  outlook: (file, text, signal) =>
    json<Outlook>("POST", `api/outlook?${named(file)}`, text, signal),
  edit: async (text, key, value) =>
    (await json<{ text: string }>("POST", "api/edit", JSON.stringify({ text, key, value }))).text,
  run: async (file, text, latest) =>
    (
      await json<{ id: number }>(
        "POST",
        `api/runs?${named(file)}${latest ? "&latest=1" : ""}`,
        text,
      )
    ).id,
  runs: () => json<RunState[]>("GET", "api/runs"),
  details: (id) => json<RunDetails>("GET", `api/runs/${id}`),
  data: async (id) => {
    const elements = await (await ask("GET", `api/runs/${id}/data`)).text();
    return shownIn(elements);
  },
  cancel: async (id) => void (await ask("DELETE", `api/runs/${id}`)),
  textOf: async (id) => (await ask("GET", `api/runs/${id}/scenario`)).text(),
};

/** Where a run's report is. */
export const reportUrl = (id: number): string => `runs/${id}/report.html`;

/** The report of a run as a page in which its reader can change the scenario and run it. */
export const exported = async (id: number): Promise<Blob> =>
  (await ask("GET", `runs/${id}/editable.html`)).blob();
