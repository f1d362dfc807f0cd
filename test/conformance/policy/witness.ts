// Asks each replica for a write that the rule refuses, whenever the constraint's status says that all of them judge by it.
import { setTimeout as delay } from "node:timers/promises";
import { Agent, request } from "undici";

export interface WitnessOptions {
  /** Addresses of the replicas' APIs, those that are down too. */
  urls: readonly string[];
  /** GUID of the app that the write is about. */
  app: string;
  token: string;
  /** Every refusal says it. */
  sentence: string;
  /** Names the version of the rule by which the status now says that all judge; undefined while it says so of none. */
  claim: () => Promise<string | undefined>;
}

const PAUSE_MS = 200;
/** Longer than a replica stands still, so that its answer after that counts. */
const DEADLINE_MS = 60_000;

/** A replica that lists tasks anew lets a write pass with this warning, and holds starts back: docs/policy.md says so. */
const UNDECIDED = "cannot be decided now";

export class Witness {
  /** Answers that show a claim to be false. */
  readonly faults: string[] = [];
  /** How often each replica refused, by its number. */
  readonly refusals: number[];
  readonly #options: WitnessOptions;
  readonly #agent = new Agent({ pipelining: 0, headersTimeout: DEADLINE_MS });
  readonly #stopping = new AbortController();
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: WitnessOptions) {
    this.#options = options;
    this.refusals = options.urls.map(() => 0);
  }

  start(): void {
    this.#ended = Promise.all(this.#options.urls.map((url, which) => this.#askAlways(url, which)));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#agent.destroy();
    await this.#ended;
  }

  async #askAlways(url: string, which: number): Promise<void> {
    const { claim, sentence } = this.#options;
    for (let asked = 0; !this.#stopping.signal.aborted; asked++) {
      const before = await claim();
      const answer = before === undefined ? undefined : await this.#ask(url, asked);
      if (answer !== undefined && (await claim()) === before) {
        if (answer.includes(sentence)) this.refusals[which] = (this.refusals[which] ?? 0) + 1;
        else if (!answer.includes(UNDECIDED))
          this.faults.push(`replica ${which} under claim ${before}: ${answer.slice(0, 300)}`);
      }
      await delay(PAUSE_MS);
    }
  }

  /** Undefined when it does not serve. */
  async #ask(url: string, asked: number): Promise<string | undefined> {
    try {
      const { statusCode, headers, body } = await request(`${url}/v3/apps/${this.#options.app}`, {
        method: "PATCH",
        dispatcher: this.#agent,
        headers: { authorization: `bearer ${this.#options.token}`, "content-type": "application/json" },
        body: JSON.stringify({ metadata: { labels: { asked: String(asked) } } }),
      });
      const text = await body.text();
      const warning = decodeURIComponent(String(headers["x-cf-warnings"] ?? ""));
      return statusCode === 503 ? undefined : `${statusCode} ${warning} ${text}`;
    } catch {
      return undefined; // it is down, or went while it was asked
    }
  }
}
