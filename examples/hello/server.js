// A page that shows where it runs, from what Cloud Foundry gives every app in its environment.
import { createServer } from "node:http";

const application = JSON.parse(process.env.VCAP_APPLICATION ?? "{}");
const services = Object.values(JSON.parse(process.env.VCAP_SERVICES ?? "{}")).flat();
const startedAt = Date.now();
let requests = 0;

const escape = (text) => String(text).replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

function uptime() {
  const seconds = Math.floor((Date.now() - startedAt) / 1000);
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].map(([size, unit], at, all) => [at === 0 ? Math.floor(seconds / size) : Math.floor((seconds % all[at - 1][0]) / size), unit]);
  return parts.filter(([count, unit], at) => count > 0 || (unit === "s" && at === 3)).slice(0, 2).map(([count, unit]) => `${count} ${unit}`).join(" ");
}

function facts() {
  return {
    App: application.application_name ?? "hello",
    Instance: `#${process.env.CF_INSTANCE_INDEX ?? "0"} on port ${process.env.PORT ?? "?"}`,
    "Up for": uptime(),
    "Org / space": `${application.organization_name ?? "?"} / ${application.space_name ?? "?"}`,
    Address: (application.uris ?? []).join(", ") || "none",
    Memory: `${Math.round(process.memoryUsage().rss / 2 ** 20)} MB of ${process.env.MEMORY_LIMIT ?? "any"}`,
    Services: services.map((service) => service.name).join(", ") || "none bound",
    Node: process.version,
    "Requests so far": requests,
  };
}

const page = (rows) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(rows.App)} · Cupola</title>
<style>
  :root { color-scheme: light dark; --ink: light-dark(#1c2733, #e8eef5); --soft: light-dark(#5b6b7c, #93a4b8); --card: light-dark(#ffffffd9, #16202cd9);
    --line: light-dark(#dfe6ee, #263445); --one: light-dark(#cfe6ff, #0b2a4a); --two: light-dark(#ffe3d3, #3a1c2c); --accent: light-dark(#0b6bcb, #6cb6ff); }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; color: var(--ink); font: 16px/1.5 system-ui, sans-serif;
    background: radial-gradient(60rem 40rem at 10% 0%, var(--one), transparent), radial-gradient(50rem 40rem at 100% 100%, var(--two), transparent), light-dark(#f6f8fb, #0d141d); }
  main { width: min(38rem, calc(100vw - 3rem)); padding: 2.5rem; border: 1px solid var(--line); border-radius: 1.25rem; background: var(--card); box-shadow: 0 1.5rem 4rem #0002; }
  h1 { margin: 0 0 .25rem; font-size: 2rem; letter-spacing: -.02em; }
  p { margin: 0 0 1.75rem; color: var(--soft); }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .55rem 1.5rem; margin: 0; }
  dt { color: var(--soft); }
  dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
  code { color: var(--accent); }
  footer { margin-top: 1.75rem; padding-top: 1.25rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .9rem; }
</style>
<main>
  <h1>${escape(process.env.GREETING ?? "Hello")} from ${escape(rows.App)}</h1>
  <p>This app was built and is run by Cupola.</p>
  <dl>${Object.entries(rows).map(([name, value]) => `<dt>${escape(name)}</dt><dd>${escape(value)}</dd>`).join("")}</dl>
  <footer>Now try <code>cup scale ${escape(rows.App)} -i 3</code> and reload, or <code>cup set-env ${escape(rows.App)} GREETING Salut</code> and <code>cup restart ${escape(rows.App)}</code>.</footer>
</main>
</html>
`;

const server = createServer((request, response) => {
  if (request.url === "/healthz") return response.writeHead(200, { "content-type": "text/plain" }).end("ok\n");
  requests += 1;
  const json = request.headers.accept?.includes("application/json");
  response.writeHead(200, { "content-type": json ? "application/json" : "text/html; charset=utf-8", "cache-control": "no-store" });
  response.end(json ? `${JSON.stringify(facts())}\n` : page(facts()));
});
server.listen(Number(process.env.PORT ?? 8080), process.env.HOST, () => console.log(`hello listens on port ${server.address().port}`));
process.on("SIGTERM", () => {
  console.log("hello stops");
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
