/** The few parts of Node that the tests use. */
declare module "node:fs" {
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function readFileSync(path: string): Uint8Array;
  export function writeFileSync(path: string, data: string): void;
  export function mkdtempSync(prefix: string): string;
  export function mkdirSync(path: string, options: { recursive: boolean }): void;
  export function rmSync(path: string, options: { recursive: boolean; force: boolean }): void;
  export function truncateSync(path: string, length: number): void;
  export function existsSync(path: string): boolean;
  export function statSync(path: string): { size: number; mode: number };
  export function chmodSync(path: string, mode: number): void;
  export function readdirSync(
    path: string,
    options: { recursive: boolean; encoding: "utf8" },
  ): string[];
}
declare module "node:child_process" {
  export interface ChildProcess {
    stdout: unknown;
    kill(signal: string): void;
  }
  export function execFileSync(
    command: string,
    args: string[],
    options: { stdio: "ignore" | ("ignore" | "inherit")[] },
  ): void;
  export function spawn(
    command: string,
    args: string[],
    options: { stdio: ("ignore" | "pipe")[] },
  ): ChildProcess;
}
declare module "node:http" {
  export interface Answer {
    writeHead(status: number, headers: Record<string, string>): void;
    end(body?: Uint8Array | string): void;
  }
  export interface Server {
    listen(port: number, host: string): void;
    address(): { port: number };
    close(): void;
  }
  export function createServer(
    answer: (request: { url: string }, response: Answer) => void,
  ): Server;
}
declare module "node:events" {
  export function once(emitter: unknown, event: string): Promise<unknown[]>;
}
declare module "node:module" {
  export function createRequire(from: string): { resolve(name: string): string };
}
declare module "node:readline" {
  export function createInterface(options: { input: unknown }): unknown;
}
declare module "node:os" {
  export function tmpdir(): string;
}
declare module "node:path" {
  export function resolve(...parts: string[]): string;
  export function join(...parts: string[]): string;
  export function dirname(path: string): string;
  export function normalize(path: string): string;
  export function extname(path: string): string;
}
declare module "node:url" {
  export function pathToFileURL(path: string): URL;
  export function fileURLToPath(url: string | URL): string;
}
declare module "node:zlib" {
  export function deflateSync(data: Uint8Array): Uint8Array;
}
declare module "node:process" {
  export const env: Record<string, string | undefined>;
  export const argv: string[];
  export function getuid(): number;
}
declare class Buffer extends Uint8Array {
  static from(data: Uint8Array): Buffer;
  toString(encoding: "base64"): string;
}
