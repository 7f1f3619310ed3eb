/** The virtual clock in a Web Worker, which can be ended at any time and starts again. */
import type { Answer, Request } from "./worker.ts";
import { workerScript } from "./worker.ts";

/** Code of the engine, from which workers start. */
export interface EngineCode {
  module: WebAssembly.Module;
  /** The script around it. */
  glue: string;
  /** The JSON Schema of scenarios. */
  schema: string;
}

/** What a run gave, as `bentpipe_studio::in_page` returns it. */
export interface Completed {
  summary: string;
  results: string;
  data: string;
}

interface Waiting {
  done(value: unknown): void;
  failed(error: Error): void;
  progress?: ((done: number, planned: number) => void) | undefined;
}

/** One worker. Requests are answered in their order. */
export class Engine {
  readonly #code: EngineCode;
  #worker: Worker | null = null;
  #waiting = new Map<number, Waiting>();
  #last = 0;

  constructor(code: EngineCode) {
    this.#code = code;
  }

  /** Starts the worker, so that the first answer need not wait for it. */
  start(): void {
    if (this.#worker) return;
    const script = new Blob([workerScript(this.#code.glue)], { type: "text/javascript" });
    const url = URL.createObjectURL(script);
    const worker = new Worker(url);
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      URL.revokeObjectURL(url);
      if (worker === this.#worker) this.#take(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      if (worker === this.#worker) this.stop(event.message || "the worker failed");
    };
    worker.postMessage(this.#code.module);
  }

  /**
   * Asks for a text. It is rejected if the text is not answered within `time_ms`, which ends the
   * worker.
   */
  async ask(call: Request["call"], args: string[], time_ms?: number): Promise<string> {
    return (await this.#ask(call, args, undefined, time_ms)) as string;
  }

  /** Runs a scenario. */
  async run(
    args: [name: string, text: string, files: string],
    progress: (done: number, planned: number) => void,
  ): Promise<Completed> {
    return (await this.#ask("run", args, progress)) as Completed;
  }

  /** Ends the worker. All that wait for it are rejected with the reason. */
  stop(reason: string): void {
    this.#worker?.terminate();
    this.#worker = null;
    const waiting = this.#waiting;
    this.#waiting = new Map();
    for (const one of waiting.values()) one.failed(new Error(reason));
  }

  #ask(
    call: Request["call"],
    args: string[],
    progress?: (done: number, planned: number) => void,
    time_ms?: number,
  ): Promise<unknown> {
    this.start();
    const id = ++this.#last;
    return new Promise((done, failed) => {
      const timer =
        time_ms === undefined
          ? 0
          : setTimeout(() => this.stop(`no answer within ${time_ms / 1000} s`), time_ms);
      this.#waiting.set(id, {
        done: (value) => {
          clearTimeout(timer);
          done(value);
        },
        failed: (error) => {
          clearTimeout(timer);
          failed(error);
        },
        progress,
      });
      this.#worker?.postMessage({ id, call, args } satisfies Request);
    });
  }

  #take({ id, value, error, progress, failed }: Answer): void {
    const waiting = this.#waiting.get(id);
    if (failed !== undefined) {
      // Its memory may be in any state.
      this.stop(`the simulator ended: ${failed}`);
      return;
    }
    if (!waiting) return;
    if (progress) {
      waiting.progress?.(...progress);
      return;
    }
    this.#waiting.delete(id);
    if (error === undefined) waiting.done(value);
    else waiting.failed(new Error(error));
  }
}
