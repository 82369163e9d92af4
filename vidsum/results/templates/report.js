"use strict";
const films = [...document.querySelectorAll(".film")];

for (const film of films) {
  const video = film.querySelector("video"), now = film.querySelector(".now");
  if (!video) continue;
  const cuts = [...film.querySelectorAll(".cut")];
  let end = Infinity;

  const seek = (time, until, text) => {
    end = until;
    const go = () => { video.currentTime = time; };
    if (video.readyState) go(); else video.addEventListener("loadedmetadata", go, { once: true });
    video.play().catch(() => {});
    now.textContent = text;
  };
  const choose = cut => {
    cuts.forEach(each => each.removeAttribute("aria-current"));
    cut.setAttribute("aria-current", "true");
    seek(Number(cut.dataset.start), Number(cut.dataset.end), "Playing " + cut.dataset.label);
  };
  film.choose = step => {
    const shown = cuts.filter(cut => cut.offsetParent !== null);
    const next = shown[shown.findIndex(cut => cut.hasAttribute("aria-current")) + step];
    if (next) { choose(next); next.focus(); }
  };

  for (const cut of cuts) {
    cut.addEventListener("click", event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      choose(cut);
    });
  }
  for (const svg of film.querySelectorAll(".chart svg")) {
    svg.addEventListener("click", event => {
      const box = svg.getBoundingClientRect();
      seek((event.clientX - box.left) / box.width * Number(svg.dataset.duration), Infinity, "");
    });
  }
  video.addEventListener("error", () => { now.textContent = "This browser cannot play the video."; });
  video.addEventListener("timeupdate", () => {
    for (const head of film.querySelectorAll(".head")) {
      const x = 1000 * video.currentTime / Number(head.ownerSVGElement.dataset.duration);
      head.setAttribute("x1", x);
      head.setAttribute("x2", x);
      head.removeAttribute("visibility");
    }
    if (video.currentTime >= end) { end = Infinity; video.pause(); }
  });
}

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
  const step = { n: 1, p: -1 }[event.key];
  const film = document.activeElement.closest(".film") || films[0];
  if (step && film && film.choose) film.choose(step);
});

const filter = document.querySelector(".filter");
if (filter) {
  const input = filter.querySelector("input"), count = filter.querySelector("output");
  const queries = [...document.querySelectorAll(".query")];
  filter.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const query of queries) {
      const text = query.dataset.query.toLowerCase();
      query.hidden = !words.every(word => text.includes(word));
      shown += query.hidden ? 0 : 1;
    }
    count.textContent = words.length ? `${shown} of ${queries.length} queries` : "";
  });
}
document.querySelectorAll(".scripted").forEach(each => { each.hidden = false; });
