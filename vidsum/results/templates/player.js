"use strict";
// what the page of results and the page of an archive share: parts that play in a row, curves to point at, texts that follow

const clock = seconds => {
  const whole = Math.floor(seconds + 1e-6), pad = number => String(number).padStart(2, "0");
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h ? `${h}:${pad(m)}:${pad(s)}` : `${m}:${pad(s)}`;
};
const lineAt = (lines, time) => lines.findLast(line => Number(line.dataset.start) <= time + .05);

// plays parts [start, end) of a video one after the other, then calls `over`; `refused` where the browser wants a click or key first
const playerOf = (video, over, refused = () => {}) => {
  let parts = [], end = Infinity, aim = null, begun = () => {};
  const go = time => {
    const seek = () => { aim = time; video.currentTime = time; };
    if (video.readyState) seek(); else video.addEventListener("loadedmetadata", seek, { once: true });
    video.play().catch(error => { if (error.name === "NotAllowedError") refused(); });  // others: a newer start or pause
  };
  const next = () => {
    const part = parts.shift();
    end = part.end;
    begun(part);
    go(part.start);
  };
  const done = () => {
    if (parts.length) return next();
    if (end === Infinity) return;
    end = Infinity;
    video.pause();
    over();
  };
  video.addEventListener("timeupdate", () => { if (!video.seeking && video.currentTime >= end) done(); });
  video.addEventListener("ended", done);
  video.addEventListener("seeking", () => {  // by hand: then nothing is to stop it
    if (aim === null || Math.abs(video.currentTime - aim) > .2) { parts = []; end = Infinity; }
  });
  return {
    play: (list, begin = () => {}) => { parts = [...list]; begun = begin; if (parts.length) next(); },
    seek: time => { parts = []; end = Infinity; go(time); },
  };
};

// marks the line that is due; returns it if it is another than before
const mark = (lines, time) => {
  const now = lineAt(lines, time);
  if (now?.hasAttribute("aria-current")) return null;
  for (const line of lines) line.removeAttribute("aria-current");
  now?.setAttribute("aria-current", "true");
  return now;
};

// the same in a panel, which keeps the line in sight unless somebody reads there
const follow = (panel, time) => {
  const now = mark([...panel.querySelectorAll("[data-start]")], time);
  if (!now || panel.matches(":hover, :focus-within")) return;
  const list = now.closest(".scroll"), box = now.getBoundingClientRect(), frame = list.getBoundingClientRect();
  list.scrollBy(box.left + box.width / 2 - frame.left - frame.width / 2, box.top + box.height / 2 - frame.top - frame.height / 2);
};

// letters without case and accents, each in its place
const fold = text => text.replace(/[\u00c0-\u024f]/g, letter => letter.normalize("NFD")[0]).toLowerCase();
const matches = new Map(); // by document, the places of the words that are looked for

// a document that goes where one clicks, and hides the passages without all words of its search
const readable = (reading, input, output, go) => {
  reading.addEventListener("click", event => {
    const place = event.target.closest("[data-start]");
    if (!place || event.ctrlKey || event.metaKey || event.shiftKey || String(getSelection())) return;
    event.preventDefault();
    go(Number(place.dataset.start));
  });
  const search = () => {
    const words = fold(input.value).split(/\s+/).filter(Boolean), places = [];
    const passages = [...reading.querySelectorAll(".passage")];
    for (const passage of passages) {
      const texts = passage.querySelector(".texts"), all = fold(texts?.textContent || "");
      passage.hidden = !words.every(word => all.includes(word));
      if (passage.hidden || !words.length) continue;
      const walker = document.createTreeWalker(texts, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const text = fold(walker.currentNode.data);
        for (const word of words) for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
          const range = new Range();
          range.setStart(walker.currentNode, at);
          range.setEnd(walker.currentNode, Math.min(at + word.length, walker.currentNode.length));
          places.push(range);
        }
      }
    }
    const count = passages.filter(passage => !passage.hidden).length;
    output.textContent = words.length ? `${count} of ${passages.length} passages` : "";
    matches.set(input, places);
    CSS.highlights?.set("match", new Highlight(...[...matches.values()].flat().slice(0, 5000)));
  };
  input.addEventListener("input", search);
};

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];
const ticks = (axis, duration) => {
  const step = STEPS.find(each => duration / each <= 6) || 86400 * Math.ceil(duration / 518400);
  const marks = Array.from({ length: Math.floor(duration / step) + 1 }, (_, number) => number * step);
  axis.replaceChildren(...marks.map(time => {
    const mark = Object.assign(document.createElement("span"), { textContent: clock(time) });
    mark.style.left = `${100 * time / duration}%`;
    if (time > .95 * duration && time) mark.className = "last";
    return mark;
  }));
};

const headAt = (svg, time, duration) => {
  const head = svg.querySelector(".head");
  for (const edge of ["x1", "x2"]) head.setAttribute(edge, 1000 * time / duration);
  head.removeAttribute("visibility");
};

// a chart to point at, with time and picture, by mouse and by keyboard; `about` has duration, now, picture and go
const pointed = (svg, about) => {
  const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true }), image = new Image(), text = document.createElement("b");
  image.alt = "";
  tip.append(image, text);
  tip.setAttribute("aria-hidden", "true");
  svg.parentElement.append(tip);
  let at = 0;
  const place = time => {
    const duration = about.duration();
    at = Math.min(Math.max(time, 0), duration);
    const source = about.picture(at), x = at / duration * svg.clientWidth;
    text.textContent = clock(at);
    image.hidden = !source;
    if (source && image.getAttribute("src") !== source) image.src = source;
    tip.hidden = false;
    tip.style.left = `${Math.min(Math.max(x - tip.offsetWidth / 2, 0), svg.clientWidth - tip.offsetWidth)}px`;
    tip.style.setProperty("--at", `${x - tip.offsetLeft}px`);
    for (const [name, value] of Object.entries({ min: 0, max: Math.round(duration), now: Math.round(at), text: clock(at) })) svg.setAttribute(`aria-value${name}`, value);
  };
  const timeOf = event => {
    const box = svg.getBoundingClientRect();
    return (event.clientX - box.left) / box.width * about.duration();
  };
  svg.setAttribute("role", "slider");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("aria-valuenow", "0");
  svg.addEventListener("pointermove", event => place(timeOf(event)));
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  svg.addEventListener("click", event => { place(timeOf(event)); about.go(at); });
  svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) place(about.now()); });
  svg.addEventListener("blur", () => { tip.hidden = true; });
  svg.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const duration = about.duration(), step = Math.max(duration / 100, Math.min(1, duration / 20));
    const steps = { ArrowRight: step, ArrowUp: step, ArrowLeft: -step, ArrowDown: -step, PageUp: 10 * step, PageDown: -10 * step, Home: -Infinity, End: Infinity };
    if (event.key in steps) place(at + steps[event.key]);
    else if (event.key === "Enter") about.go(at);
    else return;
    event.preventDefault();
  });
};
