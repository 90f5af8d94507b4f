// Memory as a call's rows saw it, byte by byte.

// What a call touched, by region and address. Places without an address that can be compared are regions of their own.
function touchedBy(c) {
  const touched = callPlaces.get(c);
  if (!touched.sorted) {
    const { begin, end } = touched, regions = new Map([["", 0]]);
    const region = new Int32Array(end - begin), offset = new Float64Array(end - begin), sorted = new Int32Array(end - begin);
    let largest = 0;
    for (let place = begin; place < end; place++) {
      const [name, at] = locate(places.address[place]);
      if (!regions.has(name)) regions.set(name, regions.size);
      region[place - begin] = regions.get(name); offset[place - begin] = at; sorted[place - begin] = place;
      largest = Math.max(largest, places.size[place]);
    }
    sorted.sort((p, q) => region[p - begin] - region[q - begin] || offset[p - begin] - offset[q - begin] || places.size[p] - places.size[q]);
    const first = sorted.map((place) => places.first[place]), shown = new Int32Array(end - begin);
    Object.assign(touched, { sorted, region, offset, largest, first, shown });
  }
  return touched;
}
// Region and offset: digits that a number holds exactly, or words such as `stack-0x8`.
function locate(address) {
  if (address[0] !== "$") return address.length <= 13 ? ["", parseInt(address, 16)] : [address.slice(0, -8), parseInt(address.slice(-8), 16)];
  const words = tables.words[+address.slice(1)], parts = /^(.*[^?])([+-])0x([0-9a-f]+)$/.exec(words);
  return parts ? [parts[1], (parts[2] === "-" ? -1 : 1) * parseInt(parts[3], 16)] : [words, 0];
}
// The last access to a place up to an item, or -1.
function lastAccess(place, item) {
  const { starts, list } = places.of;
  let begin = starts[place], end = starts[place + 1];
  while (begin < end) { const middle = (begin + end) >> 1; if (accesses.item[list[middle]] <= item) begin = middle + 1; else end = middle; }
  return begin > starts[place] ? list[begin - 1] : -1;
}
function accessAt(a) {
  let at = accesses.at[a], end = at;
  for (let c = data.charCodeAt(end); c !== SEMICOLON && c !== TAB && c !== NEWLINE && c === c;) c = data.charCodeAt(++end);
  return memoryOf(data.slice(at, end));
}
// What lies at the place with this index among those sorted, as known behind an item, and the access that touched it last.
function contents(touched, index, item) {
  const { sorted, begin, largest } = touched, place = sorted[index], size = places.size[place];
  const region = touched.region[place - begin], offset = touched.offset[place - begin], over = [];
  const consider = (other) => { const a = lastAccess(other, item); if (a >= 0) over.push(a); };
  consider(place);
  for (let k = index - 1; k >= 0; k--) {
    const other = sorted[k], at = touched.offset[other - begin];
    if (touched.region[other - begin] !== region || at + largest <= offset) break;
    if (at + places.size[other] > offset) consider(other);
  }
  for (let k = index + 1; k < sorted.length; k++) {
    const other = sorted[k];
    if (touched.region[other - begin] !== region || touched.offset[other - begin] >= offset + size) break;
    consider(other);
  }
  over.sort((a, b) => a - b);
  const latest = over[over.length - 1], whole = accessAt(latest);
  if (accesses.place[latest] === place) return { by: latest, access: whole.access, value: hex(whole.value), text: whole.text };
  const bytes = new Array(size).fill("??");
  for (const a of over) {
    const m = accessAt(a), from = touched.offset[accesses.place[a] - begin] - offset;
    const digits = m.value[0] === "$" ? null : m.value.padStart(2 * m.size, "0");
    for (let k = 0; k < m.size; k++) if (from + k >= 0 && from + k < size) bytes[from + k] = digits ? digits.substr(2 * (m.size - 1 - k), 2) : "??";
  }
  const value = bytes.reverse().join("");
  return { by: latest, access: whole.access, value: value.includes("?") ? (/[^?]/.test(value) ? "0x" + value : "?") : "0x" + (value.replace(/^0+/, "") || "0"), text: "" };
}

let memoryList = null, memoryOfCall = null, memoryShown = [];
function memoryRow(k) {
  const index = memoryShown[k], place = memoryOfCall.sorted[index], { by: a, access: how, value, text: words_ } = contents(memoryOfCall, index, here);
  const i = accesses.item[a], e = document.createElement("div"), link = document.createElement("a");
  e.className = i === here ? "memory now" : "memory";
  link.href = "#call-" + call[i] + "-step-" + number[i]; link.textContent = "step " + number[i];
  e.append(hex(places.address[place]) + "  " + String(places.size[place]).padStart(2) + "  " + value + (words_ ? " " + words_ : "") + "  " + ({ r: "read", w: "written", u: "updated" })[how] + " by ", link);
  return e;
}
function drawMemory() {
  const box = by("memory");
  if (!head.memory) { box.textContent = "not recorded; trace with --memory"; return; }
  if (!memoryList) memoryList = new List(box, by("memory-space"), 18, memoryRow);
  memoryOfCall = touchedBy(call[here]);
  const { sorted, first, shown } = memoryOfCall;
  const a = upTo(accesses.item, here) - 1, touchedNow = a >= 0 && accesses.item[a] === here ? accesses.place[a] : -1;
  let now = -1, count = 0;
  for (let index = 0; index < sorted.length; index++) {
    if (first[index] > here) continue;
    if (sorted[index] === touchedNow) now = count;
    shown[count++] = index;
  }
  memoryShown = shown;
  memoryList.renew(count);
  if (now >= 0) memoryList.reveal(now, 1);
  memoryList.draw();
  by("memory-title").textContent = "Memory touched so far in this call: " + (count === 1 ? "1 place" : count + " places");
}
