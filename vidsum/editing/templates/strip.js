// the film as a row of pictures: a cell per unit, frames around what is in the result, ends to drag
const SCALE = 22, NARROWEST = 112, WIDEST = 260; // pixels of a second, of a cell
const REACH = 600; // pixels ahead and behind that are drawn too
const MOST = 120; // cells that are drawn; their pictures are all that the page has, but for one
const NEAR = 9; // pixels within which an end snaps
const LEAST_S = .2;

const byId = id => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const svg = ["svg", "polyline"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter(child => child !== null && child !== ""));
  return element;
};
const tenths = seconds => { const all = Math.round(10 * seconds); return `${clock(all / 10)}.${all % 10}`; };
// the number of the last entry that is not above a value, in a list in order; 0 where all are above
const lastUpTo = (list, value, of = each => each) => {
  let low = 0, high = list.length;
  while (high - low > 1) { const middle = (low + high) >> 1; if (of(list[middle]) <= value) low = middle; else high = middle; }
  return low;
};
const overlap = (a, b) => Math.min(a[1], b[1]) - Math.max(a[0], b[0]);

// `film` is what the server describes; `acts` has toggle(number), move(part, to), look(time), play(time)
class Strip {
  constructor(box, film, acts) {
    Object.assign(this, { box, film, acts, current: 0, parts: [], cells: new Map(), turn: Promise.resolve() });
    this.widths = film.units.map(([start, end]) => Math.min(Math.max(SCALE * (end - start), NARROWEST), WIDEST));
    this.lefts = [0];
    for (const width of this.widths) this.lefts.push(this.lefts.at(-1) + width);
    this.choose(0);
    this.band = make("div", { class: "band" });
    this.frames = make("div", { class: "frames" });
    this.head = make("div", { class: "head", "aria-hidden": "true" });
    this.band.style.width = `${this.lefts.at(-1)}px`;
    this.band.append(this.head);
    box.replaceChildren(this.band);
    box.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()));
    new ResizeObserver(() => this.draw()).observe(box);
    this.band.append(this.frames);
  }

  // the curve of a group, in the cells that are drawn too
  choose(number) {
    this.scores = this.film.curves[number] ?? [];
    this.top = this.scores.reduce((top, score) => Math.max(top, score), 1e-9);
    for (const cell of this.cells.values()) cell.remove();
    this.cells.clear();
  }

  // the unit at a time, its place in the row, and back; linear within each cell
  unitAt(time) {
    return lastUpTo(this.film.units, time + 1e-6, unit => unit[0]);
  }
  x(time) {
    const number = this.unitAt(time), [start, end] = this.film.units[number];
    const share = end > start ? (time - start) / (end - start) : 0;
    return this.lefts[number] + Math.min(Math.max(share, 0), 1) * this.widths[number];
  }
  time(x) {
    const at = Math.min(lastUpTo(this.lefts, x), this.widths.length - 1);
    const [start, end] = this.film.units[at];
    return start + Math.min(Math.max((x - this.lefts[at]) / this.widths[at], 0), 1) * (end - start);
  }

  partsIn(number) { return this.parts.filter(part => overlap([part.start_s, part.end_s], this.film.units[number]) > 1e-3); }
  isIn(number) { return this.partsIn(number).length > 0; }
  partAt(number) {
    const unit = this.film.units[number];
    return this.partsIn(number).sort((a, b) => overlap([b.start_s, b.end_s], unit) - overlap([a.start_s, a.end_s], unit))[0];
  }
  text(number) {
    const [start, end] = this.film.units[number];
    return this.film.sentences.filter(([from, to]) => overlap([from, to], [start, end]) > Math.min(1, (to - from) / 2)).map(said => said[2]).join(" ");
  }
  label(number) {
    const [start, end] = this.film.units[number], parts = this.partsIn(number);
    if (this.film.kind === "chapters") return `${clock(start)} to ${clock(end)}, in ${parts.map(part => part.title).join(" and ")}`;
    const state = parts.length ? `in the result${parts.some(part => part.by_hand) ? ", by hand" : ""}` : { trim: "removed", moments: "no moment" }[this.film.kind] ?? "left out";
    return `${clock(start)} to ${clock(end)}, ${state}`;
  }

  show(parts) {
    this.parts = parts;
    for (const [number, cell] of this.cells) this.mark(number, cell);
    this.drawFrames();
  }
  draw() {
    const low = this.box.scrollLeft - REACH, high = this.box.scrollLeft + this.box.clientWidth + REACH;
    let first = lastUpTo(this.lefts, low);
    const visible = [];
    while (first < this.widths.length && this.lefts[first] < high && visible.length < MOST) visible.push(first++);
    for (const [number, cell] of this.cells) {
      if (!visible.includes(number) && !cell.contains(document.activeElement)) { cell.remove(); this.cells.delete(number); }
    }
    for (const number of visible) {
      if (this.cells.has(number)) continue;
      const cell = this.cell(number);
      this.cells.set(number, cell);
      this.band.insertBefore(cell, this.frames);
      this.mark(number, cell);
    }
    this.drawFrames();
    this.box.dispatchEvent(new Event("drawn"));
  }
  cell(number) {
    const [start, end] = this.film.units[number], text = this.text(number);
    const cell = make("div", { class: "cell", "data-number": number },
      this.curve(number),
      make("button", { type: "button", class: "shot", tabindex: -1, title: text || null, onclick: () => { this.go(number, true); this.acts.toggle(number); } },
        make("img", { src: `/picture/${number}.jpg`, alt: "", decoding: "async", draggable: "false" }),
        make("span", { class: "mark", "aria-hidden": "true" })),
      make("p", { class: "under", "aria-hidden": "true" }, make("b", {}, clock(start)), ` ${text || `${(end - start).toFixed(0)} s`}`),
      make("button", { type: "button", class: "look", tabindex: -1, "aria-label": `Play from ${clock(start)}`, title: "Play from here", onclick: () => { this.go(number); this.acts.play(start); } }, "▶"));
    cell.style.left = `${this.lefts[number]}px`;
    cell.style.width = `${this.widths[number]}px`;
    return cell;
  }
  curve(number) {
    const [start, end] = this.film.units[number], times_s = this.film.times_s, scores = this.scores;
    const first = lastUpTo(times_s, start);
    const points = [];
    for (let at = first; at < scores.length && times_s[at] <= end; at += 1) points.push([Math.max(times_s[at], start), scores[at]]);
    if (!points.length) points.push([start, -.1]);
    const line = [...points, [end, points.at(-1)[1]]].map(([time, score]) => `${(100 * (time - start) / (end - start)).toFixed(1)},${(96 - 92 * score / this.top).toFixed(1)}`);
    return make("svg", { class: "curve", viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" },
      make("polyline", { points: `0,100 ${line.join(" ")} 100,100` }));
  }
  mark(number, cell) {
    const isIn = this.isIn(number), shot = cell.querySelector(".shot");
    cell.classList.toggle("in", isIn);
    if (this.film.kind !== "chapters") shot.setAttribute("aria-pressed", String(isIn));
    shot.setAttribute("aria-label", this.label(number));
    shot.tabIndex = number === this.current ? 0 : -1;
    cell.classList.toggle("current", number === this.current);
  }

  drawFrames() {
    const low = this.box.scrollLeft - REACH, high = this.box.scrollLeft + this.box.clientWidth + REACH;
    const near = this.parts.filter(part => this.x(part.end_s) > low && this.x(part.start_s) < high);
    const focused = document.activeElement?.closest?.(".frame"), side = document.activeElement?.dataset?.side;
    const old = new Map([...this.frames.children].map(frame => [frame.dataset.key, frame]));
    for (const part of near) {
      const key = `${part.start_s}-${part.end_s}-${part.by_hand}${part.title}`;
      if (!old.has(key)) this.frames.append(this.frame(part, key));
      old.delete(key);
    }
    for (const frame of old.values()) frame.remove();
    if (focused && !focused.isConnected && this.moved) this.handle(this.moved, side)?.focus({ preventScroll: true });
  }
  frame(part, key) {
    const end = side => make("div", { class: `grip ${side}`, role: "slider", tabindex: -1, "data-side": side,
      "aria-label": `${side === "start" ? "Start" : "End"} of the part at ${clock(part.start_s)}`, "aria-orientation": "horizontal",
      "aria-valuemin": 0, "aria-valuemax": this.film.duration_s.toFixed(2), "aria-valuenow": part[`${side}_s`].toFixed(2), "aria-valuetext": tenths(part[`${side}_s`]),
      onpointerdown: event => this.drag(event, part, side), onkeydown: event => this.nudge(event, part, side) });
    const frame = make("div", { class: part.by_hand ? "frame by_hand" : "frame", "data-key": key }, end("start"), make("span", { class: "length" }, part.title || `${(part.end_s - part.start_s).toFixed(1)} s`), end("end"));
    this.place(frame, part.start_s, part.end_s);
    return frame;
  }
  place(frame, start, end) {
    frame.style.left = `${this.x(start)}px`;
    frame.style.width = `${Math.max(this.x(end) - (end === this.film.units[this.unitAt(end)]?.[0] ? 1 : 0) - this.x(start), 6)}px`;
  }
  handle(part, side) {
    const frame = [...this.frames.children].find(each => each.dataset.key.startsWith(`${part.start_s}-${part.end_s}-`));
    return frame?.querySelector(`[data-side=${side}]`);
  }

  // an end snaps to the nearest cut or sentence, or to a frame of the film
  snapped(time, isFree) {
    if (!isFree) {
      const x = this.x(time), places = this.film.places;
      const near = places.filter(place => Math.abs(this.x(place) - x) <= NEAR);
      if (near.length) return near.sort((a, b) => Math.abs(this.x(a) - x) - Math.abs(this.x(b) - x))[0];
    }
    return Math.min(Math.max(time, this.film.units[0][0]), this.film.duration_s);
  }
  limited(part, side, time) {
    const least = Math.min(LEAST_S, part.end_s - part.start_s); // a part may be a shorter shot
    return side === "start" ? [Math.min(time, part.end_s - least), part.end_s] : [part.start_s, Math.max(time, part.start_s + least)];
  }
  drag(event, part, side) {
    if (event.button) return;
    event.preventDefault();
    const handle = event.currentTarget, frame = handle.parentElement;
    handle.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
    frame.classList.add("dragged");
    const place = event => event.clientX - this.band.getBoundingClientRect().left;
    const grasp = this.x(part[`${side}_s`]) - place(event); // from where it was taken to the end itself
    let to = [part.start_s, part.end_s];
    const move = event => {
      to = this.limited(part, side, this.snapped(this.time(place(event) + grasp), event.shiftKey));
      this.place(frame, ...to);
      frame.querySelector(".length").textContent = `${(to[1] - to[0]).toFixed(1)} s`;
      this.acts.look(side === "start" ? to[0] : to[1], this.film.places.includes(to[side === "start" ? 0 : 1]));
    };
    const drop = () => {
      handle.removeEventListener("pointermove", move);
      frame.classList.remove("dragged");
      if (to[0] !== part.start_s || to[1] !== part.end_s) this.change(part, to); else this.place(frame, ...to);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", drop, { once: true });
  }
  nudge(event, part, side) {
    const sign = { ArrowLeft: -1, ArrowRight: 1 }[event.key], isFree = event.shiftKey;
    if (!sign || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    // keys may come quicker than answers: each moves the part from where the key before has put it
    this.turn = this.turn.then(() => this.step(this.now(part), side, sign, isFree));
  }
  step(part, side, sign, isFree) {
    const at = part[`${side}_s`], { places, fps } = this.film;
    const next = isFree ? at + sign / fps
      : sign > 0 ? places.find(place => place > at + 1e-3) ?? at : places.findLast(place => place < at - 1e-3) ?? at;
    const to = this.limited(part, side, next);
    this.acts.look(side === "start" ? to[0] : to[1]);
    return this.change(part, to);
  }
  // a part as it is by now: itself, or what it was moved to
  now(part) {
    const same = this.parts.find(other => other.start_s === part.start_s && other.end_s === part.end_s);
    const shared = other => overlap([other.start_s, other.end_s], [this.moved.start_s, this.moved.end_s]);
    return same ?? (this.moved && this.parts.length ? this.parts.reduce((best, other) => shared(other) > shared(best) ? other : best) : part);
  }
  change(part, to) {
    this.moved = { start_s: to[0], end_s: to[1] };
    return this.acts.move(part, to);
  }

  go(number, isQuiet = false) {
    this.current = Math.min(Math.max(number, 0), this.widths.length - 1);
    if (!isQuiet) this.reveal(this.lefts[this.current], this.widths[this.current]);
    this.draw();
    for (const [number, cell] of this.cells) this.mark(number, cell);
    this.cells.get(this.current)?.querySelector(".shot").focus({ preventScroll: true });
  }
  reveal(left, width = 0) {
    const { scrollLeft, clientWidth } = this.box, margin = Math.min(160, clientWidth / 4);
    if (left < scrollLeft + margin || left + width > scrollLeft + clientWidth - margin) this.box.scrollLeft = left + width / 2 - clientWidth / 2;
  }
  headAt(time, isFollowed) {
    const x = this.x(time);
    this.head.style.left = `${x}px`;
    if (isFollowed) this.reveal(x);
  }
  get window() { return [this.time(this.box.scrollLeft), this.time(this.box.scrollLeft + this.box.clientWidth)]; }
}

export { Strip, byId, make, overlap, tenths };
