// Servers as text: host, host:port, the path of a unix socket, or a URL. No I/O.
import type { ClientOptions } from "./connection.js";
import { BadAddress } from "./errors.js";

export const defaultHost = "localhost";
export const defaultPort = 11211;

/** The options that a text stands for. */
export function optionsOf(server: string): ClientOptions {
  if (server.startsWith("/")) {
    return { path: server };
  }
  const text = server.includes("://") ? server : `mxkv://${server}`;
  let url: URL;
  let user: string;
  let password: string;
  try {
    url = new URL(text.replace(/^mxkv(s?):\/\/((?:[^/]*@)?)\//, "mxkv$1://$2no-host/")); // a URL with a login needs a host
    [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  } catch {
    throw new BadAddress("the URL of a server is malformed"); // without its text, which may have a password
  }
  const isPath = /^mxkvs?:\/\/([^/]*@)?\/./.test(text);
  const isTls = url.protocol === "mxkvs:";
  if ((!isTls && url.protocol !== "mxkv:") || url.search || url.hash || (isPath && isTls) || (!isPath && (!url.hostname || !/^\/?$/.test(url.pathname)))) {
    throw new BadAddress(`'${server.slice(server.lastIndexOf("@") + 1)}' is no mxkv://host:port, mxkvs://host:port or mxkv:///path`);
  }
  const login = user === "" ? {} : { user, password };
  if (isPath) {
    return { path: decodeURIComponent(url.pathname), ...login };
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return { host, port: url.port === "" ? defaultPort : Number(url.port), ...login, ...(isTls ? { tls: {} } : {}) };
}

/** host:port, or the path. */
export function nameOf(options: ClientOptions): string {
  return options.path ?? `${options.host ?? defaultHost}:${options.port ?? defaultPort}`;
}
