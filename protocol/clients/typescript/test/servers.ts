// For tests of watches: a proxy that cuts and delays them, and a server that answers in the order that a test chooses.
import net from "node:net";

export async function waitFor(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; !(await condition()); ) {
    if (performance.now() > end) {
      throw new Error(`not in a minute: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function listening(serve: (near: net.Socket) => void): Promise<{ port: number; close: () => void; cutAll: () => void }> {
  const open = new Set<net.Socket>();
  const server = net.createServer({ noDelay: true }, (near) => {
    open.add(near);
    near.on("close", () => open.delete(near));
    near.on("error", () => near.destroy());
    serve(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cutAll = () => open.forEach((near) => near.destroy());
  const close = () => {
    server.close();
    cutAll();
  };
  return { port: (server.address() as net.AddressInfo).port, close, cutAll };
}

/**
 * Stands in front of a server. A connection that began a watch is cut after about `cutEvery` bytes of its lines, at random. `delayMs`: each
 * half second the proxy chooses how long lines of watches are on their way: not at all, or up to that; replies to others a twentieth.
 */
export class WatchProxy {
  port = 0;
  cuts = 0;
  reads = 0;
  /** How often lines of a watch were held back for more than half of `delayMs`. */
  delays = 0;
  close: () => void = () => undefined;

  static async open(target: number, cutEvery = 0, delayMs = 0): Promise<WatchProxy> {
    const made = new WatchProxy();
    Object.assign(made, await listening((near) => made.serve(near, target, cutEvery, delayMs)));
    return made;
  }

  private serve(near: net.Socket, target: number, cutEvery: number, delayMs: number): void {
    const far = net.connect({ host: "127.0.0.1", port: target, noDelay: true });
    let watches = false;
    let left = -1;
    let latency = 0;
    let chosen = 0;
    const send = (data: Buffer) => {
      if (watches && cutEvery > 0) {
        left = left < 0 ? Math.floor(Math.random() * 2 * cutEvery) : left;
        if (left < data.length && !near.destroyed) {
          near.end(data.subarray(0, left));
          near.destroySoon();
          this.cuts += 1;
          far.destroy();
          return;
        }
        left -= data.length;
      }
      if (!near.destroyed) {
        near.write(data);
      }
    };
    far.on("error", () => near.destroy());
    far.on("close", () => near.destroySoon());
    near.on("close", () => far.destroy());
    near.on("data", (data: Buffer) => {
      const text = data.toString("latin1");
      this.reads += text.split("mg ").length - 1;
      watches ||= text.startsWith("mw ");
      far.write(data);
    });
    const held: { due: number; data: Buffer }[] = []; // in order: timers alone may fire in another one
    const release = () => {
      while (held.length > 0 && held[0]!.due <= performance.now()) {
        send(held.shift()!.data);
      }
      if (held.length > 0) {
        setTimeout(release, held[0]!.due - performance.now());
      }
    };
    far.on("data", (data: Buffer) => {
      if (delayMs === 0) {
        send(data);
        return;
      }
      const now = performance.now();
      if (now > chosen + 500) {
        latency = Math.random() < 0.5 ? 0 : (Math.random() * delayMs) / (watches ? 1 : 20);
        chosen = now;
        this.delays += watches && latency > delayMs / 2 ? 1 : 0;
      }
      held.push({ due: Math.max(held.at(-1)?.due ?? 0, now + latency), data });
      if (held.length === 1) {
        setTimeout(release, latency);
      }
    });
  }
}

export const fresh = "HD Ow G0123456789abcdef.1";

/** Answers `mw` by `answers` one after the other, the last of them for ever, and marks while `answersMarks`. Other requests wait. */
export class ScriptedServer {
  port = 0;
  answersMarks = true;
  readonly watchLines: string[] = [];
  close: () => void = () => undefined;
  cutAll: () => void = () => undefined;
  readonly #waiting: net.Socket[] = [];
  #watch: net.Socket | undefined;

  static async open(...answers: string[]): Promise<ScriptedServer> {
    const made = new ScriptedServer();
    Object.assign(made, await listening((near) => {
      let text = "";
      near.on("data", (data: Buffer) => {
        text += data.toString("latin1");
        for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n")) {
          made.#take(near, text.slice(0, at), answers);
          text = text.slice(at + 2);
        }
      });
    }));
    return made;
  }

  #take(near: net.Socket, line: string, answers: string[]): void {
    if (line.startsWith("mw ")) {
      this.watchLines.push(line);
      this.#watch = near;
      near.write(`${answers.length > 1 ? answers.shift()! : answers[0] ?? fresh}\r\n`);
    } else if (!line.startsWith("mu ")) {
      this.#waiting.push(near);
    } else if (this.answersMarks) {
      near.write(`HD Ow\r\nWS Ow\r\nWE Ow G0123456789abcdef.1 ${line.split(" ")[2]}\r\n`);
    }
  }

  say(line: string): void {
    this.#watch!.write(`${line}\r\n`);
  }

  /** Pushes a section. */
  tell(...lines: string[]): void {
    this.say(["WS Ow", ...lines, "WE Ow G0123456789abcdef.2"].join("\r\n"));
  }

  /** Waits for a request. */
  waiting(): Promise<void> {
    return waitFor("a request comes", () => this.#waiting.length > 0);
  }

  /** Answers the oldest request that waits. */
  async answer(reply: string): Promise<void> {
    await this.waiting();
    this.#waiting.shift()!.write(`${reply}\r\n`);
  }
}
