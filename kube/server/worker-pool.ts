// Worker threads for work that would hold the event loop: few, each with a deadline and a bound on its memory, and shared fairly among those who ask.
import { Worker } from "node:worker_threads";

export interface WorkerPoolOptions {
  /** A module that answers each message with one message. */
  file: string;
  most: number;
  /** Longest time of one job, from its start on; then its worker is ended. */
  deadlineMs: number;
  /** How long a worker without a job is kept. */
  idleMs: number;
  /** Jobs of one owner that wait. */
  mostWaiting: number;
}

/** The work was not done. The message says why, for the client. */
export class WorkRefused extends Error {
  readonly reason: "too many" | "too long" | "broken";
  constructor(reason: WorkRefused["reason"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "WorkRefused";
    this.reason = reason;
  }
}

interface Job {
  message: unknown;
  settle: PromiseWithResolvers<unknown>;
}

const MAX_OLD_SPACE_MB = 256;

/** Runs at most one job of an owner at a time, and owners take turns, so that nobody's jobs delay another's by more than one job. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  /** By owner, in the order in which they get their turn. */
  readonly #waiting = new Map<string, Job[]>();
  readonly #running = new Set<string>();
  readonly #idle: { worker: Worker; timer: NodeJS.Timeout }[] = [];

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  /** @throws WorkRefused */
  async run<T>(owner: string, message: unknown): Promise<T> {
    const jobs = this.#waiting.get(owner) ?? [];
    if (jobs.length >= this.#options.mostWaiting)
      throw new WorkRefused("too many", "too many requests at once; try again");
    const job: Job = { message, settle: Promise.withResolvers() };
    jobs.push(job);
    this.#waiting.set(owner, jobs);
    this.#startNext();
    return job.settle.promise as Promise<T>;
  }

  #startNext(): void {
    while (this.#running.size < this.#options.most) {
      const next = this.#takeNext();
      if (!next) return;
      void this.#work(...next);
    }
  }

  async #work(owner: string, job: Job): Promise<void> {
    this.#running.add(owner);
    try {
      const worker = this.#takeIdle() ?? startWorker(this.#options.file);
      if (await runJob(worker, job, this.#options.deadlineMs)) this.#keep(worker);
      else void worker.terminate();
    } catch (cause) {
      // The system starts no further thread.
      job.settle.reject(new WorkRefused("too many", "too many requests at once; try again", { cause }));
    }
    this.#endTurn(owner);
    this.#startNext();
  }

  #takeNext(): [owner: string, job: Job] | undefined {
    for (const [owner, jobs] of this.#waiting) {
      if (this.#running.has(owner)) continue;
      const job = jobs.shift();
      if (jobs.length === 0) this.#waiting.delete(owner);
      if (job) return [owner, job];
    }
    return undefined;
  }

  /** The owner's other jobs wait behind everybody else's. */
  #endTurn(owner: string): void {
    this.#running.delete(owner);
    const jobs = this.#waiting.get(owner);
    this.#waiting.delete(owner);
    if (jobs) this.#waiting.set(owner, jobs);
  }

  #keep(worker: Worker): void {
    worker.unref();
    const timer = setTimeout(() => {
      const at = this.#idle.findIndex((one) => one.worker === worker);
      if (at >= 0) this.#idle.splice(at, 1);
      void worker.terminate();
    }, this.#options.idleMs).unref();
    this.#idle.push({ worker, timer });
  }

  #takeIdle(): Worker | undefined {
    const idle = this.#idle.pop();
    // Its idle timer would end the worker in the middle of the job.
    if (idle) clearTimeout(idle.timer);
    return idle?.worker;
  }
}

function startWorker(file: string): Worker {
  return new Worker(file, {
    resourceLimits: { maxOldGenerationSizeMb: MAX_OLD_SPACE_MB },
    stdout: false,
    stderr: false,
  });
}

/** Settles the job. @returns whether the worker can take another one */
async function runJob(worker: Worker, { message, settle }: Job, deadlineMs: number): Promise<boolean> {
  worker.ref();
  const done = Promise.withResolvers<boolean>();
  const fail = (refusal: WorkRefused): void => {
    settle.reject(refusal);
    done.resolve(false);
  };
  const timer = setTimeout(() => fail(new WorkRefused("too long", "it takes too long to read")), deadlineMs);
  const onMessage = (value: unknown): void => {
    settle.resolve(value);
    done.resolve(true);
  };
  const onError = (cause: unknown): void => fail(new WorkRefused("broken", "it cannot be read", { cause }));
  const onExit = (): void => onError(new Error("the worker ended"));
  worker.on("message", onMessage).on("error", onError).on("exit", onExit);
  worker.postMessage(message);
  const isUsable = await done.promise;
  clearTimeout(timer);
  worker.off("message", onMessage).off("exit", onExit);
  if (isUsable) worker.off("error", onError);
  return isUsable;
}
