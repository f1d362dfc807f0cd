// A service broker in this process that answers as a test says, and keeps what it was asked.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface BrokerCall {
  method: string;
  path: string;
  query: URLSearchParams;
  // Bodies are what is under test.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
  authorization: string | undefined;
  /** The person on whose behalf it is, as the broker is told. */
  user: unknown;
}

export interface BrokerReply {
  status: number;
  body?: object | string;
  headers?: Record<string, string>;
}

export interface ScriptedBroker {
  url: string;
  /** All requests whose path has this. */
  calls(part: string): BrokerCall[];
  /** Answer to requests whose path has `part` from now on; `undefined` never gets an answer. */
  answer(part: string, reply: (call: BrokerCall) => BrokerReply | undefined): void;
  stop(): Promise<void>;
}

/** Does at once all that it is asked, unless told otherwise. */
export async function startScriptedBroker(): Promise<ScriptedBroker> {
  const calls: BrokerCall[] = [];
  const rules: { part: string; reply: (call: BrokerCall) => BrokerReply | undefined }[] = [];
  const server = createServer((request, response) => {
    void readCall(request).then((call) => {
      calls.push(call);
      const rule = rules.findLast(({ part }) => call.path.includes(part));
      const reply: BrokerReply | undefined = rule
        ? rule.reply(call)
        : { status: call.method === "PUT" ? 201 : 200, body: {} };
      if (!reply) return;
      response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
      response.end(typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: (part) => calls.filter(({ path }) => path.includes(part)),
    answer: (part, reply) => void rules.push({ part, reply }),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readCall(request: IncomingMessage): Promise<BrokerCall> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const url = new URL(request.url ?? "/", "http://broker");
  return {
    method: request.method ?? "",
    path: url.pathname,
    query: url.searchParams,
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
    authorization: request.headers.authorization,
    user: toUser(request.headers["x-broker-api-originating-identity"]),
  };
}

function toUser(header: string | string[] | undefined): unknown {
  const encoded = /^cloudfoundry (.+)$/.exec(String(header))?.[1];
  return encoded && (JSON.parse(Buffer.from(encoded, "base64").toString()) as object);
}
