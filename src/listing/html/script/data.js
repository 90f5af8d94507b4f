// The rows as they were written, and where to find in them what a step is asked for.
const by = (id) => document.getElementById(id);
const head = JSON.parse(by("data-head").textContent);
const tables = JSON.parse(by("data-tables").textContent);
const data = by("data-rows").textContent;
const NAMES = ["rax","rcx","rdx","rbx","rsp","rbp","rsi","rdi","r8","r9","r10","r11","r12","r13","r14","r15"];
const FLAGS = [[0,"CF"],[2,"PF"],[4,"AF"],[6,"ZF"],[7,"SF"],[10,"DF"],[11,"OF"]];
const ORDER = [0,3,1,2,7,6,5,4,8,9,10,11,12,13,14,15,16];
const STEP = 0, MARKER = 1, CALL = 2, FOLD = 3;
const TAB = 9, NEWLINE = 10, COMMA = 44, ZERO = 48, NINE = 57, SEMICOLON = 59, EQUALS = 61, UNKNOWN = 63;

// Items in order: what the trace has, and a fold before the rows it hides. `line` is where an item's line begins in
// `data`; of a fold, its index among those of the call.
const kind = [], line = [], call = [], number = [], depth = [], code = [], fold = [];
// The item that each call begins with.
const callItems = new Map();

// Of each register, the items that give it a value, in order, and where the value stands in `data`: behind the item's
// own effect, or, if `own` is 0, seen to have changed before it. -1 where nothing is known from there on.
const given = Array.from({ length: 17 }, () => ({ items: [], values: [], own: [] }));
function give(r, item, value, own) { const g = given[r]; g.items.push(item); g.values.push(value); g.own.push(own); }

// Memory accesses in order, and the places they went to: one per call, address and size.
const accesses = { item: [], at: [], place: [] };
const places = { first: [], size: [], address: [], of: null };
const callPlaces = new Map();
let placeIndex = new Map();
function access(item, at) {
  const key = data.slice(at + 1, data.indexOf("=", at));
  let place = placeIndex.get(key);
  if (place === undefined) {
    place = places.first.length;
    placeIndex.set(key, place);
    const split = key.indexOf("@");
    places.first.push(item); places.size.push(+key.slice(0, split)); places.address.push(key.slice(split + 1));
  }
  accesses.item.push(item); accesses.at.push(at); accesses.place.push(place);
}

// Reads `index=value,index=value` up to the next tab or the end of the line.
function readRegisters(at, item, own) {
  for (let c = data.charCodeAt(at); c !== TAB && c !== NEWLINE && c === c;) {
    if (c === UNKNOWN) { at++; break; }
    let r = 0;
    for (; c !== EQUALS; c = data.charCodeAt(++at)) r = r * 10 + c - ZERO;
    give(r, item, ++at, own);
    for (c = data.charCodeAt(at); c !== COMMA && c !== TAB && c !== NEWLINE && c === c;) c = data.charCodeAt(++at);
    if (c === COMMA) c = data.charCodeAt(++at);
  }
  return at;
}
// Reads `access size@address=value "text";…`; what would end an access or a line is escaped in the text.
function readMemory(at, item) {
  for (let c = SEMICOLON; c === SEMICOLON; c = data.charCodeAt(at++)) {
    access(item, at);
    for (c = data.charCodeAt(at); c !== SEMICOLON && c !== TAB && c !== NEWLINE && c === c;) c = data.charCodeAt(++at);
  }
}
function readCall(at, item) {
  const end = data.indexOf("\n", at), fields = data.slice(at, end).split("\t");
  const c = +fields[0].slice(1);
  let value = fields[3] ? end - fields[3].length : -1;
  for (let r = 0; r < 17; r++) {
    give(r, item, value, 1);
    if (value >= 0) value = data.indexOf(",", value) + 1;
  }
  if (callPlaces.size) [...callPlaces.values()].pop().end = places.first.length;
  callPlaces.set(c, { begin: places.first.length, end: 0, sorted: null });
  placeIndex = new Map();
  return c;
}
function add(k, l, c, n, d, x, f) { kind.push(k); line.push(l); call.push(c); number.push(n); depth.push(d); code.push(x); fold.push(f); }
(() => {
  let c = 0, n = 0, folds = [], at = 0, open = -1;
  for (let i = 0, next; i < data.length; i = next) {
    next = data.indexOf("\n", i) + 1 || data.length;
    const first = data[i];
    if (first === "\n") continue;
    if (first === "#") {
      c = readCall(i, kind.length);
      n = 0; folds = tables.folds[c] || []; at = 0; open = -1;
      callItems.set(c, kind.length);
      add(CALL, i, c, 0, 0, -1, -1);
      continue;
    }
    if (first === "!") { add(MARKER, i, c, n, depth[depth.length - 1] || 0, -1, open); continue; }
    let p = i, digit, x = 0, d = 0;
    const named = data.charCodeAt(p) !== TAB;
    let m = 0;
    while ((digit = data.charCodeAt(p++)) !== TAB) m = m * 10 + digit - ZERO;
    n = named ? m : n + 1;
    while ((digit = data.charCodeAt(p++)) !== TAB) x = x * 10 + digit - ZERO;
    while ((digit = data.charCodeAt(p)) >= ZERO && digit <= NINE) { d = d * 10 + digit - ZERO; p++; }
    while (at < folds.length && folds[at][1] <= n) { at++; open = -1; }
    if (at < folds.length && folds[at][0] <= n) {
      if (open < 0) { add(FOLD, at, c, n, d, -1, kind.length); open = kind.length - 1; }
    } else open = -1;
    const item = kind.length;
    add(STEP, i, c, n, d, x, open);
    if (data.charCodeAt(p) === TAB) p = readRegisters(p + 1, item, 0);
    if (data.charCodeAt(p) === TAB) p = readRegisters(p + 1, item, 1);
    // Behind a tab stands the field of what else there is.
    if (data.charCodeAt(p) === TAB && data.charCodeAt(p + 1) !== TAB) readMemory(p + 1, item);
  }
  if (callPlaces.size) [...callPlaces.values()].pop().end = places.first.length;
  // The accesses of each place, one place behind the other.
  const starts = new Int32Array(places.first.length + 1), list = new Int32Array(accesses.place.length);
  for (const place of accesses.place) starts[place + 1]++;
  for (let place = 0; place < places.first.length; place++) starts[place + 1] += starts[place];
  const filled = starts.slice();
  accesses.place.forEach((place, a) => { list[filled[place]++] = a; });
  places.of = { starts, list };
  placeIndex = null;
})();
const total = kind.length;

// How many of the first `end` of `list`, from `begin` on, are at most `most`; they ascend.
function upTo(list, most, begin = 0, end = list.length) {
  while (begin < end) { const middle = (begin + end) >> 1; if (list[middle] <= most) begin = middle + 1; else end = middle; }
  return begin;
}
// The item of a step, or of the one behind it that there is; undefined if the call has none.
function itemOf(c, n) {
  const begin = callItems.get(c);
  if (begin === undefined) return undefined;
  let i = begin + 1, end = begin + 1, width = 1;
  // The call's end lies within twice the way there.
  while (end < total && call[end] === c && number[end] < n) { i = end; end = Math.min(total, end + width); width *= 2; }
  for (let most = end; i < most;) { const middle = (i + most) >> 1; if (call[middle] === c && number[middle] < n) i = middle + 1; else most = middle; }
  while (i < total && call[i] === c && kind[i] !== STEP) i++;
  return i < total && call[i] === c ? i : undefined;
}
// The digits or the word that stand at a place of `data`.
function valueAt(at) {
  if (at < 0) return null;
  let end = at;
  for (let c = data.charCodeAt(end); c === 36 || c >= ZERO && c <= NINE || c >= 97 && c <= 102; c = data.charCodeAt(++end));
  return data.slice(at, end);
}
// A register behind an item; null where it is not known.
function register(r, item) {
  const k = upTo(given[r].items, item);
  return k ? valueAt(given[r].values[k - 1]) : null;
}
// The last item before this one that wrote the register itself.
function writer(r, item) {
  const { items, own } = given[r];
  for (let k = upTo(items, item - 1) - 1; k >= 0; k--) if (own[k]) return items[k];
  return -1;
}

// One step, taken apart when it is looked at.
const lineOf = (i) => { const end = data.indexOf("\n", line[i]); return data.slice(line[i], end < 0 ? undefined : end); };
function step(i) {
  const f = lineOf(i).split("\t");
  const regs = (t) => (t ? t.split(",").map((p) => { const q = p.split("="); return [+q[0], q[1]]; }) : []);
  return { pre: regs(f[3]), unknown: f[4] === "?", post: f[4] === "?" ? [] : regs(f[4]),
    memory: f[5] ? f[5].split(";").map(memoryOf) : [], more: f[6] ? JSON.parse(f[6]) : NOTHING };
}
const NOTHING = {};
function memoryOf(t) {
  const at = t.indexOf("@"), equals = t.indexOf("=", at), space = t.indexOf(" ", equals);
  return { access: t[0], size: +t.slice(1, at), address: t.slice(at + 1, equals),
    value: t.slice(equals + 1, space < 0 ? undefined : space), text: space < 0 ? "" : JSON.parse(t.slice(space + 1)) };
}
function entry(i) {
  const f = lineOf(i).split("\t");
  return { call: +f[0].slice(1), thread: f[1], name: f[2] ? JSON.parse(f[2]) : "" };
}
const marker = (i) => JSON.parse(lineOf(i).split("\t")[1]);
