// A fake API server with one collection over real HTTP, and faults on demand. For reflector tests: it serves list and watch only.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { KubeObject } from "../api/object.ts";

type Verb = "list" | "watch";
/** Overrides a response; returns true when it did. */
export type Fault = (response: ServerResponse, query: URLSearchParams) => boolean;

export interface FakeCollection {
  readonly url: string;
  /** All requests with their query. */
  readonly requests: { verb: Verb; query: URLSearchParams; at: number }[];
  put(name: string, spec?: unknown, labels?: Record<string, string>): KubeObject;
  remove(name: string): void;
  objects(): KubeObject[];
  /** The resourceVersion of the next list. */
  readonly version: string;
  /** Sends a bookmark to all watches. */
  bookmark(): void;
  /** Drops the history: watches from older versions get 410. */
  compact(): void;
  /** Ends the open watches, or with `reset` breaks them. */
  endWatches(reset?: boolean): void;
  /** Sets a fault for a verb; undefined removes it. */
  fault(verb: Verb, fault: Fault | undefined): void;
  countRequests(verb: Verb): number;
  close(): Promise<void>;
}

export function status(code: number, reason: string): object {
  return { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: reason };
}

/** Responds with a Status. */
export function refuse(code: number, reason: string, headers: Record<string, string> = {}): Fault {
  return (response) => {
    response
      .writeHead(code, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(status(code, reason)));
    return true;
  };
}

export async function startFakeCollection(): Promise<FakeCollection> {
  const fake = new Fake();
  await fake.listen();
  return fake;
}

class Fake implements FakeCollection {
  readonly requests: FakeCollection["requests"] = [];
  readonly #objects = new Map<string, KubeObject>();
  readonly #watchers = new Set<ServerResponse>();
  readonly #faults = new Map<Verb, Fault>();
  readonly #server = createServer((request, response) => this.#answer(request, response));
  #history: { version: number; line: string }[] = [];
  #version = 100;
  #oldest = 100;

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get version(): string {
    return String(this.#version);
  }

  put(name: string, spec: unknown = {}, labels: Record<string, string> = {}): KubeObject {
    const uid = this.#objects.get(name)?.metadata.uid ?? `uid-${name}-${this.#version}`;
    const known = this.#objects.has(name);
    const metadata = {
      name,
      namespace: "ns",
      uid,
      labels,
      resourceVersion: String(++this.#version),
      managedFields: [
        { manager: "x", operation: "Update" as const },
        { manager: "applier", operation: "Apply" as const },
      ],
    };
    const object: KubeObject = { apiVersion: "test/v1", kind: "Thing", metadata, spec };
    this.#objects.set(name, object);
    this.#emit(known ? "MODIFIED" : "ADDED", object);
    return object;
  }

  remove(name: string): void {
    const object = this.#objects.get(name);
    if (!object) return;
    this.#objects.delete(name);
    this.#emit("DELETED", { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } });
  }

  objects(): KubeObject[] {
    return [...this.#objects.values()];
  }

  bookmark(): void {
    const line = JSON.stringify({
      type: "BOOKMARK",
      object: { kind: "Thing", apiVersion: "test/v1", metadata: { resourceVersion: String(++this.#version) } },
    });
    for (const watcher of this.#watchers) watcher.write(`${line}\n`);
  }

  compact(): void {
    this.#oldest = this.#version;
    this.#history = [];
  }

  endWatches(reset = false): void {
    for (const watcher of this.#watchers) {
      if (reset) watcher.destroy();
      else watcher.end();
    }
    this.#watchers.clear();
  }

  fault(verb: Verb, fault: Fault | undefined): void {
    if (fault) this.#faults.set(verb, fault);
    else this.#faults.delete(verb);
  }

  countRequests(verb: Verb): number {
    return this.requests.filter((request) => request.verb === verb).length;
  }

  async close(): Promise<void> {
    this.endWatches(true);
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #emit(type: string, object: KubeObject): void {
    const line = JSON.stringify({ type, object });
    this.#history.push({ version: this.#version, line });
    for (const watcher of this.#watchers) watcher.write(`${line}\n`);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const query = new URL(request.url ?? "/", "http://x").searchParams;
    const verb: Verb = query.get("watch") === "true" ? "watch" : "list";
    this.requests.push({ verb, query, at: performance.now() });
    if (this.#faults.get(verb)?.(response, query)) return;
    if (verb === "list") this.#list(response, query);
    else this.#watch(response, Number(query.get("resourceVersion")));
  }

  #list(response: ServerResponse, query: URLSearchParams): void {
    const all = this.objects();
    const from = Number(query.get("continue") ?? 0);
    const limit = Number(query.get("limit")) || all.length;
    const rest = from + limit < all.length ? { continue: String(from + limit) } : {};
    // Items of a list have no apiVersion and kind.
    const items = all.slice(from, from + limit).map(({ metadata, spec }) => ({ metadata, spec }));
    response.writeHead(200).end(
      JSON.stringify({
        apiVersion: "test/v1",
        kind: "ThingList",
        metadata: { resourceVersion: this.version, ...rest },
        items,
      }),
    );
  }

  #watch(response: ServerResponse, from: number): void {
    if (from < this.#oldest) return void refuse(410, "Expired")(response, new URLSearchParams());
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    for (const { version, line } of this.#history) if (version > from) response.write(`${line}\n`);
    this.#watchers.add(response);
    response.on("close", () => this.#watchers.delete(response));
  }
}
