/** The script of a Web Worker that holds the virtual clock. It is made of text, without a file. */

/** What the worker is asked. */
export interface Request {
  id: number;
  call: "check" | "outlook" | "edit" | "profiles" | "run";
  args: string[];
}

/** What it answers: progress, and then a value or a reason. */
export interface Answer {
  id: number;
  value?: unknown;
  error?: string;
  /** Runs done and planned. */
  progress?: [number, number];
  /** Why the engine cannot go on. */
  failed?: string;
}

/** What `wasm-bindgen` makes: the exports of crate `bentpipe-wasm`. */
interface Exports {
  initSync(options: { module: WebAssembly.Module }): void;
  begin(): void;
  check(...args: string[]): string;
  outlook(...args: string[]): string;
  edit(...args: string[]): string;
  profiles(): string;
  run(...args: string[]): { summary: string; results: string; data: string; free(): void };
}

/** Runs in the worker, as text: it uses nothing of the modules around it. */
function work(engine: Exports): void {
  const scope = globalThis as unknown as {
    onmessage: (event: MessageEvent) => void;
    postMessage(answer: Answer): void;
    bentpipeProgress(done: number, planned: number): void;
    bentpipeFailed(reason: string): void;
  };
  let current = 0;
  scope.bentpipeProgress = (done, planned) =>
    scope.postMessage({ id: current, progress: [done, planned] });
  scope.bentpipeFailed = (reason) => scope.postMessage({ id: current, failed: reason });
  const answer = ({ call, args }: Request): unknown => {
    if (call !== "run") return engine[call](...args);
    const completed = engine.run(...args);
    const { summary, results, data } = completed;
    completed.free();
    return { summary, results, data };
  };
  scope.onmessage = ({ data }: MessageEvent<Request | WebAssembly.Module>) => {
    if (data instanceof WebAssembly.Module) {
      engine.initSync({ module: data });
      engine.begin();
      return;
    }
    current = data.id;
    try {
      scope.postMessage({ id: current, value: answer(data) });
    } catch (error) {
      // A text is an answer of the engine; anything else ends it, for example lack of memory.
      if (typeof error === "string") scope.postMessage({ id: current, error });
      else scope.postMessage({ id: current, failed: String(error) });
    }
  };
}

/** The worker's script. `glue` defines `wasm_bindgen`. */
export const workerScript = (glue: string): string => `${glue}\n(${work})(wasm_bindgen);`;
