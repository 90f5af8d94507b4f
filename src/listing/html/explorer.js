"use strict";
(() => {
const by = (id) => document.getElementById(id);
const head = JSON.parse(by("data-head").textContent);
const tables = JSON.parse(by("data-tables").textContent);
const lines = by("data-rows").textContent.split("\n");
const NAMES = ["rax","rcx","rdx","rbx","rsp","rbp","rsi","rdi","r8","r9","r10","r11","r12","r13","r14","r15"];
const FLAGS = [[0,"CF"],[2,"PF"],[4,"AF"],[6,"ZF"],[7,"SF"],[10,"DF"],[11,"OF"]];
const ORDER = [0,3,1,2,7,6,5,4,8,9,10,11,12,13,14,15,16];
const STEP = 0, MARKER = 1, CALL = 2, FOLD = 3;
const HEIGHT = 20, EVERY = 256;

// Items in order: what the trace has, and a fold before the rows it hides.
const kind = [], line = [], call = [], number = [], depth = [], code = [], fold = [];
const stepAt = new Map();
function add(k, l, c, n, d, x, f) { kind.push(k); line.push(l); call.push(c); number.push(n); depth.push(d); code.push(x); fold.push(f); }
(() => {
  let c = 0, n = 0, d = 0, folds = [], at = 0, open = -1;
  for (let i = 0; i < lines.length; i++) {
    const text = lines[i];
    if (!text) continue;
    if (text[0] === "#") {
      c = +text.slice(1, text.indexOf("\t") < 0 ? undefined : text.indexOf("\t"));
      n = 0; d = 0; folds = tables.folds[c] || []; at = 0; open = -1;
      add(CALL, i, c, 0, 0, -1, -1);
    } else if (text[0] === "!") {
      add(MARKER, i, c, n, d, -1, open);
    } else {
      const a = text.indexOf("\t"), b = text.indexOf("\t", a + 1), e = text.indexOf("\t", b + 1);
      n = a > 0 ? +text.slice(0, a) : n + 1;
      d = +text.slice(b + 1, e < 0 ? undefined : e);
      while (at < folds.length && folds[at][1] <= n) { at++; open = -1; }
      if (at < folds.length && folds[at][0] <= n) {
        if (open < 0) { add(FOLD, at, c, n, d, -1, kind.length); open = kind.length - 1; }
      } else open = -1;
      stepAt.set(c + ":" + n, kind.length);
      add(STEP, i, c, n, d, +text.slice(a + 1, b), open);
    }
  }
})();
const total = kind.length;

// One step, taken apart when it is looked at.
function step(i) {
  const f = lines[line[i]].split("\t");
  const regs = (t) => (t ? t.split(",").map((p) => { const q = p.split("="); return [+q[0], q[1]]; }) : []);
  return { before: f[3] || "", pre: regs(f[3]), unknown: f[4] === "?", post: f[4] === "?" ? [] : regs(f[4]),
    memory: f[5] ? f[5].split(";").map((t) => { const m = /^(\w)(\d+)@(\$?\w+)=(\$?\w+)(.*)$/.exec(t); return { access: m[1], size: +m[2], address: m[3], value: m[4], text: m[5] ? JSON.parse(m[5].trim()) : "" }; }) : [],
    more: f[6] ? JSON.parse(f[6]) : {} };
}
function entry(i) {
  const f = lines[line[i]].split("\t");
  return { call: +f[0].slice(1), thread: f[1], name: f[2] ? JSON.parse(f[2]) : "", regs: f[3] ? f[3].split(",") : null };
}
const marker = (i) => { const f = lines[line[i]].split("\t"); return { kind: f[0].slice(1), text: JSON.parse(f[1]) }; };

// Registers behind an item: from the nearest keyframe before it.
const frames = new Map();
function apply(state, i) {
  if (kind[i] === CALL) { const e = entry(i); state = e.regs ? e.regs.slice() : new Array(17).fill(null); }
  else if (kind[i] === STEP) {
    const s = step(i);
    for (const [r, v] of s.pre) state[r] = v;
    for (const [r, v] of s.post) state[r] = v;
  }
  return state;
}
function stateAfter(i) {
  if (i < 0) return new Array(17).fill(null);
  const slot = Math.floor(i / EVERY);
  let from = slot, state = null;
  while (from > 0 && !(state = frames.get(from))) from--;
  state = state ? state.slice() : new Array(17).fill(null);
  for (let j = state && frames.has(from) ? from * EVERY : 0; j <= i; j++) {
    if (j % EVERY === 0 && !frames.has(j / EVERY)) frames.set(j / EVERY, state.slice());
    state = apply(state, j);
  }
  return state;
}

// What is folded, and so which items are to be seen.
const openFolds = new Set(), closedCalls = new Set();
let foldLoops = false, foldCalls = false, view = new Int32Array(0), place = new Int32Array(total);
function calls(i) { return kind[i] === STEP && tables.codes[code[i]][5] === 1 && i + 1 < total && deeper(i) >= 0; }
function deeper(i) { for (let j = i + 1; j < total && kind[j] !== CALL; j++) if (kind[j] === STEP) return depth[j] > depth[i] ? j : -1; return -1; }
function isClosed(i) { return closedCalls.has(i) !== foldCalls && calls(i); }
function rebuild() {
  const seen = [];
  let below = -1;
  for (let i = 0; i < total; i++) {
    place[i] = seen.length;
    if (kind[i] === CALL) below = -1;
    if (below >= 0) { if (kind[i] === CALL || kind[i] === STEP && depth[i] <= below) below = -1; else continue; }
    if (kind[i] === FOLD) { if (!foldLoops) continue; }
    else if (fold[i] >= 0 && foldLoops && !openFolds.has(fold[i])) continue;
    seen.push(i);
    if ((foldCalls || closedCalls.size) && isClosed(i)) below = depth[i];
  }
  view = Int32Array.from(seen);
  by("space").style.height = view.length * HEIGHT + "px";
  by("rows").setAttribute("aria-rowcount", view.length);
}

// Digits that an address shares with the one before it are not repeated.
function after(was, is) {
  if (was && is[0] !== "$" && was[0] !== "$" && is.length > 8 && was.length === is.length) {
    let k = 0;
    while (k < is.length && was[k] === is[k]) k++;
    const rest = Math.max(2, is.length - k);
    if (rest <= is.length / 2) return "…" + is.slice(-rest);
  }
  return hex(is);
}
// A value is digits, or the place of its words.
const hex = (v) => (v === null || v === undefined ? "?" : v[0] === "$" ? tables.words[+v.slice(1)] : "0x" + v);
function span(parent, cls, text) { const e = document.createElement("span"); e.className = cls; e.textContent = text; e.setAttribute("role", "gridcell"); parent.append(e); }
function changes(i, before) {
  const s = step(i), words = [];
  if (s.more.s) words.push(s.more.s);
  const state = before.slice();
  for (const [r, v] of s.pre) state[r] = v;
  for (const [r, v] of s.post) if (r < 16) words.push(NAMES[r] + " " + hex(state[r]) + "→" + after(state[r], v) + (s.more.t && s.more.t[r] ? " " + s.more.t[r] : ""));
  const f = s.post.find(([r]) => r === 16);
  if (f && state[16] !== null) {
    const was = parseInt(state[16], 16), is = parseInt(f[1], 16);
    const flags = FLAGS.filter(([b]) => (was ^ is) >> b & 1).map(([b, name]) => (is >> b & 1 ? "+" : "-") + name);
    if (flags.length) words.push(flags.join(" "));
  }
  for (const m of s.memory) words.push(({ r: "read", w: "write", u: "update" })[m.access] + " " + m.size + " [" + hex(m.address) + "]=" + hex(m.value) + (m.text ? " " + m.text : ""));
  if (s.more.v) words.push(s.more.v);
  return words.join("  ");
}
function text(i) {
  const c = tables.codes[code[i]], more = step(i).more;
  return c[4] + (more.x !== undefined ? " ×" + more.x : "") + (more.a || "");
}
function foldWords(i) {
  const f = tables.folds[call[i]][line[i]];
  return "×" + f[3] + ": " + f[2] + (f[2] === 1 ? " iteration" : " iterations") + " like the one above and the one below, rows " + f[0] + " to " + (f[1] - 1);
}

let here = 0, chosen = -1, query = "", top = -1, bottom = -1;
function rowElement(i, index, before) {
  const e = document.createElement("div");
  e.id = "i" + i; e.className = "row"; e.setAttribute("role", "row");
  e.setAttribute("aria-rowindex", index + 1);
  e.style.top = index * HEIGHT + "px";
  if (kind[i] === CALL) {
    e.classList.add("call");
    const c = entry(i);
    span(e, "", "call " + c.call + (c.name ? ": " + c.name : ": its beginning is missing") + (c.thread ? ", thread " + c.thread : ""));
  } else if (kind[i] === MARKER) {
    e.classList.add("marker"); span(e, "", "── " + marker(i).text);
  } else if (kind[i] === FOLD) {
    e.classList.add("fold"); span(e, "", (openFolds.has(i) ? "▾  " : "▸  ") + foldWords(i));
  } else {
    const c = tables.codes[code[i]], s = step(i);
    if (s.more.b) e.classList.add("bad");
    span(e, "n", number[i] + (s.more.m || ""));
    span(e, "symbol", c[2] || c[1]);
    span(e, "text", "  ".repeat(Math.min(depth[i], 8)) + (depth[i] > 8 ? "⋯" + depth[i] + " " : "") + text(i) + (isClosed(i) ? "  ▸ …" : ""));
    span(e, "changed", changes(i, before));
    e.querySelector(".symbol").title = [c[2], c[1], c[0], c[3]].filter((it) => it).join("\n");
    if (query && matches(i)) e.classList.add("hit");
  }
  if (i === here) { e.classList.add("here"); e.setAttribute("aria-selected", "true"); }
  return e;
}
function draw() {
  const box = by("rows"), space = by("space");
  top = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - 8);
  bottom = Math.min(view.length, Math.ceil((box.scrollTop + box.clientHeight) / HEIGHT) + 8);
  const all = document.createDocumentFragment();
  let state = null, last = -1;
  for (let v = top; v < bottom; v++) {
    const i = view[v];
    if (!state || last !== i - 1) state = stateAfter(i - 1);
    all.append(rowElement(i, v, state));
    state = apply(state, i);
    last = i;
  }
  space.replaceChildren(all);
  box.setAttribute("aria-activedescendant", "i" + here);
}
function reveal() {
  const box = by("rows"), at = place[here] * HEIGHT;
  if (at < box.scrollTop + HEIGHT) box.scrollTop = at - HEIGHT * 2;
  else if (at > box.scrollTop + box.clientHeight - HEIGHT * 2) box.scrollTop = at - box.clientHeight + HEIGHT * 3;
}
function visible(i) { return view[place[i]] === i; }
function uncover(i) {
  let changed = false;
  if (foldLoops && fold[i] >= 0 && kind[i] !== FOLD && !openFolds.has(fold[i])) { openFolds.add(fold[i]); changed = true; }
  if (!changed && visible(i)) return;
  for (let j = i - 1, d = depth[i]; j >= 0 && kind[j] !== CALL && d > 0; j--) {
    if (kind[j] === STEP && depth[j] < d) { d = depth[j]; if (isClosed(j)) { toggleCall(j); changed = true; } }
  }
  if (changed) rebuild();
}
function toggleCall(i) { if (!closedCalls.delete(i)) closedCalls.add(i); }
function go(i, say = true) {
  if (i < 0 || i >= total) return;
  uncover(i);
  here = i;
  reveal(); draw(); drawSource(); drawRegisters(); drawMemory();
  if (call[i]) history.replaceState(null, "", "#call-" + call[i] + "-step-" + number[i]);
  if (say) by("live").textContent = words(i);
}
function words(i) {
  if (kind[i] === CALL) { const c = entry(i); return "call " + c.call + ", " + c.name; }
  if (kind[i] === MARKER) return marker(i).text;
  if (kind[i] === FOLD) return foldWords(i);
  return "step " + number[i] + ", " + (tables.codes[code[i]][2] || tables.codes[code[i]][1]) + ", " + text(i) + ", " + changes(i, stateAfter(i - 1));
}
function move(by_) {
  let v = place[here];
  if (!visible(here)) v = Math.max(0, v - 1);
  go(view[Math.max(0, Math.min(view.length - 1, v + by_))]);
}
function over(way) {
  for (let i = here + way; i >= 0 && i < total; i += way) if (kind[i] === STEP && visible(i) && (call[i] !== call[here] || depth[i] <= depth[here])) return go(i);
}
function out() { for (let i = here + 1; i < total; i++) if (kind[i] === CALL || kind[i] === STEP && depth[i] < depth[here]) return go(i); }
function previousWrite(r) {
  for (let i = here - 1; i >= 0; i--) {
    if (kind[i] === CALL && call[i] === call[here]) return go(i);
    if (kind[i] === STEP && call[i] === call[here] && step(i).post.some(([q]) => q === r)) return go(i);
  }
}

function drawSource() {
  const box = by("source");
  const where = kind[here] === STEP ? tables.codes[code[here]][6] : -1;
  if (where < 0) {
    by("source-title").textContent = "Source";
    box.textContent = tables.locations.length ? "no line is known for this row" : "listed without --source, or the program has no debug information";
    box.dataset.shown = "";
    return;
  }
  const frames_ = tables.locations[where], [f, l] = frames_[0], file = tables.files[f];
  by("source-title").textContent = file.name + ":" + l + (frames_.length > 1 ? " · inlined from " + frames_.slice(1).map(([g, m]) => tables.files[g].name + ":" + m).join(" ← ") : "");
  if (box.dataset.shown !== String(f)) {
    const all = document.createDocumentFragment();
    (file.lines || []).forEach((t, k) => {
      const e = document.createElement("div"), number_ = document.createElement("span");
      e.className = "line"; number_.className = "number"; number_.textContent = k + 1;
      e.append(number_, t); all.append(e);
    });
    if (!file.lines) all.append("the file could not be read");
    box.replaceChildren(all); box.dataset.shown = f;
  }
  box.querySelectorAll(".here").forEach((e) => e.classList.remove("here"));
  const e = file.lines && box.children[l - 1];
  if (e) { e.classList.add("here"); e.setAttribute("aria-current", "true"); const at = e.offsetTop - box.offsetTop; if (at < box.scrollTop || at > box.scrollTop + box.clientHeight - 40) box.scrollTop = at - box.clientHeight / 2; }
}
function drawRegisters() {
  const box = by("registers"), state = stateAfter(here);
  const changed = new Set(kind[here] === STEP ? step(here).post.map(([r]) => r) : []);
  const unknown = kind[here] === STEP && step(here).unknown;
  by("registers-title").textContent = unknown ? "Registers (not recorded at this row; last known)" : "Registers after this row";
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.register : undefined;
  const all = document.createDocumentFragment();
  for (const r of ORDER) {
    const e = document.createElement("button"), name = r < 16 ? NAMES[r] : "flags";
    let value = hex(state[r]);
    if (r === 16 && state[16] !== null && state[16] !== undefined) { const f = parseInt(state[16], 16); value = FLAGS.every(([b]) => f >> b + 16 & 1) ? "?" : FLAGS.filter(([b]) => (f | f >> 16) >> b & 1).map(([b, n]) => n + (f >> b + 16 & 1 ? "?" : "")).join(" ") || "-"; }
    e.dataset.register = r; e.title = "to the previous write of " + name;
    e.setAttribute("aria-label", name + " " + value + (changed.has(r) ? ", changed by this row" : ""));
    e.setAttribute("aria-pressed", r === chosen);
    if (changed.has(r)) e.className = "changed";
    span(e, "name", name); span(e, "", value);
    e.querySelectorAll("span").forEach((s) => s.removeAttribute("role"));
    e.addEventListener("click", () => { chosen = r; previousWrite(r); drawRegisters(); });
    all.append(e);
  }
  box.replaceChildren(all);
  if (focused !== undefined) { const again = box.querySelector('[data-register="' + focused + '"]'); if (again) again.focus(); }
}
function drawMemory() {
  const box = by("memory"), seen = new Map();
  if (!head.memory) { box.textContent = "not recorded; trace with --memory"; return; }
  for (let i = here, left = 4000; i >= 0 && left > 0 && seen.size < 48 && kind[i] !== CALL; i--, left--) {
    if (kind[i] !== STEP) continue;
    for (const m of step(i).memory) if (!seen.has(m.address)) seen.set(m.address, [i, m]);
  }
  const all = document.createDocumentFragment();
  // By address; words in the order in which they came up, behind all numbers.
  const rank = (a) => (a[0] === "$" ? 1e19 + 1e4 * +a.slice(1) : parseInt(a, 16));
  const sorted = [...seen.values()].sort((a, b) => rank(a[1].address) - rank(b[1].address));
  for (const [i, m] of sorted) {
    const e = document.createElement("div"), a = document.createElement("a");
    if (i === here) e.className = "now";
    a.href = "#call-" + call[i] + "-step-" + number[i]; a.textContent = "step " + number[i];
    e.append(hex(m.address) + "  " + String(m.size).padStart(2) + "  " + hex(m.value) + (m.text ? " " + m.text : "") + "  " + ({ r: "read", w: "written", u: "updated" })[m.access] + " by ", a);
    all.append(e);
  }
  if (!sorted.length) all.append("nothing yet");
  box.replaceChildren(all);
}

let codeHits = null, wordHits = null, plain = "";
function search(words_) {
  query = words_.trim().toLowerCase(); plain = query.replace(/^0x/, "");
  codeHits = query ? tables.codes.map((c) => (c[1] + " " + c[2] + " " + c[4]).toLowerCase().includes(query)) : null;
  wordHits = query ? (tables.words || []).map((w) => w.toLowerCase().includes(query)) : null;
  let count = 0;
  if (query) for (let i = 0; i < total; i++) if (matches(i)) count++;
  by("found").textContent = query ? count + (count === 1 ? " match" : " matches") : "";
  draw();
}
function matches(i) {
  if (kind[i] === STEP) {
    if (codeHits[code[i]]) return true;
    const l = lines[line[i]];
    if (wordHits.length && (l.split("\t").slice(3, 6).join().match(/\$\d+/g) || []).some((w) => wordHits[+w.slice(1)])) return true;
    return plain.length > 1 && l.toLowerCase().indexOf(plain, l.indexOf("\t", l.indexOf("\t") + 1)) >= 0;
  }
  return kind[i] === MARKER ? marker(i).text.toLowerCase().includes(query) : kind[i] === CALL && entry(i).name.toLowerCase().includes(query);
}
function find(way) {
  if (!query) return;
  for (let k = 1, i = here; k <= total; k++) { i = (i + way + total) % total; if (matches(i)) return go(i); }
}

function press(id, value) { by(id).setAttribute("aria-pressed", value); }
function keep(change) { change(); rebuild(); if (!visible(here)) { let v = Math.min(place[here], view.length - 1); here = view[Math.max(0, v - (view[v] > here ? 1 : 0))]; } go(here); }
function toggleLoops() { keep(() => { foldLoops = !foldLoops; openFolds.clear(); press("loops", foldLoops); }); }
function toggleCalls() { keep(() => { foldCalls = !foldCalls; closedCalls.clear(); press("calls", foldCalls); }); }
function toggleHere() {
  const i = here;
  if (kind[i] === FOLD) keep(() => { if (!openFolds.delete(i)) openFolds.add(i); });
  else if (calls(i)) keep(() => toggleCall(i));
  else if (foldLoops && fold[i] >= 0) { const f = fold[i]; keep(() => { openFolds.delete(f); here = f; }); }
}
function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}
function toHash() {
  const m = /^#call-(\d+)-step-(\d+)$/.exec(location.hash);
  if (!m) return false;
  let i = stepAt.get(m[1] + ":" + m[2]);
  if (i === undefined) for (let j = 0; j < total; j++) if (call[j] === +m[1] && number[j] >= +m[2]) { i = j; break; }
  if (i === undefined) return false;
  go(i);
  return true;
}

const page = () => Math.max(1, Math.floor(by("rows").clientHeight / HEIGHT) - 2);
const keys = {
  j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
  PageDown: () => move(page()), PageUp: () => move(-page()), Home: () => go(view[0]), End: () => go(view[view.length - 1]),
  o: () => over(1), O: () => over(-1), u: out, w: () => { if (chosen >= 0) previousWrite(chosen); },
  n: () => find(1), N: () => find(-1), l: toggleLoops, c: toggleCalls, Enter: toggleHere, t: theme,
  "/": () => { by("search").focus(); by("search").select(); }, "?": () => by("keys").showModal(),
};
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || by("keys").open) return;
  const inside = e.target;
  if (inside === by("search")) {
    if (e.key === "Enter") { find(e.shiftKey ? -1 : 1); e.preventDefault(); }
    if (e.key === "Escape") { by("rows").focus(); }
    return;
  }
  if (inside.closest && inside.closest("button, a") && (e.key === "Enter" || e.key === " ")) return;
  if (inside.closest && inside.closest("#source, #memory") && /^(Arrow|Page|Home|End)/.test(e.key)) return;
  const action = keys[e.key];
  if (action) { action(); e.preventDefault(); }
});
by("rows").addEventListener("scroll", () => { if (Math.floor(by("rows").scrollTop / HEIGHT) - 8 !== top) requestAnimationFrame(draw); });
by("space").addEventListener("click", (e) => {
  const row = e.target.closest(".row");
  if (!row) return;
  const i = +row.id.slice(1);
  go(i);
  if (kind[i] === FOLD) toggleHere();
});
by("search").addEventListener("input", (e) => search(e.target.value));
for (const [id, action] of [["first", keys.Home], ["back", keys.k], ["next", keys.j], ["last", keys.End], ["loops", toggleLoops], ["calls", toggleCalls], ["theme", theme], ["help", keys["?"]]]) by(id).addEventListener("click", action);
addEventListener("hashchange", toHash);
addEventListener("resize", draw);
addEventListener("beforeprint", () => {
  const most = 20000, table = document.createElement("table");
  view.slice(0, most).forEach((i, v) => {
    const r = table.insertRow();
    const cell = (t) => { r.insertCell().textContent = t; };
    if (kind[i] === STEP) { const c = tables.codes[code[i]]; cell(number[i]); cell(c[2] || c[1]); cell("\u00a0\u00a0".repeat(depth[i]) + text(i)); cell(changes(i, stateAfter(i - 1))); }
    else { r.className = kind[i] === CALL ? "call" : "marker"; const t = r.insertCell(); t.colSpan = 4; t.textContent = words(i); }
  });
  by("print").replaceChildren(table, view.length > most ? "… " + (view.length - most) + " more rows" : "");
});

by("title").textContent = head.subject;
by("about").textContent = head.about;
document.documentElement.classList.add("ready");
rebuild();
if (total === 0) by("rows").textContent = "the trace has no rows";
else if (!toHash()) go(view[Math.min(1, view.length - 1)], false);
by("rows").focus();
})();
