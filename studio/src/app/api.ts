/**
 * Requests to the command that serves this page. Paths are relative to the address with the secret.
 */
import type { PathSummary, Summary } from "../data/report.types.ts";

/** What a valid scenario plans. */
export interface PlanFacts {
  name: string;
  title: string;
  runs: number;
  in_store: number;
  variants: string[];
  sweep: [string, string[]][];
  path: PathSummary | null;
}

/** What is wrong with a scenario; `from` and `to` count UTF-16 units. */
export interface Fault {
  message: string;
  help: string | null;
  from: number;
  to: number;
  line: number;
}

/** Answer to a check: a plan or an error, and the values of the form's keys. */
export interface Checked {
  plan: PlanFacts | null;
  error: Fault | null;
  form: Record<string, string>;
}

/** State of a run. */
export interface RunState {
  id: number;
  file: string;
  name: string;
  phase: "waiting" | "running" | "done" | "cancelled" | "failed";
  done: number;
  reused: number;
  planned: number;
  has_report: boolean;
  error: string | null;
}

/** State of a run and, once it has ended, its summary. */
export interface RunDetails extends RunState {
  summary: Summary[];
}

/** Whether a run has not ended. */
export const isActive = ({ phase }: RunState): boolean =>
  phase === "waiting" || phase === "running";

/** A built-in path. */
export interface ProfileName {
  name: string;
  title: string;
}

async function ask(method: string, path: string, body?: string): Promise<Response> {
  const response = await fetch(path, { method, ...(body === undefined ? {} : { body }) });
  if (response.ok) return response;
  const text = await response.text();
  let reason = text;
  try {
    reason = (JSON.parse(text) as { error: string }).error;
  } catch {
    // Not from the studio itself.
  }
  throw new Error(reason || `${response.status} ${response.statusText}`);
}

const json = async <T>(method: string, path: string, body?: string): Promise<T> =>
  (await ask(method, path, body)).json() as Promise<T>;

const fileUrl = (file: string): string =>
  `api/scenarios/${file.split("/").map(encodeURIComponent).join("/")}`;
const named = (file: string): string => `file=${encodeURIComponent(file)}`;

/** All requests. */
export const api = {
  list: () => json<{ directory: string; scenarios: string[] }>("GET", "api/scenarios"),
  profiles: () => json<ProfileName[]>("GET", "api/profiles"),
  schema: () => json<unknown>("GET", "api/schema"),
  read: async (file: string) => (await ask("GET", fileUrl(file))).text(),
  save: (file: string, text: string) => ask("PUT", fileUrl(file), text),
  check: (file: string, text: string) => json<Checked>("POST", `api/check?${named(file)}`, text),
  edit: async (text: string, key: string, value: string | null) =>
    (await json<{ text: string }>("POST", "api/edit", JSON.stringify({ text, key, value }))).text,
  run: async (file: string, text: string, latest: boolean) =>
    (
      await json<{ id: number }>(
        "POST",
        `api/runs?${named(file)}${latest ? "&latest=1" : ""}`,
        text,
      )
    ).id,
  runs: () => json<RunState[]>("GET", "api/runs"),
  details: (id: number) => json<RunDetails>("GET", `api/runs/${id}`),
  cancel: (id: number) => ask("DELETE", `api/runs/${id}`),
  textOf: async (id: number) => (await ask("GET", `api/runs/${id}/scenario`)).text(),
};

/** Where a run's report is. */
export const reportUrl = (id: number): string => `runs/${id}/report.html`;
