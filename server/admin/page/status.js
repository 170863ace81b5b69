// The page of a server: asks /status.json once a second and shows it. Text from keys is only ever set as text, never as markup.
"use strict";

const kEveryMs = 1000;
const kSvg = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
const setText = (id, text) => { const at = byId(id); if (at.textContent !== text) at.textContent = text; };

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS(kSvg, tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  if (text !== undefined) made.textContent = text;
  return made;
}

// --- Numbers as people read them: three digits, or a unit more ---

function digits(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
function count(value) {
  if (value === null || value === undefined) return "–";
  if (value < 10000) return value < 10 && value % 1 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
  return value < 1e6 ? digits(value / 1e3) + " k" : value < 1e9 ? digits(value / 1e6) + " M" : digits(value / 1e9) + " G";
}
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1024; ++unit; }
  return (unit ? digits(value) : Math.round(value)) + " " + units[unit];
}
function time(ns) {
  if (ns === null || ns === undefined) return "–";
  return ns < 1e3 ? ns + " ns" : ns < 1e6 ? digits(ns / 1e3) + " µs" : ns < 1e9 ? digits(ns / 1e6) + " ms" : digits(ns / 1e9) + " s";
}
function duration(s) {
  const days = Math.floor(s / 86400), hours = Math.floor(s / 3600) % 24, minutes = Math.floor(s / 60) % 60;
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${Math.floor(s % 60)} s` : `${Math.floor(s)} s`;
}
const percent = (part) => part === null ? "–" : (part >= 0.9995 ? 100 : part * 100).toFixed(part >= 0.9995 || part === 0 ? 0 : 1) + " %";
const clock = (unix) => new Date(unix * 1000).toLocaleTimeString("en-GB");

// --- Charts ---

const kPoints = 180;
let shownSeconds = 180;
const spanText = (s) => s < 3600 ? `${Math.round(s / 60)} min` : `${s / 3600} h`;
/// A round number above `value`, in steps of 1, 2, 5.
function roundAbove(value) {
  if (!(value > 0)) return 1;
  const power = Math.pow(10, Math.floor(Math.log10(value)));
  for (const step of [1, 2, 5, 10]) if (value <= step * power * 1.0001) return step * power;
  return 10 * power;
}
/// An SVG path through the points, with a gap at each missing value.
function path(values, x, y) {
  let text = "", pen = "M";
  values.forEach((value, i) => {
    if (value === null) { pen = "M"; return; }
    text += pen + x(i).toFixed(1) + " " + y(value).toFixed(1);
    pen = "L";
  });
  return text;
}
function spark(id, values, most) {
  const box = byId(id), width = box.clientWidth, height = box.clientHeight;
  const top = most || Math.max(1e-9, ...values.filter((v) => v !== null));
  const x = (i) => width * (i + kPoints - values.length) / (kPoints - 1);
  const y = (value) => height - 2 - (height - 4) * Math.min(1, value / top);
  const svg = drawn("svg", { "aria-hidden": "true" });
  svg.append(drawn("path", { class: "line", d: path(values, x, y) }));
  box.replaceChildren(svg);
}
const hovered = {};
function chart(id, lines, options) {
  const box = byId(id), width = box.clientWidth, height = box.clientHeight;
  const left = 52, bottom = 18, right = 8, top = 6;
  const present = lines.flat().filter((v) => v !== null);
  const most = options.most || roundAbove(Math.max(0, ...present));
  const length = lines[0].length;
  const x = (i) => left + (width - left - right) * (i + kPoints - length) / (kPoints - 1);
  const y = (value) => top + (height - top - bottom) * (1 - Math.min(1, value / most));
  const svg = drawn("svg", { role: "img", "aria-label": options.label(lines) });
  for (const part of [0, 0.5, 1]) {
    const at = Math.round(y(most * part)) + 0.5;
    svg.append(drawn("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }));
    svg.append(drawn("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, options.format(most * part)));
  }
  for (const [part, anchor] of [[1, "start"], [2 / 3, "middle"], [1 / 3, "middle"], [0, "end"]]) {
    const text = part === 0 ? "now" : spanText(shownSeconds * part) + (part === 1 ? " ago" : "");
    svg.append(drawn("text", { x: left + (width - left - right) * (1 - part), y: height - 3, "text-anchor": anchor }, text));
  }
  lines.forEach((values, nth) => {
    const d = path(values, x, y);
    if (nth === 0 && lines.length === 1 && d) {
      const first = values.findIndex((v) => v !== null);
      if (!values.slice(first).includes(null)) svg.append(drawn("path", { class: "area", d: `${d}L${x(length - 1)} ${y(0)}L${x(first)} ${y(0)}Z` }));
    }
    svg.append(drawn("path", { class: nth ? "line second" : "line", d }));
  });
  const parts = [svg];
  if (hovered[id] !== undefined && length) {
    const i = Math.round((hovered[id] - left) / (width - left - right) * (kPoints - 1)) - kPoints + length;
    if (i >= 0 && i < length) {
      svg.append(drawn("line", { class: "at", x1: x(i), x2: x(i), y1: top, y2: height - bottom }));
      const tip = element("div", "tip", `${duration((length - 1 - i) * shownSeconds / kPoints)} ago: ` + lines.map((values) => options.format(values[i])).join(", "));
      tip.style[x(i) > width / 2 ? "right" : "left"] = (x(i) > width / 2 ? width - x(i) + 8 : x(i) + 8) + "px";
      parts.push(tip);
    }
  }
  box.replaceChildren(...parts);
}
for (const box of document.querySelectorAll(".chart")) {
  box.addEventListener("pointermove", (event) => { hovered[box.id] = event.clientX - box.getBoundingClientRect().left; draw(); });
  box.addEventListener("pointerleave", () => { delete hovered[box.id]; draw(); });
}

// --- History: an hour of seconds, kept by the browser, also when the page is loaded again ---

const kHistory = 3600;
let past = { of: "", seconds: {} };  // by unix second: [requests, p50, p99, hits, misses]
const kStored = "mxkv-history";
function remember(now) {
  const s = now.series, of = `${now.host} ${now.process}`;
  if (past.of !== of) {
    past = { of, seconds: {} };
    try {
      const kept = JSON.parse(sessionStorage.getItem(kStored));
      if (kept && kept.of === of) past = kept;
    } catch { /* nothing is kept, or nothing may be: the history begins now */ }
  }
  s.time.forEach((time, i) => {
    const all = Object.values(s.commands).reduce((sum, one) => sum + one[i], 0);
    past.seconds[Math.floor(time)] = [all, s.p50_ns[i], s.p99_ns[i], s.hits[i], s.misses[i]];
  });
  const oldest = Math.floor(s.time.at(-1) ?? 0) - kHistory;
  for (const second in past.seconds) {  // ascending
    if (second > oldest) break;
    delete past.seconds[second];
  }
}
addEventListener("pagehide", () => {
  try { sessionStorage.setItem(kStored, JSON.stringify(past)); } catch { /* no room: the history is lost */ }
});
/// The shown time in kPoints points: the newest second, or what a point covers: means of rates, the greatest p50 and p99.
function shownPast(now) {
  const last = Math.floor(now.series.time.at(-1) ?? 0), step = shownSeconds / kPoints;
  const points = { requests: [], p50: [], p99: [], ratio: [] };
  for (let i = 0; i < kPoints; ++i) {
    const found = [];
    for (let second = last - (kPoints - 1 - i) * step; found.length < step && second > last - (kPoints - i) * step; --second) {
      if (past.seconds[second]) found.push(past.seconds[second]);
    }
    const most = (at) => found.reduce((top, one) => one[at] === null ? top : Math.max(top ?? 0, one[at]), null);
    const sum = (at) => found.reduce((all, one) => all + one[at], 0);
    points.requests.push(found.length ? sum(0) / found.length : null);
    points.p50.push(most(1));
    points.p99.push(most(2));
    points.ratio.push(sum(3) + sum(4) > 0 ? sum(3) / (sum(3) + sum(4)) : null);
  }
  return points;
}
for (const button of document.querySelectorAll(".ranges button")) {
  button.addEventListener("click", () => {
    shownSeconds = Number(button.dataset.seconds);
    for (const one of document.querySelectorAll(".ranges button")) one.setAttribute("aria-pressed", String(one === button));
    draw();
  });
}

// --- Tables: rows are reused, so that text being read or selected stays in place ---

function rows(table, wanted, columns) {
  const body = byId(table).tBodies[0];
  while (body.rows.length > wanted) body.deleteRow(-1);
  while (body.rows.length < wanted) {
    const row = body.insertRow();
    for (let i = 0; i < columns; ++i) row.insertCell();
  }
  return [...body.rows];
}
function cell(at, text, className) {
  if (at.textContent !== text) at.textContent = text;
  if (className !== undefined && at.className !== className) at.className = className;
}
function fill(id, part) {
  const bar = byId(id);
  bar.firstElementChild.style.width = Math.min(100, 100 * part) + "%";
  bar.classList.toggle("is-full", part > 0.9);
}
function nothing(table, text) {
  const [row] = rows(table, 1, 1);
  while (row.cells.length > 1) row.deleteCell(-1);
  row.cells[0].colSpan = byId(table).tHead.rows[0].cells.length;
  row.cells[0].replaceChildren(element("span", "quiet", text));
  row.dataset.empty = "1";
}
function something(table) {
  const body = byId(table).tBodies[0];
  if (body.rows.length && body.rows[0].dataset.empty) body.replaceChildren();
}

// --- The panels ---

let status = null;

function showState() {
  const lost = status === null || status.lost;
  const state = lost ? "no answer" : status.overloads.length ? "overloaded" : status.ready ? "ready" : status.state;
  document.body.className = (status && status.serves ? "" : "is-new ") + (lost ? "is-lost" : state === "ready" ? "is-ready" : "is-busy");
  setText("state-text", state);
  document.title = `${status ? status.host + " – " : ""}mxkv${state === "ready" ? "" : " – " + state}`;
  const lines = lost ? [status ? `No answer since ${clock(status.time)}; the figures are from then.` : "The server does not answer."]
    : status.state === "recovering" ? [`Recovering from the journal: ${percent(status.recovered)}`] : status.overloads;
  const notice = byId("notice");
  const text = lines.join("\n");
  if (notice.textContent !== text) notice.textContent = text;
  notice.hidden = text === "";
}

function showFigures(now) {
  const last = now.series.time.length - 1;
  const s = now.series, total = s.time.map((_, i) => Object.values(s.commands).reduce((sum, one) => sum + one[i], 0));
  const ratio = s.hits.map((hits, i) => hits + s.misses[i] > 0 ? hits / (hits + s.misses[i]) : null);
  setText("f-requests", last < 0 ? "–" : count(total[last]));
  setText("f-p99", last < 0 ? "–" : time(s.p99_ns[last]));
  setText("f-p50", "p50 " + (last < 0 ? "–" : time(s.p50_ns[last])));
  setText("f-hits", last < 0 ? "–" : percent(ratio[last]));
  setText("f-hits-all", now.hits + now.misses ? percent(now.hits / (now.hits + now.misses)) + " since the start" : "no gets yet");
  setText("f-memory", bytes(now.memory.used));
  setText("f-memory-limit", `of ${bytes(now.memory.limit)}`);
  setText("f-connections", count(now.connections.open));
  setText("f-connections-limit", `of ${count(now.connections.limit)}`);
  fill("b-memory", now.memory.used / now.memory.limit);
  fill("b-connections", now.connections.open / now.connections.limit);
  spark("s-requests", total);
  spark("s-p99", s.p99_ns);
  spark("s-hits", ratio, 1);
  const span = spanText(shownSeconds);
  const shown = shownSeconds === kPoints ? { requests: total, p50: s.p50_ns, p99: s.p99_ns, ratio } : shownPast(now);
  chart("c-requests", [shown.requests], { format: count, label: () => `Requests per second in the last ${span}, now ${count(total[last])}` });
  chart("c-latency", [shown.p50, shown.p99], { format: time, label: () => `Latency in the server in the last ${span}, now p50 ${time(s.p50_ns[last])}, p99 ${time(s.p99_ns[last])}` });
  chart("c-hits", [shown.ratio], { format: percent, most: 1, label: () => `Hit ratio in the last ${span}, now ${percent(ratio[last] ?? null)}` });
}

function showCommands(now) {
  const last = now.series.time.length - 1;
  const rates = now.latency.map((one) => last < 0 ? 0 : now.series.commands[one.command][last]);
  const all = rates.reduce((sum, one) => sum + one, 0);
  rows("t-commands", now.latency.length, 5).forEach((row, i) => {
    const one = now.latency[i], quiet = rates[i] === 0 ? "quiet" : "";
    cell(row.cells[0], one.command, quiet);
    cell(row.cells[1], count(rates[i]), quiet);
    if (!row.cells[2].firstChild) {
      row.cells[2].className = "share";
      row.cells[2].append(element("div", "track"));
      row.cells[2].firstChild.append(element("i"));
    }
    row.cells[2].firstChild.firstChild.style.width = (all ? 100 * rates[i] / all : 0) + "%";
    cell(row.cells[3], time(one.p50_ns), one.p50_ns === null ? "quiet" : "");
    cell(row.cells[4], time(one.p99_ns), one.p99_ns === null ? "quiet" : "");
  });
  setText("n-commands", now.sampled_one_in ? `Latencies of ${now.sampled_one_in > 1 ? `one in ${now.sampled_one_in} commands` : "all commands"} in the last ${now.latency_window_s} s.` : "Latencies are not measured (stats.sample is off).");
}

const kMemory = ["items", "index", "tasks", "output", "buffers", "referenced", "ghosts"];
const kMemoryNames = { items: "items", index: "index", tasks: "tasks", output: "replies", buffers: "input", referenced: "sent values", ghosts: "evicted keys" };
function showMemory(now) {
  const stack = byId("m-stack"), legend = byId("m-legend");
  if (!stack.firstChild) {
    kMemory.forEach((name, i) => {
      stack.append(element("i", `f${i}`));
      const line = element("li");
      line.append(element("i", `f${i}`), kMemoryNames[name] + " ", element("b"));
      legend.append(line);
    });
  }
  kMemory.forEach((name, i) => {
    stack.children[i].style.width = 100 * now.memory.by[name] / now.memory.limit + "%";
    cell(legend.children[i].lastChild, bytes(now.memory.by[name]));
  });
  stack.setAttribute("aria-label", `Memory, of ${bytes(now.memory.limit)}: ` + kMemory.map((name) => `${kMemoryNames[name]} ${bytes(now.memory.by[name])}`).join(", "));
  const last = now.series.time.length - 1;
  setText("m-items", `${count(now.items)}, ${bytes(now.items_bytes)}`);
  setText("m-evicted", last < 0 ? "–" : count(now.series.evicted[last]));
  setText("m-expired", last < 0 ? "–" : count(now.series.expired[last]));
  setText("m-full", now.memory.evicts ? "idle, seldom read and large items are evicted first" : "writes are refused");
}

function showWorkers(now) {
  const box = byId("workers");
  const shape = JSON.stringify(now.nodes.map((node) => node.workers.length));
  if (box.dataset.shape !== shape) {
    box.dataset.shape = shape;
    box.replaceChildren(...now.nodes.map((node) => {
      const part = element("div", "node"), head = element("div", "head");
      part.append(element("h3"));
      for (const text of ["", "busy", "", "requests/s", "clients"]) head.append(element("span", "", text));
      part.append(head);
      for (const _ of node.workers) {
        const row = element("div", "worker"), track = element("div", "track");
        track.append(element("i"));
        row.append(element("span"), track, element("span"), element("span"), element("span"));
        part.append(row);
      }
      return part;
    }));
  }
  now.nodes.forEach((node, n) => {
    const part = box.children[n];
    cell(part.firstChild, `Node ${node.node}: ` + (node.items_bytes === undefined ? "" : `${bytes(node.items_bytes)} of items, ${bytes(node.index_bytes)} of index`));
    node.workers.forEach((worker, w) => {
      const row = part.children[w + 2];
      cell(row.children[0], String(worker.worker));
      row.children[1].firstChild.style.width = 100 * worker.busy + "%";
      cell(row.children[2], Math.round(100 * worker.busy) + " %");
      cell(row.children[3], count(worker.requests));
      cell(row.children[4], count(worker.connections));
    });
  });
  const s = now.series, last = s.time.length - 1;
  setText("n-received", last < 0 ? "–" : bytes(s.received[last]));
  setText("n-sent", last < 0 ? "–" : bytes(s.sent[last]));
  setText("n-accepted", count(now.connections.accepted));
  setText("n-refused", count(now.connections.refused));
  setText("n-closed", count(now.connections.closed));
  showCertificates(now);
  const journal = now.journal;
  byId("journal").hidden = !journal;
  if (journal) {
    setText("j-behind", `${time(journal.behind_ms * 1e6)}, ${bytes(journal.waiting_bytes)}`);
    setText("j-flush", `${time(journal.flush_p50_ns)}, ${time(journal.flush_p99_ns)}`);
    setText("j-size", `${bytes(journal.bytes)} of ${bytes(journal.most)}`);
    setText("j-checkpoint", journal.checkpoint_running ? `running, ${percent(journal.checkpoint_ratio)}` : journal.checkpoint_time ? clock(journal.checkpoint_time) : "none yet");
  }
}

const kSoonDays = 14;
function showCertificates(now) {
  byId("certificates").hidden = !now.certificates.length;
  const list = byId("n-certificates");
  while (list.children.length > now.certificates.length) list.lastChild.remove();
  while (list.children.length < now.certificates.length) {
    const row = element("div");
    row.append(element("dt"), element("dd"));
    list.append(row);
  }
  now.certificates.forEach((one, i) => {
    const days = (one.ends - now.time) / 86400, day = new Date(one.ends * 1000).toISOString().slice(0, 10);
    cell(list.children[i].firstChild, one.listener);
    cell(list.children[i].lastChild, !one.ends ? "unknown end" : days < 0 ? `expired on ${day}` : `until ${day}, ${Math.floor(days)} days`,
         one.ends && days < kSoonDays ? "soon" : "");
  });
}

function showCluster(now) {
  const cluster = now.cluster;
  byId("cluster").hidden = !cluster;
  if (!cluster) return;
  setText("c-map", `Cluster ${cluster.name}, map version ${cluster.map_version}: ${cluster.shards} shards, ${cluster.nodes_alive} nodes alive. This node is ${cluster.node}.${cluster.last_error ? ` Last error: ${cluster.last_error}` : ""}`);
  setText("c-waiting", bytes(cluster.waiting_bytes) + (cluster.brokers_silent ? "; the brokers are silent" : ""));
  setText("c-lapsed", count(cluster.lapsed));
  setText("c-lacking", count(cluster.lacking));
  rows("t-cluster", cluster.held.length, 4).forEach((row, i) => {
    const one = cluster.held[i];
    cell(row.cells[0], `${one.id} ${one.role}`);
    cell(row.cells[1], one.owner || "–");
    cell(row.cells[2], count(one.position), "number");
    cell(row.cells[3], one.staleness_ms === null ? "–" : time(one.staleness_ms * 1e6), "number");
  });
}

function showQuotas(now) {
  const quotas = now.quotas || [];
  byId("quotas").hidden = !quotas.length;
  rows("t-quotas", quotas.length, 8).forEach((row, i) => {
    const one = quotas[i], gets = one.hits + one.misses;
    cell(row.cells[0], one.prefix, "name");
    cell(row.cells[1], count(one.items));
    cell(row.cells[2], bytes(one.memory));
    cell(row.cells[3], one.limit ? `${bytes(one.limit)}${one.evicts ? "" : ", then refuses"}` : "none");
    cell(row.cells[4], one.keep ? bytes(one.keep) : "none");
    cell(row.cells[5], count(one.evicted));
    cell(row.cells[6], count(one.refused));
    cell(row.cells[7], gets ? percent(one.hits / gets) : "–");
    row.cells[7].title = `of ${count(gets)} sampled gets since the start`;
  });
}

const kForAdministrators = "Log in as an administrator to see keys and clients.";
function showHot(now) {
  if (!now.hot) { nothing("t-hot", kForAdministrators); return; }
  if (!now.hot.length) { nothing("t-hot", now.sampled_one_in ? "No key is requested much more often than the others." : "Keys are not counted (stats.sample is off)."); return; }
  something("t-hot");
  rows("t-hot", now.hot.length, 2).forEach((row, i) => {
    const one = now.hot[i], shown = `${one.kind} ${one.name}`;
    if (row.dataset.shown !== shown) {
      row.dataset.shown = shown;
      row.cells[0].replaceChildren(...(one.kind === "range" ? [element("span", "tag", "range")] : []), element("span", "name", one.name), element("i", "weight"));
    }
    row.cells[0].lastChild.style.width = 100 * Math.min(1, one.requests / now.hot[0].requests) + "%";
    cell(row.cells[1], count(one.requests), "number");
    row.cells[1].title = `estimate; ${count(one.least)} to ${count(one.most)} requests in the last 30 to 60 s`;
  });
}

function showSlow(now) {
  if (!now.slow) { nothing("t-slow", kForAdministrators); return; }
  if (!now.slow.length) { nothing("t-slow", now.slow_from_ms && now.sampled_one_in ? `No timed request took ${now.slow_from_ms} ms or longer.` : "Slow requests are not recorded (stats.slow or stats.sample is off)."); return; }
  something("t-slow");
  rows("t-slow", now.slow.length, 2).forEach((row, i) => {
    const one = now.slow[i], shown = JSON.stringify(one);
    if (row.dataset.shown === shown) return;
    row.dataset.shown = shown;
    const detail = [clock(one.time), one.client, one.keys > 1 ? `${one.keys} keys` : "", one.request_bytes ? `${bytes(one.request_bytes)} in` : "", `${bytes(one.reply_bytes)} out`].filter(Boolean).join(", ");
    row.cells[0].replaceChildren(element("span", "tag", one.command), element("span", "name", one.key || ""), element("span", "detail", detail));
    cell(row.cells[1], time(one.took_ns), "number");
  });
}

function draw() {
  if (status === null) return;
  setText("host", status.host);
  setText("uptime", duration(status.uptime_s));
  setText("version", status.version);
  setText("process", String(status.process));
  if (!status.serves) return;
  showFigures(status);
  showCommands(status);
  showMemory(status);
  showWorkers(status);
  showCluster(status);
  showQuotas(status);
  showHot(status);
  showSlow(status);
}

async function poll() {
  try {
    const stop = new AbortController(), timer = setTimeout(() => stop.abort(), 4000);
    const reply = await fetch(location.origin + "/status.json", { signal: stop.signal });
    clearTimeout(timer);
    if (!reply.ok) throw new Error(reply.statusText);
    status = await reply.json();
    if (status.serves) remember(status);
  } catch {
    if (status) status.lost = true;
  }
  showState();
  if (!status || !status.lost) draw();
  document.body.dataset.polls = Number(document.body.dataset.polls || 0) + 1;
}
async function live() {
  if (!document.hidden) await poll();
  setTimeout(live, kEveryMs);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
addEventListener("resize", () => { draw(); layMap(); });

// --- Prefixes: squarified treemap ---

let found = null, asked = "", above = [];

/// Rectangles for descending sizes, each as square as possible.
function squarified(sizes, width, height) {
  const placed = [];
  let left = 0, top = 0, w = width, h = height, rest = sizes.reduce((a, b) => a + b, 0);
  for (let i = 0; i < sizes.length;) {
    const side = Math.min(w, h), scale = w * h / rest;
    let sum = 0, worst = Infinity, end = i;
    while (end < sizes.length) {
      const grown = sum + sizes[end], thick = grown * scale / side;
      const ratio = (size) => { const long = size * scale / thick; return Math.max(long / thick, thick / long); };
      const now = Math.max(ratio(sizes[i]), ratio(sizes[end]));
      if (now > worst) break;
      worst = now; sum = grown; ++end;
    }
    const thick = sum * scale / side;
    let along = 0;
    for (; i < end; ++i) {
      const long = sizes[i] * scale / thick;
      placed.push(w <= h ? [left + along, top, long, thick] : [left, top + along, thick, long]);
      along += long;
    }
    if (w <= h) { top += thick; h -= thick; } else { left += thick; w -= thick; }
    rest -= sum;
  }
  return placed;
}
const withoutAbove = (name) => found.name && name.startsWith(found.name) ? "…" + name.slice(found.name.length) : name;

function layMap() {
  if (!found) return;
  const box = byId("p-map");
  box.hidden = byId("p-scroll").hidden = !found.groups.length && !found.single.items;
  const tiles = found.groups.map((group) => ({ ...group, opens: true }));
  if (found.single.items) tiles.push({ ...found.single, name: "keys without the delimiter", opens: false });
  if (found.others.items) tiles.push({ ...found.others, name: "all other prefixes", opens: false });
  tiles.sort((a, b) => b.bytes - a.bytes);
  const most = Math.max(1, ...tiles.map((tile) => tile.bytes));
  const places = squarified(tiles.map((tile) => Math.max(tile.bytes, 1)), box.clientWidth, box.clientHeight);
  box.replaceChildren(...tiles.map((tile, i) => {
    const [x, y, w, h] = places[i];
    const made = element("button");
    made.type = "button";
    made.disabled = !tile.opens;
    Object.assign(made.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` });
    made.style.setProperty("--depth", (0.72 + 0.28 * Math.sqrt(tile.bytes / most)).toFixed(2));
    const size = `${bytes(tile.bytes)}, ${count(tile.items)} items`;
    made.title = `${tile.name}: ${size}`;
    made.setAttribute("aria-label", `${tile.name}: ${size}`);
    if (w > 46 && h > 24) made.append(element("span", tile.opens ? "name" : "", withoutAbove(tile.name)));
    if (w > 76 && h > 46) made.append(element("small", "", bytes(tile.bytes)));
    if (w > 76 && h > 64) made.append(element("small", "", `${count(tile.items)} items`));
    if (w <= 46 || h <= 24) made.style.padding = "0";
    if (tile.opens) made.addEventListener("click", () => { above.push(asked); ask(tile.prefix); });
    return made;
  }));
  rows("t-prefixes", tiles.length, 3).forEach((row, i) => {
    cell(row.cells[0], tiles[i].name, tiles[i].opens ? "name" : "quiet");
    cell(row.cells[1], count(tiles[i].items));
    cell(row.cells[2], bytes(tiles[i].bytes));
  });
}

/// `prefix`: encoded as in a URL, since keys may hold any bytes.
async function ask(prefix) {
  asked = prefix;
  byId("p-up").disabled = !above.length;
  setText("p-note", "Counting…");
  try {
    const reply = await fetch(`${location.origin}/prefixes.json?prefix=${prefix}&delimiter=${encodeURIComponent(byId("p-delimiter").value)}`);
    if (!reply.ok) throw new Error((await reply.text()).trim());
    found = await reply.json();
    if (asked !== prefix) return;
    byId("p-prefix").value = found.name;
    const all = found.groups.concat(found.single, found.others);
    const items = all.reduce((sum, one) => sum + one.items, 0), size = all.reduce((sum, one) => sum + one.bytes, 0);
    setText("p-note", items ? `${count(found.prefixes)} prefixes, ${count(items)} items, ${bytes(size)} of keys and values; ${found.exact ? "counted" : "estimated, small ones may be missing"}.` : "No keys with this prefix.");
    layMap();
  } catch (error) {
    setText("p-note", `The count failed: ${error.message}`);
  }
}
byId("p-form").addEventListener("submit", (event) => {
  event.preventDefault();
  above = [];
  ask(found && byId("p-prefix").value === found.name ? found.prefix : encodeURIComponent(byId("p-prefix").value));
});
byId("p-up").addEventListener("click", () => ask(above.pop()));

live();
