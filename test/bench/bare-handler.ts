// The floor of every list: the least that Express can do.
import express from "express";

/** A route for any path, a ready text, no entity tag. */
export function bareHandler(body: () => string): express.Express {
  const app = express();
  app.disable("x-powered-by");
  app.set("etag", false);
  app.get("/v3/:kind", (_request, response) => {
    response.status(200).setHeader("Content-Type", "application/json; charset=utf-8");
    response.setHeader("Content-Length", Buffer.byteLength(body()));
    response.end(body());
  });
  return app;
}
