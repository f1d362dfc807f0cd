// The first app on a fresh Cupola: says who and where it is. No dependencies.
import { createServer } from "node:http";

const started = Date.now();
const app = JSON.parse(process.env.VCAP_APPLICATION ?? "{}");
const index = process.env.CF_INSTANCE_INDEX ?? "0";
const escape = (text) => String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const since = (seconds) => (seconds < 120 ? `${seconds} s` : seconds < 7200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`);

function facts() {
  return {
    Instance: index,
    "Up for": since(Math.floor((Date.now() - started) / 1000)),
    Space: [app.organization_name, app.space_name].filter(Boolean).join(" / ") || "none",
    Routes: (app.application_uris ?? []).join(", ") || "none",
    Memory: process.env.MEMORY_LIMIT ?? "not limited",
    Port: process.env.PORT ?? "8080",
    Node: process.version,
  };
}

// A greeting set by `cf set-env hello GREETING Hi` and a restart shows that environment variables arrive.
function page() {
  const rows = Object.entries(facts()).map(([name, value]) => `<dt>${escape(name)}</dt><dd>${escape(value)}</dd>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(app.application_name ?? "hello")}</title>
<style>
  :root { color-scheme: light dark; font: 17px/1.5 system-ui, sans-serif; }
  body { min-height: 100vh; margin: 0; display: grid; place-items: center; background: light-dark(#eef2f7, #10151d); }
  main { padding: 2.5rem 3rem; border-radius: 1.2rem; background: light-dark(#fff, #1a2230); box-shadow: 0 1rem 3rem #0003; max-width: 34rem; }
  h1 { margin: 0 0 .2rem; font-size: 2rem; }
  p { margin: 0 0 1.5rem; opacity: .75; }
  dl { display: grid; grid-template-columns: auto 1fr; gap: .35rem 1.5rem; margin: 0; }
  dt { opacity: .6; } dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
  code { background: light-dark(#eef2f7, #10151d); padding: .1rem .4rem; border-radius: .3rem; }
</style>
<main>
  <h1>${escape(process.env.GREETING ?? "Hello")} from ${escape(app.application_name ?? "hello")}</h1>
  <p>It runs on Cupola. Try <code>cup scale hello -i 3</code> and reload.</p>
  <dl>${rows.join("")}</dl>
</main>
</html>
`;
}

const server = createServer((request, response) => {
  const json = request.url === "/json";
  response.writeHead(200, { "content-type": json ? "application/json" : "text/html; charset=utf-8" });
  response.end(json ? JSON.stringify({ app: app.application_name, ...facts() }) : page());
});
server.listen(Number(process.env.PORT ?? 8080), () => console.log(`instance ${index} listens on port ${server.address().port}`));
process.once("SIGTERM", () => {
  console.log("asked to stop");
  server.close(() => process.exit(0));
  server.closeAllConnections();
});
