// Sends generated requests as an admin, a developer and an outsider, and says what was wrong with the answers.
import { randomFrom } from "../../random.ts";
import type { Answer, TestUser } from "../api/test-env.ts";
import { SECRET, startFuzzWorld, type FuzzWorld } from "./fuzz-world.ts";
import { type OpenApiDocument, targetsOf } from "./openapi.ts";
import { type FuzzRequest, makeRequest } from "./requests.ts";
import { pick } from "./values.ts";

export interface FuzzOptions {
  seed: number;
  requests: number;
  /** Number of the first request: parts of a run differ by it. */
  first?: number;
  /** No batch begins later. */
  seconds?: number;
  onProgress?: (done: number) => void;
}

export interface FuzzResult {
  /** Answers by status. */
  statuses: Record<number, number>;
  /** By operation: answers, and how many of them were successes. */
  operations: Record<string, { answers: number; successes: number; refusals: Record<string, number> }>;
  /** Each fault once, with the request that showed it. */
  faults: { what: string; example: string; count: number }[];
}

/** Requests under way at once. */
const PARALLEL = 8;
/** Existing objects are read again after so many requests. */
const BATCH = 500;
/** Slower answers count as hanging; the API's own deadline is twice as long. */
const SLOW_MS = 15_000;

/** Share of requests that are to succeed: by the admin, of what exists. */
const TIDY = 0.5;

const people: readonly TestUser[] = ["admin", "admin", "ann", "ann", "carl"];

export async function fuzzApi({ seed, requests, first = 0, seconds, onProgress }: FuzzOptions): Promise<FuzzResult> {
  const world = await startFuzzWorld();
  try {
    const document = JSON.parse((await world.replica.call("admin", "GET", "/v3/openapi.json")).text) as OpenApiDocument;
    const run = new FuzzRun(world, document, seed);
    const end = performance.now() + 1000 * (seconds ?? Infinity);
    for (let at = 0; at < requests && performance.now() < end; at += BATCH) {
      await world.refresh();
      await run.send(first + at, Math.min(BATCH, requests - at));
      onProgress?.(Math.min(at + BATCH, requests));
    }
    return {
      statuses: run.statuses,
      operations: run.operations,
      faults: [...run.faults.values()].sort((a, b) => b.count - a.count),
    };
  } finally {
    await world.stop();
  }
}

class FuzzRun {
  readonly statuses: Record<number, number> = {};
  readonly operations: FuzzResult["operations"] = {};
  readonly faults = new Map<string, { what: string; example: string; count: number }>();
  readonly #world: FuzzWorld;
  readonly #targets: ReturnType<typeof targetsOf>;
  readonly #seed: number;

  constructor(world: FuzzWorld, document: OpenApiDocument, seed: number) {
    this.#world = world;
    this.#targets = targetsOf(document);
    for (const { method, path } of this.#targets)
      this.operations[`${method} ${path}`] = { answers: 0, successes: 0, refusals: {} };
    this.#seed = seed;
  }

  /** Sends requests number `from` to `from + count - 1`. */
  async send(from: number, count: number): Promise<void> {
    let next = from;
    const work = async (): Promise<void> => {
      for (let at = next++; at < from + count; at = next++) await this.#sendOne(at);
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
  }

  async #sendOne(at: number): Promise<void> {
    const random = randomFrom(this.#seed * 1_000_003 + at);
    const isTidy = random() < TIDY;
    const person = isTidy ? "admin" : pick({ random }, people);
    const request = makeRequest(
      { random, guids: this.#world.guids(person), isTidy },
      this.#targets,
      this.#world.things,
    );
    const started = performance.now();
    const problems = await this.#problemsOf(person, request);
    if (performance.now() - started > SLOW_MS) problems.push("it took too long");
    for (const problem of problems) this.#record(problem, `#${at} as ${person}`, request);
  }

  async #problemsOf(person: TestUser, { target, path, headers, body }: FuzzRequest): Promise<string[]> {
    try {
      const answer = await this.#world.replica.send(target.method, path, {
        body,
        headers: { ...headers, authorization: `bearer ${person}-token` },
      });
      this.statuses[answer.status] = (this.statuses[answer.status] ?? 0) + 1;
      this.#count(`${target.method} ${target.path}`, answer);
      return [
        ...(answer.status === 500 || answer.status > 503 ? [`${answer.status} ${answer.text.slice(0, 300)}`] : []),
        ...(person !== "admin" && answer.text.includes(SECRET) ? ["it shows something of another space"] : []),
      ];
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)];
    }
  }

  #count(operation: string, { status, text, headers }: Answer): void {
    const job = /\/v3\/jobs\/([^/]+)$/.exec(headers.get("location") ?? "")?.[1];
    if (job !== undefined) this.#world.sawJob(job);
    const seen = (this.operations[operation] ??= { answers: 0, successes: 0, refusals: {} });
    seen.answers++;
    if (status < 400) seen.successes++;
    else {
      const detail = `${status} ${/"detail":"((?:[^"\\]|\\.){0,120})/.exec(text)?.[1] ?? ""}`;
      seen.refusals[detail] = (seen.refusals[detail] ?? 0) + 1;
    }
  }

  #record(problem: string, who: string, { target, path, body }: FuzzRequest): void {
    const bare = problem.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|:\d{4,5}\b/g, "*").replace(/resources\.\d+\./g, "");
    const what = `${target.method} ${target.path}: ${bare.slice(0, 400)}`;
    const key = what.slice(0, 160);
    const known = this.faults.get(key);
    if (known) known.count++;
    else
      this.faults.set(key, {
        what,
        example: `${who}: ${target.method} ${path.slice(0, 300)} ${typeof body === "string" ? body.slice(0, 500) : ""}`,
        count: 1,
      });
  }
}
