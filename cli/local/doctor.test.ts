// Findings of `cup doctor` about proxies and certificates.
import { expect, test } from "vitest";
import { judgeProxies } from "./doctor.ts";

test("names hosts of proxies, never their passwords, in either case of the name", () => {
  const found = judgeProxies(
    { https_proxy: "http://me:secret@proxy.example.org:3128", NO_PROXY: "localhost" },
    () => true,
  );
  expect(found).toEqual([
    { about: "HTTPS_PROXY", verdict: "fine", text: "proxy.example.org:3128; builds use it" },
    { about: "NO_PROXY", verdict: "fine", text: "localhost; builds use it" },
  ]);
});

test("a certificate file that is not there is a note with the step", () => {
  expect(judgeProxies({ NODE_EXTRA_CA_CERTS: "/no/ca.pem" }, () => false)).toEqual([
    {
      about: "NODE_EXTRA_CA_CERTS",
      verdict: "note",
      text: "/no/ca.pem does not exist: correct or unset NODE_EXTRA_CA_CERTS",
    },
  ]);
});

test("no proxy is said, too", () => {
  expect(judgeProxies({}, () => true)).toEqual([{ about: "proxy", verdict: "fine", text: "none is set" }]);
});
