// Requests to an ingress controller at an address, for a host that no DNS knows.
import { request, type IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";

const DEADLINE_MS = 10_000;

export interface Answer {
  status: number;
  body: string;
}

/** `any` certificate, or one for the host from this authority (PEM). */
export type Trust = "any" | { ca: string };

/** GET over http, or over https with the host as SNI where `trust` is given. @throws Error without an answer in 10 s */
export function get(address: string, host: string, path = "/", trust?: Trust): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: address, path, headers: { host }, agent: false as const, timeout: DEADLINE_MS };
    const onAnswer = (response: IncomingMessage): void => void readBody(response).then(resolve, reject);
    const sent =
      trust === undefined
        ? request({ ...options, port: 80 }, onAnswer)
        : secureRequest({ ...options, port: 443, servername: host, ...toTLSOptions(trust) }, onAnswer);
    sent.on("timeout", () => sent.destroy(new Error(`${host}${path}: no answer`)));
    sent.on("error", reject);
    sent.end();
  });
}

function toTLSOptions(trust: Trust): { rejectUnauthorized: boolean } | { ca: string } {
  return trust === "any" ? { rejectUnauthorized: false } : { ca: trust.ca };
}

async function readBody(response: IncomingMessage): Promise<Answer> {
  let body = "";
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode ?? 0, body };
}

/** The name of the app that answers, or the status without one. */
export async function whoAnswers(address: string, host: string, path = "/", trust?: Trust): Promise<string> {
  const { status, body } = await get(address, host, path, trust);
  return status === 200 ? (JSON.parse(body) as { name: string }).name : String(status);
}

/** Echo of `text` over an upgraded connection. */
export function echoThroughWebSocket(address: string, host: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      host,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    const sent = request({ host: address, port: 80, headers, agent: false, timeout: DEADLINE_MS });
    sent.on("upgrade", (_response, socket, head) => {
      let echoed = head.toString();
      socket.on("error", reject);
      socket.on("data", (chunk: Buffer) => {
        echoed += chunk.toString();
        if (echoed.length < text.length) return;
        socket.destroy();
        resolve(echoed);
      });
      socket.write(text);
    });
    sent.on("response", ({ statusCode }) => reject(new Error(`${host}: ${statusCode} instead of an upgrade`)));
    sent.on("timeout", () => sent.destroy(new Error(`${host}: no answer`)));
    sent.on("error", reject);
    sent.end();
  });
}

/** Sends requests one after the other until stopped. `stop` resolves to their number and what went wrong. */
export function startLoad(
  ask: () => Promise<string>,
  expected: string,
): { stop(): Promise<{ count: number; failures: string[] }> } {
  let isStopped = false;
  const failures: string[] = [];
  let count = 0;
  const run = async (): Promise<void> => {
    while (!isStopped) {
      count++;
      const answer = await ask().catch((error: unknown) => String(error));
      if (answer !== expected) failures.push(answer);
    }
  };
  const running = Promise.all([run(), run()]);
  return {
    async stop() {
      isStopped = true;
      await running;
      return { count, failures };
    },
  };
}
