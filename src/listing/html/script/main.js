// What is shown, and what keys and clicks do.

// What is folded, and so which items are to be seen.
const openFolds = new Set(), closedCalls = new Set();
const HEIGHT = 20;
let foldLoops = false, foldCalls = false, view = new Int32Array(0), place = new Int32Array(total);
function calls(i) { return kind[i] === STEP && tables.codes[code[i]][5] === 1 && i + 1 < total && deeper(i) >= 0; }
function deeper(i) { for (let j = i + 1; j < total && kind[j] !== CALL; j++) if (kind[j] === STEP) return depth[j] > depth[i] ? j : -1; return -1; }
function isClosed(i) { return closedCalls.has(i) !== foldCalls && calls(i); }
function rebuild() {
  const seen = new Int32Array(total);
  let below = -1, count = 0;
  for (let i = 0; i < total; i++) {
    place[i] = count;
    if (kind[i] === CALL) below = -1;
    if (below >= 0) { if (kind[i] === CALL || kind[i] === STEP && depth[i] <= below) below = -1; else continue; }
    if (kind[i] === FOLD) { if (!foldLoops) continue; }
    else if (fold[i] >= 0 && foldLoops && !openFolds.has(fold[i])) continue;
    seen[count++] = i;
    if ((foldCalls || closedCalls.size) && isClosed(i)) below = depth[i];
  }
  view = seen.subarray(0, count);
  rowList.renew(count);
  by("rows").setAttribute("aria-rowcount", count);
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
// What a row changed, in words: registers, flags, memory, and whatever else is to be said.
function changes(i, s = step(i)) {
  const words_ = [];
  if (s.more.s) words_.push(s.more.s);
  const before = (r) => { const unseen = s.pre.find(([q]) => q === r); return unseen ? unseen[1] : register(r, i - 1); };
  for (const [r, v] of s.post) {
    const was = before(r);
    if (r < 16) words_.push(NAMES[r] + " " + hex(was) + "→" + after(was, v) + (s.more.t && s.more.t[r] ? " " + s.more.t[r] : ""));
    else if (was !== null) {
      const a = parseInt(was, 16), b = parseInt(v, 16);
      const flags = FLAGS.filter(([bit]) => (a ^ b) >> bit & 1).map(([bit, name]) => (b >> bit & 1 ? "+" : "-") + name);
      if (flags.length) words_.push(flags.join(" "));
    }
  }
  for (const m of s.memory) words_.push(ACCESS[m.access] + " " + (s.more.e ? "up to " : "") + m.size + " [" + hex(m.address) + "]=" + hex(m.value) + (m.text ? " " + m.text : "") + (s.more.w > m.size ? " … " + m.size + " of " + s.more.w + " bytes" : ""));
  if (s.more.v) words_.push(s.more.v);
  return words_.join("  ");
}
const ACCESS = { r: "read", w: "write", u: "update" };
function text(i, more = step(i).more) {
  return tables.codes[code[i]][4] + (more.x !== undefined ? " ×" + more.x : "") + (more.a || "");
}
const foldWords = (i) => tables.folds[call[i]][line[i]][2];
function callWords(i) { const c = entry(i); return "call " + c.call + (c.name ? ": " + c.name : ": its beginning is missing") + (c.thread ? ", thread " + c.thread : ""); }

let here = 0, chosen = -1;
function rowElement(index) {
  const i = view[index], e = document.createElement("div");
  e.id = "i" + i; e.className = "row"; e.setAttribute("role", "row");
  e.setAttribute("aria-rowindex", index + 1);
  if (kind[i] === CALL) {
    e.classList.add("call");
    span(e, "", callWords(i));
  } else if (kind[i] === MARKER) {
    e.classList.add("marker"); span(e, "", "── " + marker(i));
  } else if (kind[i] === FOLD) {
    e.setAttribute("aria-expanded", openFolds.has(i));
    e.classList.add("fold"); span(e, "", (openFolds.has(i) ? "▾  " : "▸  ") + foldWords(i));
  } else {
    const c = tables.codes[code[i]], s = step(i);
    if (s.more.b) e.classList.add("bad");
    span(e, "n", number[i] + (s.more.m || ""));
    span(e, "symbol", c[2] || c[1]);
    span(e, "text", "  ".repeat(Math.min(depth[i], 8)) + (depth[i] > 8 ? "⋯" + depth[i] + " " : "") + (isClosed(i) ? "▸ " : "") + text(i, s.more));
    if (calls(i)) e.setAttribute("aria-expanded", !isClosed(i));
    e.querySelector(".text").title = text(i, s.more);
    span(e, "changed", changes(i, s));
    e.querySelector(".symbol").title = [c[2], c[1], c[0], c[3]].filter((it) => it).join("\n");
  }
  if (query && matches(i)) e.classList.add("hit");
  if (i === here) { e.classList.add("here"); e.setAttribute("aria-selected", "true"); }
  return e;
}
const rowList = new List(by("rows"), by("space"), HEIGHT, rowElement);
function mark(item, on) {
  const e = rowList.elements.get(place[item]);
  if (!e || e.id !== "i" + item) return;
  e.classList.toggle("here", on);
  if (on) e.setAttribute("aria-selected", "true"); else e.removeAttribute("aria-selected");
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
  mark(here, false);
  here = i;
  mark(here, true);
  rowList.reveal(place[here], 2);
  rowList.draw();
  by("rows").setAttribute("aria-activedescendant", "i" + here);
  drawSource(); drawRegisters(); drawMemory();
  remember();
  if (say) by("live").textContent = words(i);
}
// The address of the page follows. Browsers allow a few hundred such changes in some seconds, and drop the rest.
let changesLeft = 100, later = 0;
setInterval(() => { changesLeft = Math.min(100, changesLeft + 10); }, 1000);
function remember() {
  clearTimeout(later);
  if (changesLeft <= 0) { later = setTimeout(remember, 300); return; }
  changesLeft--;
  if (call[here]) history.replaceState(null, "", "#call-" + call[here] + "-step-" + number[here]);
}
function words(i) {
  if (kind[i] === CALL) { const c = entry(i); return "call " + c.call + ", " + c.name; }
  if (kind[i] === MARKER) return marker(i);
  if (kind[i] === FOLD) return foldWords(i);
  return "step " + number[i] + ", " + (tables.codes[code[i]][2] || tables.codes[code[i]][1]) + ", " + text(i) + ", " + changes(i);
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
  const i = writer(r, here);
  if (i >= 0 && call[i] === call[here]) go(i);
}

function sourceLine(k) {
  const e = document.createElement("div"), number_ = document.createElement("span");
  e.className = k === sourceHere ? "line here" : "line"; number_.className = "number"; number_.textContent = k + 1;
  if (k === sourceHere) e.setAttribute("aria-current", "true");
  e.append(number_, tables.files[sourceShown].lines[k]);
  return e;
}
const sourceList = new List(by("source"), by("source-space"), 18, sourceLine);
// The file shown, and its line; -1 for what is said in their place.
let sourceShown = -2, sourceHere = -1;
function say(words_) {
  sourceShown = -1; sourceHere = -1;
  sourceList.renew(0);
  by("source-space").textContent = words_;
}
function drawSource() {
  const where = kind[here] === STEP ? tables.codes[code[here]][6] : -1;
  if (where < 0) {
    by("source-title").textContent = "Source";
    if (sourceShown !== -1) say(tables.locations.length ? "no line is known for this row" : "listed without --source, or the program has no debug information");
    return;
  }
  const frames = tables.locations[where], [f, l] = frames[0], file = tables.files[f];
  by("source-title").textContent = file.name + ":" + l + (frames.length > 1 ? " · inlined from " + frames.slice(1).map(([g, m]) => tables.files[g].name + ":" + m).join(" ← ") : "");
  if (!file.lines) return say("the file could not be read");
  if (sourceShown !== f) { sourceShown = f; sourceList.renew(file.lines.length); }
  const redraw = (k) => { const e = sourceList.elements.get(k); if (e) { e.remove(); sourceList.elements.delete(k); } };
  redraw(sourceHere);
  sourceHere = l - 1;
  redraw(sourceHere);
  sourceList.reveal(sourceHere, 1);
  sourceList.draw();
}

const buttons = ORDER.map((r) => {
  const e = document.createElement("button"), name = r < 16 ? NAMES[r] : "flags", value = document.createElement("span"), note = document.createElement("span"), label = document.createElement("span");
  label.className = "name"; label.textContent = name; note.className = "unseen";
  e.dataset.register = r; e.title = "to the previous write of " + name;
  e.append(label, " ", value, note);
  e.addEventListener("click", () => { chosen = r; previousWrite(r); drawRegisters(); });
  by("registers").append(e);
  return { r, e, value, note };
});
function drawRegisters() {
  const s = kind[here] === STEP ? step(here) : null, changed = new Set(s ? s.post.map(([r]) => r) : []);
  by("registers-title").textContent = s && s.unknown ? "Registers (not recorded at this row; last known)" : "Registers after this row";
  for (const { r, e, value, note } of buttons) {
    const now = register(r, here);
    let shown = hex(now);
    if (r === 16 && now !== null) { const f = parseInt(now, 16); shown = FLAGS.every(([b]) => f >> b + 16 & 1) ? "?" : FLAGS.filter(([b]) => (f | f >> 16) >> b & 1).map(([b, n]) => n + (f >> b + 16 & 1 ? "?" : "")).join(" ") || "-"; }
    if (value.textContent !== shown) value.textContent = shown;
    note.textContent = changed.has(r) ? ", changed by this row" : "";
    e.classList.toggle("changed", changed.has(r));
    e.setAttribute("aria-pressed", r === chosen);
  }
}

function press(id, value) { by(id).setAttribute("aria-pressed", value); }
function keep(change) { change(); rebuild(); if (!visible(here)) { let v = Math.min(place[here], view.length - 1); here = view[Math.max(0, v - (view[v] > here ? 1 : 0))]; } go(here); }
function toggleLoops() { keep(() => { foldLoops = !foldLoops; openFolds.clear(); press("loops", foldLoops); }); search(query); }
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
  // Step 0 is the call's beginning.
  const i = +m[2] ? itemOf(+m[1], +m[2]) : callItems.get(+m[1]);
  // A link to another run, or to rows that were not selected.
  const missing = i === undefined || number[i] !== +m[2];
  by("about").textContent = head.about + (missing ? " · there is no step " + m[2] + " of call " + m[1] + " on this page" : "");
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
addEventListener("beforeprint", () => {
  const most = 20000, table = document.createElement("table");
  view.slice(0, most).forEach((i, v) => {
    const r = table.insertRow();
    const cell = (t) => { r.insertCell().textContent = t; };
    if (kind[i] === STEP) { const c = tables.codes[code[i]]; cell(number[i]); cell(c[2] || c[1]); cell("\u00a0\u00a0".repeat(depth[i]) + text(i)); cell(changes(i)); }
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
