// Finds what rows display, and the digits behind what they shorten. Rows are searched a few milliseconds at a time.
let query = "", codeHits = [], lineHits = [], wordHits = [], digits = "";
// The items found so far, the one to be looked at next, and which way to go once all are known.
let hits = [], searched = 0, wish = 0, searching = 0;

const plainSpaces = (words_) => words_.replace(/ {2,}/g, " ").toLowerCase();
function search(words_) {
  const asked = plainSpaces(words_.trim());
  if (asked === "" && query === "") return;
  query = asked;
  digits = query.replace(/^0x/, "");
  const has = (words_) => plainSpaces(words_).includes(query);
  if (query) {
    codeHits = tables.codes.map((c) => has(c[1]) || has(c[2]) || has(c[4]));
    lineHits = tables.locations.map((frames) => frames.some(([f, l]) => {
      const { name, lines } = tables.files[f];
      return has(name + ":" + l) || lines && lines[l - 1] !== undefined && has(lines[l - 1].trim());
    }));
    wordHits = (tables.words || []).map(has);
  }
  hits = []; searched = 0; wish = 0;
  goOn();
  for (const [index, e] of rowList.elements) e.classList.toggle("hit", query !== "" && matches(view[index]));
}
function goOn() {
  clearTimeout(searching);
  const until = performance.now() + 8;
  while (query && searched < total) {
    if (matches(searched)) hits.push(searched);
    if (++searched % 64 === 0 && performance.now() > until) { searching = setTimeout(goOn, 0); break; }
  }
  const all = !query || searched >= total;
  by("found").textContent = query ? hits.length + (hits.length === 1 ? " match" : " matches") + (all ? "" : " …") : "";
  if (all && wish) { const way = wish; wish = 0; find(way); }
}
function matches(i) {
  if (kind[i] === CALL) return plainSpaces(callWords(i)).includes(query);
  if (kind[i] === MARKER) return plainSpaces(marker(i)).includes(query);
  if (kind[i] === FOLD) return foldLoops && plainSpaces(foldWords(i)).includes(query);
  if (codeHits[code[i]] || String(number[i]) === query) return true;
  const where = tables.codes[code[i]][6];
  if (where >= 0 && lineHits[where]) return true;
  const s = step(i);
  if (plainSpaces(changes(i, s)).includes(query)) return true;
  if (s.more !== NOTHING && plainSpaces(text(i, s.more)).includes(query)) return true;
  // Digits that a row shortens.
  const said = (v) => (v[0] === "$" ? wordHits[+v.slice(1)] : digits.length > 1 && v.includes(digits));
  return s.post.some(([r, v]) => r < 16 && said(v)) || s.memory.some((m) => said(m.address) || said(m.value));
}
function find(way) {
  if (!query) return;
  if (searched < total) { wish = way; return; }
  if (!hits.length) return;
  const k = way > 0 ? upTo(hits, here) : upTo(hits, here - 1) - 1;
  go(hits[(k + hits.length) % hits.length]);
}
