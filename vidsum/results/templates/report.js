{% include "player.js" %}
const films = [...document.querySelectorAll(".film")];

for (const film of films) {
  const video = film.querySelector("video"), now = film.querySelector(".now");
  const cuts = [...film.querySelectorAll(".cut")], views = [...film.querySelectorAll(".strip a")];
  const panels = [...film.querySelectorAll(".panel")];
  const player = video && playerOf(video, () => { now.textContent = "Over."; });
  const partOf = cut => ({ start: Number(cut.dataset.start), end: Number(cut.dataset.end), cut });
  const choose = (chosen, list) => player.play(chosen.map(partOf), ({ cut }) => {
    cuts.forEach(each => each.removeAttribute("aria-current"));
    cut.setAttribute("aria-current", "true");
    const place = list.length > 1 ? `${list.indexOf(cut) + 1} of ${list.length}: ` : "";
    now.textContent = `Playing ${place}${cut.dataset.label}`;
  });
  const isShown = each => each.offsetParent !== null;

  for (const axis of film.querySelectorAll(".axis")) ticks(axis, Number(axis.dataset.duration));
  for (const svg of film.querySelectorAll(".chart svg")) {
    const duration = Number(svg.dataset.duration);
    pointed(svg, {
      duration: () => duration,
      now: () => video ? video.currentTime : 0,
      picture: time => (lineAt(views, time) || views[0])?.querySelector("img").src,
      go: time => seek(time),
    });
  }
  const seek = time => { if (player) { now.textContent = ""; player.seek(time); } };
  const reading = film.querySelector(".reading"), filter = reading?.parentElement.querySelector(".filter");
  if (reading) readable(reading, filter.querySelector("input"), filter.querySelector("output"), seek);
  const said = [...film.querySelectorAll(".texts [data-start]")];
  if (!video) continue;

  film.choose = step => {
    const shown = cuts.filter(isShown);
    const next = shown[shown.findIndex(cut => cut.hasAttribute("aria-current")) + step];
    if (next) { choose([next], []); next.focus(); }
  };
  for (const cut of cuts) {
    cut.addEventListener("click", event => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      choose([cut], []);
    });
  }
  for (const button of film.querySelectorAll(".play")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const list = [...button.closest(".query, .result").querySelectorAll(".cut")].filter(isShown);
      choose(list, list);
    });
  }
  for (const line of film.querySelectorAll(".panel a")) {
    line.addEventListener("click", event => {
      event.preventDefault();
      seek(Number(line.dataset.start));
    });
  }
  video.addEventListener("error", () => { now.textContent = "This browser cannot play the video."; });
  video.addEventListener("timeupdate", () => {
    for (const svg of film.querySelectorAll(".chart svg")) headAt(svg, video.currentTime, Number(svg.dataset.duration));
    for (const panel of panels) follow(panel, video.currentTime);
    mark(said, video.currentTime);
  });
}

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
  const step = { n: 1, p: -1 }[event.key];
  const film = document.activeElement.closest(".film") || films[0];
  if (step && film && film.choose) film.choose(step);
});

const filter = document.querySelector("header .filter");
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
