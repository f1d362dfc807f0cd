// A server that has begun to listen survives what goes wrong afterwards, and one that cannot listen says so.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { startListening } from "./start-listening.ts";

const servers: Server[] = [];
const serve = (): Server => {
  const server = createServer((_request, response) => void response.end("here"));
  servers.push(server);
  return server;
};
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

test("errors after the start are told, each of them, and it serves on", async () => {
  const [server, onFault] = [serve(), vi.fn()];
  await startListening(server, { port: 0, host: "127.0.0.1" }, onFault);
  const errors = [new Error("accept EMFILE"), new Error("accept ENFILE")];
  for (const error of errors) server.emit("error", error);
  expect(onFault.mock.calls).toEqual(errors.map((error) => [error]));
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(await answer.text()).toBe("here");
});

test("a port that is taken is an error of the start", async () => {
  const [first, second, onFault] = [serve(), serve(), vi.fn()];
  await startListening(first, { port: 0, host: "127.0.0.1" }, onFault);
  const { port } = first.address() as AddressInfo;
  await expect(startListening(second, { port, host: "127.0.0.1" }, onFault)).rejects.toMatchObject({
    code: "EADDRINUSE",
  });
  expect(onFault).not.toHaveBeenCalled();
});
