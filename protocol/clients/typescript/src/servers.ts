import { createHash } from "node:crypto";
import { nameOf, optionsOf } from "./address.js";
import { Client } from "./client.js";
import type { ClientOptions } from "./connection.js";
import { BadAddress } from "./errors.js";
import type { Item } from "./ranges.js";
import { type Key, bytesOf } from "./wire.js";

const digests = 40; // of four points each
const portLeftOut = /:11211$/; // as libmemcached and npm's memcached name a server

/**
 * A client of several servers. Each key belongs to one of them, by consistent hashing: the ring of npm's memcached. If a server is
 * down, requests for its keys fail: no other server takes over, so old values never come back with it.
 */
export class Servers {
  /** All clients by `host:port`, or the path of a unix socket. */
  readonly clients: ReadonlyMap<string, Client>;
  readonly #ring: { point: number; client: Client }[] = [];

  /** Servers as Client takes them. The options go to all clients. */
  constructor(servers: readonly (string | ClientOptions)[], options: ClientOptions = {}) {
    const clients = new Map<string, Client>();
    for (const server of servers) {
      const name = nameOf(typeof server === "string" ? optionsOf(server) : server);
      const client = new Client(server, options);
      clients.set(name, client);
      for (let group = 0; group < digests; ++group) {
        const digest = md5(`${name.replace(portLeftOut, "")}-${group}`);
        for (let at = 0; at < digest.length; at += 4) {
          this.#ring.push({ point: digest.readUInt32LE(at), client });
        }
      }
    }
    if (clients.size === 0) {
      throw new BadAddress("no servers were given");
    }
    this.#ring.sort((one, other) => one.point - other.point);
    this.clients = clients;
  }

  /** The client of the server that has this key. Its ranges, batches and pipelines see this server alone. */
  clientOf(key: Key): Client {
    const wanted = md5(bytesOf(key)).readUInt32LE(0);
    let low = 0;
    let high = this.#ring.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ring[middle]!.point < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return this.#ring[low % this.#ring.length]!.client;
  }

  /** The existing items of many keys, from all servers, in no order. */
  async getMany(keys: readonly Key[]): Promise<Item[]> {
    const parts = new Map<Client, Key[]>();
    for (const key of keys) {
      const client = this.clientOf(key);
      parts.set(client, [...(parts.get(client) ?? []), key]);
    }
    return (await Promise.all([...parts].map(([client, some]) => client.getMany(some)))).flat();
  }

  close(): void {
    this.clients.forEach((client) => client.close());
  }
}

function md5(data: string | Buffer): Buffer {
  return createHash("md5").update(data).digest();
}
