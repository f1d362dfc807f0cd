// Runs the test broker alone, for trying services by hand: `node test/service-broker/main.ts [PORT]`.
import { startTestBroker } from "./test-broker.ts";

const broker = await startTestBroker({ port: Number(process.argv[2] ?? 0) });
console.log(`${broker.url} as ${broker.username} with password ${broker.password}; PUT /control changes what it does`);
process.on("SIGTERM", () => void broker.close());
process.on("SIGINT", () => void broker.close());
