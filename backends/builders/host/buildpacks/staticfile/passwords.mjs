// Users and hashes of Staticfile.auth, as htpasswd writes them. No dependencies: it runs inside the droplet, too.
import { createHash, timingSafeEqual } from "node:crypto";

/** Whether this server can check the hash. */
export function isSupported(hash) {
  return /^(\{SHA\}|\{PLAIN\}|\$apr1\$)/.test(hash);
}

/** Whether an Authorization header names a user with the right password. `users` maps names to hashes. */
export function isAllowed(users, header) {
  const [, encoded] = /^Basic\s+([A-Za-z0-9+/=]+)$/i.exec(header ?? "") ?? [];
  const [name, ...rest] = Buffer.from(encoded ?? "", "base64")
    .toString("utf8")
    .split(":");
  const hash = Object.hasOwn(users, name) ? users[name] : undefined;
  return hash !== undefined && equal(hash, hashAs(hash, rest.join(":")));
}

/** The hash of a password with the method and the salt of another hash. */
function hashAs(hash, password) {
  if (hash.startsWith("{SHA}")) return `{SHA}${createHash("sha1").update(password).digest("base64")}`;
  if (hash.startsWith("{PLAIN}")) return `{PLAIN}${password}`;
  return apr1(password, hash.split("$")[2]);
}

function equal(one, other) {
  const [a, b] = [one, other].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(a, b);
}

/** Apache's variant of MD5-crypt, as its source defines it. */
function apr1(password, salt) {
  const md5 = (...parts) => {
    const hash = createHash("md5");
    for (const part of parts) hash.update(part);
    return hash.digest();
  };
  const secret = Buffer.from(password);
  const inner = md5(secret, salt, secret);
  const parts = [secret, "$apr1$", salt];
  for (let left = secret.length; left > 0; left -= 16) parts.push(inner.subarray(0, Math.min(16, left)));
  for (let bits = secret.length; bits > 0; bits >>= 1) parts.push(bits & 1 ? Buffer.from([0]) : secret.subarray(0, 1));
  let digest = md5(...parts);
  for (let round = 0; round < 1000; round += 1) {
    const [first, last] = round & 1 ? [secret, digest] : [digest, secret];
    digest = md5(first, round % 3 ? salt : "", round % 7 ? secret : "", last);
  }
  return `$apr1$${salt}$${encode(digest)}`;
}

const alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
function encode(digest) {
  const groups = [
    [0, 6, 12],
    [1, 7, 13],
    [2, 8, 14],
    [3, 9, 15],
    [4, 10, 5],
  ];
  const text = (value, length) => Array.from({ length }, (_, at) => alphabet[(value >> (6 * at)) & 63]).join("");
  const head = groups.map(([a, b, c]) => text((digest[a] << 16) | (digest[b] << 8) | digest[c], 4)).join("");
  return head + text(digest[11], 2);
}
