// A part of the platform in a process of its own, which answers questions over Node's message channel: so that what is measured shares no event loop with who measures.
import { fork } from "node:child_process";
import { once } from "node:events";

export interface Child {
  /** Asks, and waits for the answer. @throws Error when the child fails or ends */
  request<T>(question: string, given?: unknown): Promise<T>;
  stop(): Promise<void>;
}

interface ChildResponse {
  id: number;
  value?: unknown;
  error?: string;
}

/** Answers to questions by their name. */
export type RequestHandlers = Record<string, (given: never) => unknown>;

/** In the parent: starts `file` with Node and one JSON argument. */
export function startChild(file: string, options: object): Child {
  const child = fork(file, [JSON.stringify(options)], {
    execArgv: ["--expose-gc"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const pendingRequests = new Map<number, (answer: ChildResponse) => void>();
  let asked = 0;
  child.on("message", (message) => pendingRequests.get((message as ChildResponse).id)?.(message as ChildResponse));
  const ended = once(child, "exit");
  void ended.then(() => {
    for (const complete of pendingRequests.values()) complete({ id: 0, error: "it ended" });
  });
  return {
    async request<T>(question: string, given?: unknown) {
      const id = ++asked;
      const answer = await new Promise<ChildResponse>((resolve) => {
        pendingRequests.set(id, resolve);
        child.send({ id, question, given }, (error) => error && resolve({ id, error: error.message }));
      });
      pendingRequests.delete(id);
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
export function childOptions<T>(): T {
  return JSON.parse(process.argv[2] ?? "{}") as T;
}

/** In the child: answers until the parent lets go, then calls `end`. */
export function serveParent(answers: RequestHandlers, end: () => Promise<void>): void {
  process.on("message", (message) => {
    const { id, question, given } = message as { id: number; question: string; given: unknown };
    const reply = (answer: Omit<ChildResponse, "id">): void => void process.send?.({ id, ...answer });
    Promise.resolve()
      .then(() => answers[question]?.(given as never))
      .then(
        (value) => reply({ value }),
        (error: unknown) => reply({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
      );
  });
  process.once("disconnect", () => {
    void end().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}
