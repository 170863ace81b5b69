// Prints how many hits of a near cache a program gets in a second. Stores ten thousand items at the server of MXKV_PORT, and deletes them.
import { Client } from "../src/index.js";

const items = 10_000;
const keys = Array.from({ length: items }, (_, number) => `bench:near:${number}`);
const client = new Client({ host: "127.0.0.1", port: Number(process.env.MXKV_PORT) });
await Promise.all(keys.map((key) => client.set(key, "x".repeat(100))));
const near = await client.nearCache({ prefix: "bench:near:" }, { maxStaleMs: 10_000 });
while (near.entries < items || !near.isLive) {
  await Promise.all(keys.map((key) => near.get(key)));
}
const cpu = process.cpuUsage();
const begin = performance.now();
let hits = 0;
while (performance.now() - begin < 3000) {
  for (const key of keys) {
    await near.get(key);
  }
  hits += items;
  await new Promise((resolve) => setImmediate(resolve)); // for the lines of the watch
}
const used = process.cpuUsage(cpu);
const rate = (seconds: number) => Math.round(hits / seconds).toLocaleString("en");
console.log(`TypeScript: ${rate((performance.now() - begin) / 1000)} hits/s, ${rate((used.user + used.system) / 1e6)} a second of CPU`);
near.close();
await client.deleteRange({ prefix: "bench:near:" });
client.close();
