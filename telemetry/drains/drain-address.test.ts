// Addresses of drains, and no address in what is said of a wrong one.
import { expect, test } from "vitest";
import { parseDrainAddress } from "./drain-address.ts";

test.each([
  ["syslog://logs.example.com", { transport: "syslog", host: "logs.example.com", port: 514 }],
  ["syslog-tls://logs.example.com:6515", { transport: "syslog-tls", host: "logs.example.com", port: 6515 }],
  ["syslog-tls://[2001:db8::1]", { transport: "syslog-tls", host: "2001:db8::1", port: 6514 }],
  ["https://h/p?token=x", { transport: "https", port: 443, url: "https://h/p?token=x", hasMetadata: true }],
  ["https-batch://h:8443/p", { transport: "https-batch", port: 8443, url: "https://h:8443/p" }],
  ["https-batch://127.1:8443/x", { transport: "https-batch", host: "127.0.0.1", port: 8443 }],
  ["https-batch://0x0a600001/x", { host: "10.96.0.1" }],
  ["https-batch://%31%32%37.0.0.1", { host: "127.0.0.1" }],
  ["https://2130706433", { host: "127.0.0.1" }],
  ["https://h?disable-metadata=true", { hasMetadata: false }],
  ["https://h?drain-data=metrics", { wantsLogs: false }],
  ["https://h?drain-type=all", { wantsLogs: true }],
])("%s", (url, expected) => expect(parseDrainAddress(url)).toMatchObject(expected));

test.each(["s3cret", "http://s3cret", "ftp://s3cret/", "syslog://", "syslog:s3cret"])("%s is none", (url) => {
  const { problem } = parseDrainAddress(url) as { problem: string };
  expect(problem).toMatch(/^its address /);
  expect(problem).not.toContain("s3cret");
});
