// what is said, word by word: words in the result are dark, and some can be selected to keep or to cut
import { make } from "/strip.js";

// `acts` has keep(span, text), cut(span, text), look(time), picked(whether)
class Words {
  constructor(box, film, acts) {
    Object.assign(this, { box, film, acts, parts: [], from: null, to: null, isDrawn: false });
    box.addEventListener("pointerdown", event => this.press(event));
    box.addEventListener("keydown", event => this.key(event));
  }

  // a paragraph for each sentence; browsers leave out those that are not in sight
  draw() {
    if (this.isDrawn) return;
    this.isDrawn = true;
    const ends = this.film.sentences.map(said => said[1]);
    let sentence = 0, paragraph = make("div", { class: "sentence", role: "group" });
    this.spans = this.film.words.map(([start, end, text], number) => make("span", { role: "option", "aria-selected": "false", "data-number": number, id: `word${number}` }, text));
    const paragraphs = [paragraph];
    this.film.words.forEach(([start], number) => {
      if (sentence < ends.length - 1 && start >= ends[sentence] - .2) {
        while (sentence < ends.length - 1 && start >= ends[sentence] - .2) sentence += 1;
        if (paragraph.children.length) { paragraph = make("div", { class: "sentence", role: "group" }); paragraphs.push(paragraph); }
      }
      paragraph.append(this.spans[number], " ");
    });
    for (const each of paragraphs) each.setAttribute("aria-label", clock(this.film.words[each.firstChild.dataset.number][0]));
    this.box.replaceChildren(...paragraphs);
    this.show(this.parts);
  }
  show(parts) {
    this.parts = parts;
    if (!this.isDrawn) return;
    let part = 0;
    this.film.words.forEach(([start, end], number) => {
      const middle = (start + end) / 2;
      while (part < parts.length && parts[part].end_s <= middle) part += 1;
      this.spans[number].classList.toggle("in", part < parts.length && parts[part].start_s <= middle);
    });
  }

  press(event) {
    const number = Number(event.target.dataset?.number ?? NaN);
    if (Number.isNaN(number) || event.button) return;
    this.select(event.shiftKey && this.from !== null ? this.from : number, number);
    const move = event => {
      const over = document.elementFromPoint(event.clientX, event.clientY)?.dataset?.number;
      if (over !== undefined && over !== "") this.select(this.from, Number(over));
    };
    const drop = () => { removeEventListener("pointermove", move); this.acts.look(this.film.words[Math.min(this.from, this.to)][0]); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", drop, { once: true });
    event.preventDefault();
    this.box.focus({ preventScroll: true });
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const sign = { ArrowLeft: -1, ArrowRight: 1 }[event.key], key = event.key.toLowerCase();
    if (sign) {
      const at = this.to === null ? 0 : Math.min(Math.max(this.to + sign, 0), this.spans.length - 1);
      this.select(event.shiftKey && this.from !== null ? this.from : at, at);
      this.spans[at].scrollIntoView({ block: "nearest" });
    } else if (key === "k" || (key === "x" && this.film.kind !== "chapters")) this.act(key === "k" ? "keep" : "cut");
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  get range() { return this.from === null ? null : [Math.min(this.from, this.to), Math.max(this.from, this.to)]; }
  select(from, to) {
    const old = this.range;
    if (old) for (let number = old[0]; number <= old[1]; number += 1) this.spans[number].setAttribute("aria-selected", "false");
    Object.assign(this, { from, to });
    const now = this.range;
    if (now) for (let number = now[0]; number <= now[1]; number += 1) this.spans[number].setAttribute("aria-selected", "true");
    if (now) this.box.setAttribute("aria-activedescendant", `word${to}`); else this.box.removeAttribute("aria-activedescendant");
    this.acts.picked(Boolean(now));
  }
  act(name) {
    if (!this.range) return;
    const [first, last] = this.range, chosen = this.film.words.slice(first, last + 1);
    this.acts[name]([chosen[0][0], chosen.at(-1)[1]], chosen.map(word => word[2]).join(" "));
    this.select(null, null);
  }
  headAt(time) {
    if (!this.isDrawn) return;
    const now = this.film.words.findLastIndex(([start]) => start <= time);
    if (now === this.now) return;
    this.spans[this.now]?.classList.remove("now");
    this.spans[now]?.classList.add("now");
    this.now = now;
  }
}

export { Words };
