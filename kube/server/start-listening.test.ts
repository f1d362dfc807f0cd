// A listening server survives later errors, and one that cannot listen rejects.
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

test("every error after the start is reported, and the server keeps serving", async () => {
  const [server, onError] = [serve(), vi.fn()];
  await startListening(server, { port: 0, host: "127.0.0.1" }, onError);
  const errors = [new Error("accept EMFILE"), new Error("accept ENFILE")];
  for (const error of errors) server.emit("error", error);
  expect(onError.mock.calls).toEqual(errors.map((error) => [error]));
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(await answer.text()).toBe("here");
});

test("a taken port rejects the start", async () => {
  const [first, second, onError] = [serve(), serve(), vi.fn()];
  await startListening(first, { port: 0, host: "127.0.0.1" }, onError);
  const { port } = first.address() as AddressInfo;
  await expect(startListening(second, { port, host: "127.0.0.1" }, onError)).rejects.toMatchObject({
    code: "EADDRINUSE",
  });
  expect(onError).not.toHaveBeenCalled();
});

test("refused connections are reported once a minute", async () => {
  const [server, onError] = [serve(), vi.fn<(error: Error) => void>()];
  server.maxConnections = 0;
  await startListening(server, { port: 0, host: "127.0.0.1" }, onError);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (let i = 0; i < 3; i++) await expect(fetch(url)).rejects.toThrow();
  expect(onError.mock.calls.map(([error]) => error.message)).toEqual([
    "refused 1 connections: 0 stand open, the most that it takes",
  ]);
});
