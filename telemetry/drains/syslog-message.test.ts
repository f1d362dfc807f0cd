// Messages as a syslog server gets them from Cloud Foundry.
import { expect, test } from "vitest";
import type { Envelope } from "../envelope.ts";
import { toFrame, toSyslogMessage } from "./syslog-message.ts";

const app = { guid: "0a1b2c3d-0000-4000-8000-000000000000", name: "my shop!", space: "dev", org: "Acme Inc." };
const envelope = (payload: string, more: Partial<Envelope> = {}): Envelope => ({
  timestamp: "1764237600123456789",
  source_id: app.guid,
  instance_id: "2",
  tags: { source_type: "APP/PROC/WEB", app_name: 'my "shop]\\' },
  log: { payload: Buffer.from(payload).toString("base64"), type: "OUT" },
  ...more,
});
const text = (of: Envelope, hasMetadata = false): string => toSyslogMessage(of, app, { hasMetadata }).toString();

test("a line of an instance", () => {
  expect(text(envelope("hello ä"))).toBe(
    `<14>1 2025-11-27T10:00:00.123456+00:00 Acme-Inc.dev.my-shop ${app.guid} [APP/PROC/WEB/2] - - hello ä\n`,
  );
});

test("stderr has the severity of an error, NULs are left out, and the frame counts bytes", () => {
  const error = envelope("a\0b", { log: { payload: Buffer.from("a\0ä").toString("base64"), type: "ERR" } });
  const message = toSyslogMessage(error, app, { hasMetadata: false });
  expect(message.toString()).toMatch(/^<11>1 .* aä\n$/);
  expect(toFrame(message).toString()).toBe(`${message.length} ${message.toString()}`);
});

test("tags are structured data, escaped, and always name the app", () => {
  expect(text(envelope("x"), true)).toContain(
    [
      String.raw` [tags@47450 app_id="${app.guid}" app_name="my \"shop\]\\" organization_name="Acme Inc."`,
      ` source_type="APP/PROC/WEB" space_name="dev"] x`,
    ].join(""),
  );
  expect(text(envelope("x", { tags: {} }), true)).toContain(' app_name="my shop!" ');
});

test("no tag breaks out of the header", () => {
  const odd = envelope("x", { tags: { source_type: "a b\nc", 'k"]': "v" }, instance_id: "0\n" });
  expect(text(odd, true)).toMatch(/ \[A_B_C\/0_\] - \[tags@47450 [^\]]* source_type="a b\nc" space_name="dev"\] x\n$/);
});
