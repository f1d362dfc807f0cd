// The app that the recorded cf pushes.
require("http")
  .createServer((request, response) => response.end(`hello from ${process.env.COLOUR ?? "nowhere"}`))
  .listen(process.env.PORT);
