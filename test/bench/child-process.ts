// A part of the platform in a process of its own, which answers questions over Node's message channel: so that what is measured shares no event loop with who measures.
import { fork } from "node:child_process";
import { once } from "node:events";

export interface Child {
  /** Asks, and waits for the answer. @throws Error when the child fails or ends */
  ask<T>(question: string, given?: unknown): Promise<T>;
  stop(): Promise<void>;
}

interface Answer {
  id: number;
  value?: unknown;
  error?: string;
}

/** Answers to questions by their name. */
export type Answers = Record<string, (given: never) => unknown>;

/** In the parent: starts `file` with Node and one JSON argument. */
export function startChild(file: string, options: object): Child {
  const child = fork(file, [JSON.stringify(options)], { execArgv: ["--expose-gc"], stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const waiting = new Map<number, (answer: Answer) => void>();
  let asked = 0;
  child.on("message", (message) => waiting.get((message as Answer).id)?.(message as Answer));
  const ended = once(child, "exit");
  void ended.then(() => {
    for (const settle of waiting.values()) settle({ id: 0, error: "it ended" });
  });
  return {
    async ask<T>(question: string, given?: unknown) {
      const id = ++asked;
      const answer = await new Promise<Answer>((resolve) => {
        waiting.set(id, resolve);
        child.send({ id, question, given }, (error) => error && resolve({ id, error: error.message }));
      });
      waiting.delete(id);
      if (answer.error !== undefined) throw new Error(`${file}, asked for ${question}: ${answer.error}`);
      return answer.value as T;
    },
    async stop() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

/** In the child: the argument that the parent gave. */
export function givenOptions<T>(): T {
  return JSON.parse(process.argv[2] ?? "{}") as T;
}

/** In the child: answers until the parent lets go, then calls `end`. */
export function answerParent(answers: Answers, end: () => Promise<void>): void {
  process.on("message", (message) => {
    const { id, question, given } = message as { id: number; question: string; given: unknown };
    const reply = (answer: Omit<Answer, "id">): void => void process.send?.({ id, ...answer });
    Promise.resolve()
      .then(() => answers[question]?.(given as never))
      .then((value) => reply({ value }), (error: unknown) => reply({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }));
  });
  process.once("disconnect", () => {
    void end().then(() => process.exit(0), () => process.exit(1));
  });
}
