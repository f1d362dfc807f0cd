// A logger for an API under test that keeps what the API logs of undeclared questions, so that the request that asked one fails.
import { type Logger, pino } from "pino";

export interface UndeclaredQuestions {
  log: Logger;
  /** @throws Error that names each endpoint and the permission that its row lacks */
  requireNone(): void;
}

export function undeclaredQuestions(): UndeclaredQuestions {
  const found: string[] = [];
  const level = process.env["TEST_LOG"];
  const log = pino(
    { level: level ?? "error" },
    {
      write(line: string) {
        const { endpoint, undeclared } = JSON.parse(line) as { endpoint?: string; undeclared?: string };
        if (undeclared) found.push(`${endpoint} asks "${undeclared}": its row must declare it, in permission or asks`);
        if (level) process.stdout.write(line);
      },
    },
  );
  return {
    log,
    requireNone() {
      if (found.length > 0) throw new Error(found.join("\n"));
    },
  };
}
