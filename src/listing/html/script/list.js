// Rows of one height in a box that scrolls: as many elements as are in sight, made when they come there.
class List {
  constructor(box, space, height, make) {
    Object.assign(this, { box, space, height, make, count: 0, elements: new Map(), top: 0, bottom: 0, at: box.scrollTop, tall: 0 });
    // Kept, since to ask the browser for them costs a layout.
    new ResizeObserver(() => { this.measure(); this.draw(); }).observe(box);
    box.addEventListener("scroll", () => {
      this.at = box.scrollTop;
      if (!this.waiting) { this.waiting = true; requestAnimationFrame(() => { this.waiting = false; this.draw(); }); }
    });
    this.measure();
  }
  measure() { this.tall = this.box.clientHeight; }
  // Other rows, all of them.
  renew(count) {
    this.count = count;
    this.space.style.height = count * this.height + "px";
    this.at = Math.min(this.at, Math.max(0, count * this.height - this.tall));
    this.elements.clear();
    this.space.replaceChildren();
  }
  draw() {
    const top = Math.max(0, Math.floor(this.at / this.height) - 4);
    const bottom = Math.min(this.count, Math.ceil((this.at + this.tall) / this.height) + 4);
    for (const [index, element] of this.elements) if (index < top || index >= bottom) { element.remove(); this.elements.delete(index); }
    // In order, for who reads the document and not the screen.
    let before = null;
    for (let index = top; index < bottom; index++) {
      let element = this.elements.get(index);
      if (!element) {
        element = this.make(index);
        element.style.top = index * this.height + "px";
        this.elements.set(index, element);
        if (before) before.after(element); else this.space.prepend(element);
      }
      before = element;
    }
  }
  // Scrolls to a row, if it is not in sight: to `margin` rows from the edge, or to the middle from farther away.
  reveal(index, margin) {
    const at = index * this.height, most = Math.max(0, this.count * this.height - this.tall), room = margin * this.height;
    let to = this.at;
    if (at < this.at - this.tall || at > this.at + 2 * this.tall) to = at - this.tall / 2;
    else if (at < this.at + room) to = at - room;
    else if (at + this.height > this.at + this.tall - room) to = at + this.height + room - this.tall;
    to = Math.round(Math.max(0, Math.min(most, to)));
    if (to !== Math.round(this.at)) { this.at = to; this.box.scrollTop = to; }
  }
}
