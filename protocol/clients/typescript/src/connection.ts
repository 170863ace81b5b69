import net from "node:net";
import tls from "node:tls";
import { defaultHost, defaultPort } from "./address.js";
import { AnswerError, ConnectionLost, MxkvError, ProtocolError, RequestTimeout, TlsFailed } from "./errors.js";
import { type Request, ReplyReader, lineOf, single } from "./wire.js";

export const connectTimeoutMs = 1000;
export const requestTimeoutMs = 3000;

/** How to connect to a server. */
export interface ClientOptions {
  /** localhost if not told. */
  readonly host?: string;
  /** 11211 if not told. */
  readonly port?: number;
  /** Of a unix socket, in place of host and port. */
  readonly path?: string;
  /** Speaks TLS, with these options of node:tls; {} for the usual ones. */
  readonly tls?: tls.ConnectionOptions;
  /** Logs in on each new connection. */
  readonly user?: string;
  readonly password?: string;
  /** 8 if not told; who finds all taken waits. */
  readonly maxConnections?: number;
  /** For a new connection with its handshakes; 1000 if not told, Infinity waits for ever. */
  readonly connectTimeoutMs?: number;
  /** For each request; 3000 if not told, Infinity waits for ever. */
  readonly timeoutMs?: number;
  /** How often a read is sent again after its connection was lost; 2 if not told. */
  readonly retries?: number;
  /** Also send again what leaves the same if done twice: set, delete, touch, and those of ranges. */
  readonly retryWrites?: boolean;
  /**
   * Called before each request, with its command, such as "mr", and the server's name, such as "localhost:11211". The function that it
   * returns is called after the request with all its retries, with the error if it failed.
   */
  readonly hook?: (command: string, server: string) => (error?: unknown) => void;
}

/** Takes what comes; `fail` is called at the end. */
export interface Waiting {
  feed(data: Buffer): void;
  fail(error: Error): void;
}

/** One connection; one request at a time. After an error that is no AnswerError it is closed. */
export class Connection {
  #waiting: Waiting | undefined;
  #ended: Error | undefined;

  private constructor(private readonly socket: net.Socket) {
    socket.on("data", (data: Buffer) => (this.#waiting ? this.#waiting.feed(data) : this.close()));
    socket.on("error", (error) => this.#end(named(error)));
    socket.on("close", () => this.#end(new ConnectionLost("the server closed the connection")));
  }

  static async open(options: ClientOptions): Promise<Connection> {
    const socket = await connected(options);
    const made = new Connection(socket);
    if (options.user !== undefined) {
      const credentials = Buffer.from(`${options.user} ${options.password ?? ""}`);
      const data = Buffer.concat([lineOf(`set auth 0 0 ${credentials.length}`), credentials, lineOf("")]);
      try {
        await made.ask(single(data, "never", (reply) => void reply.expecting("STORED")), options.connectTimeoutMs ?? connectTimeoutMs);
      } catch (error) {
        made.close();
        throw error;
      }
    }
    return made;
  }

  get usable(): boolean {
    return this.#ended === undefined;
  }

  close(): void {
    this.socket.destroy();
    this.#end(new ConnectionLost("closed"));
  }

  /** All that comes from now on goes to a listener, until the connection ends. */
  listen(listener: Waiting): void {
    if (this.#ended) {
      listener.fail(this.#ended);
      return;
    }
    this.#waiting = listener;
  }

  write(data: Buffer): void {
    this.socket.write(data);
  }

  pause(paused: boolean): void {
    if (paused) {
      this.socket.pause();
    } else if (this.socket.isPaused()) {
      this.socket.resume();
    }
  }

  ask<T>(request: Request<T>, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(this.#ended);
        return;
      }
      const replies = new ReplyReader();
      const reading = request.read();
      const timer = timeoutMs === Infinity ? undefined : setTimeout(() => done(() => reject(new RequestTimeout("no reply in time")), false), timeoutMs);
      const done = (settle: () => void, inStep: boolean) => {
        clearTimeout(timer);
        this.#waiting = undefined;
        if (!inStep) {
          this.close();
        }
        settle();
      };
      const fail = (error: unknown) => done(() => reject(error), error instanceof AnswerError && !replies.pending);
      this.#waiting = {
        fail,
        feed: (data) => {
          replies.feed(data);
          try {
            for (let reply = replies.next(); reply; reply = replies.next()) {
              const step = reading.next(reply);
              if (step.done) {
                if (replies.pending) {
                  throw new ProtocolError("the server sent more than was asked for");
                }
                done(() => resolve(step.value), true);
                return;
              }
            }
          } catch (error) {
            fail(error);
          }
        },
      };
      reading.next(undefined as never); // to the first yield, which takes no reply
      this.socket.write(request.data);
    });
  }

  #end(error: Error): void {
    this.#ended ??= error;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.fail(error);
  }
}

function connected(options: ClientOptions): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const place = options.path === undefined ? { host: options.host ?? defaultHost, port: options.port ?? defaultPort } : { path: options.path };
    // Node compares the certificate with the address only if `host` has the address.
    const socket = options.tls ? tls.connect({ ...place, ...options.tls }) : net.connect(place);
    const limit = options.connectTimeoutMs ?? connectTimeoutMs;
    const timer = limit === Infinity ? undefined : setTimeout(() => socket.destroy(new RequestTimeout("no connection in time")), limit);
    const failed = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(named(error));
    };
    const ended = () => failed(new Error("the server closed the connection"));
    socket.once("error", failed);
    socket.once("close", ended);
    socket.once(options.tls ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      socket.off("error", failed);
      socket.off("close", ended);
      socket.setNoDelay(true);
      resolve(socket);
    });
  });
}

/** The error of mxkv for an error of a socket. */
function named(error: Error): MxkvError {
  if (error instanceof MxkvError) {
    return error;
  }
  const code = "code" in error ? String(error.code) : "";
  const isTls = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO/.test(code);
  return new (isTls ? TlsFailed : ConnectionLost)(error.message || code, { cause: error });
}
