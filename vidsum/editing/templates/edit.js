// the page of `vidsum edit`: shows a film and a result, and sends decisions
import { load, post } from "/server.js";
import { actsOf, say, showActs } from "/acts.js";
import { listen } from "/keys.js";
import { Strip, byId, make, overlap, tenths } from "/strip.js";
import { Words } from "/words.js";

const video = document.querySelector("video"), clip = byId("clip"), lane = document.querySelector(".lane svg");
let film = null, state = null, strip = null, words = null, at = 0; // `at`: the query that is shown
const player = playerOf(video, () => say("That was all."));

const span = part => `${tenths(part.start_s)} – ${tenths(part.end_s)}`;
const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

const group = () => state.groups[at]; // of the query that is shown
// what is said of a click, by the kind of result
const DONE = { trim: ["Put back", "Cut"], moments: ["Added", "Marked wrong"] };
const done = number => (DONE[film.kind] ?? ["Taken", "Left out"])[number];
const HELP = {
  trim: "Click a picture to put it back or to cut it.",
  moments: "Click a picture to add a moment or to mark one wrong.",
  shorts: "Click a picture to leave a short out or to add one.",
};
const NOUNS = { summary: "part", trim: "part", highlights: "highlight", moments: "moment", chapters: "chapter", shorts: "short" };
const show = (next, text) => {
  state = next;
  const { parts, used_s: used } = group();
  strip.show(parts);
  words?.show(parts);
  showActs(state);
  byId("chosen").textContent = `The result: ${count(parts.length, NOUNS[film.kind])}`;
  byId("used").textContent = film.kind === "summary" ? `${clock(used)} long, at most ${clock(state.budget_s)}`
    : film.kind === "trim" ? `${clock(used)} of ${clock(film.duration_s)}; what is removed:`
    : film.kind === "chapters" ? "Edit a title and press Enter" : `${clock(used)} in all`;
  byId("limits").hidden = state.budget_s === null && state.count === null;
  if (!byId("limits").hidden) showLimit(state.budget_s ?? Math.max(state.count, parts.length));
  const rows = film.kind === "trim" ? state.removed.map(removedRow) : film.kind === "chapters" ? parts.map(chapterRow)
    : film.kind === "shorts" ? shortRows(parts) : parts.map(row);
  const focused = document.activeElement?.closest("#parts li") && [...byId("parts").children].indexOf(document.activeElement.closest("li"));
  byId("parts").replaceChildren(...rows);
  if (Number.isInteger(focused)) {
    const item = byId("parts").children[Math.min(focused, rows.length - 1)];
    (item?.querySelector("input") ?? item?.querySelector(".part"))?.focus();
  }
  drawLane();
  if (byId("all").open) list();
  if (text) say(text);
};
const showLimit = value => {
  const limit = byId("limit"), isSummary = state.budget_s !== null;
  limit.min = isSummary ? Math.max(1, Math.ceil(group().by_hand_s)) : 1;
  limit.max = isSummary ? Math.ceil(Math.min(film.duration_s, Math.max(3 * film.first, 30, value))) : Math.max(20, value);
  limit.value = value;
  byId("limit_name").textContent = isSummary ? "Length, at most" : "Highlights, at most";
  nameLimit(value);
};
const nameLimit = value => {
  const text = state.budget_s === null ? String(value) : clock(value);
  byId("limit_value").textContent = text;
  byId("limit").setAttribute("aria-valuetext", text);
};
const goTo = part => { strip.go(strip.unitAt(part.start_s + .01)); play([part]); };
const row = part => make("li", {},
  make("button", { type: "button", class: "part", onclick: () => goTo(part) },
    make("span", {}, span(part)), make("span", { class: "soft" }, ` ${(part.end_s - part.start_s).toFixed(1)} s${part.by_hand ? ", by hand" : ""}`)),
  make("button", { type: "button", class: "leave", "aria-label": `${film.kind === "moments" ? "Wrong" : "Leave out"}: ${span(part)}`, title: film.kind === "moments" ? "Wrong" : "Leave out", onclick: () => leave(part) }, "✕"));
const removedRow = part => make("li", {},
  make("button", { type: "button", class: "part", onclick: () => goTo(part) },
    make("span", {}, span(part)), make("span", { class: "soft" }, ` ${part.reason}${part.text ? `: ${part.text}` : ""}`)),
  make("button", { type: "button", class: "leave", "aria-label": `Put back: ${span(part)}`, onclick: () => take([part.start_s, part.end_s]) }, "Put back"));
const titleField = (part, name) => {
  const title = make("input", { class: "title", "aria-label": `Title of ${name}, at ${clock(part.start_s)}`,
    onchange: () => { if (title.value.trim() && title.value !== part.title) send("/api/decide", { action: "rename", start_s: (part.start_s + part.end_s) / 2, title: title.value }, `Renamed: ${title.value.trim()}.`); } });
  title.value = part.title;
  return title;
};
const chapterRow = (part, number) => {
  return make("li", {}, make("button", { type: "button", class: "part", onclick: () => goTo(part) }, clock(part.start_s)), titleField(part, `chapter ${number + 1}`),
    number ? make("button", { type: "button", class: "leave", "aria-label": `Merge with the chapter before: ${part.title}`, title: "Merge with the chapter before",
      onclick: () => merge(part) }, "Merge up") : "");
};
// the best one first, then those that are left out
const shortRows = parts => {
  const ranked = parts.map((part, number) => ({ ...part, rank: state.ranks[number] })).sort((a, b) => a.rank - b.rank);
  const out = state.removed.map(part => make("li", {},
    make("button", { type: "button", class: "part", onclick: () => goTo(part) }, make("span", { class: "soft" }, `${span(part)} left out: ${part.title}`)),
    make("button", { type: "button", class: "leave", "aria-label": `Put back: ${part.title}`, onclick: () => take([part.start_s, part.end_s]) }, "Put back")));
  return [...ranked.map(part => make("li", {},
    make("button", { type: "button", class: "part", onclick: () => goTo(part) },
      make("b", {}, `${part.rank} `), make("span", {}, span(part)), make("span", { class: "soft" }, ` ${(part.end_s - part.start_s).toFixed(1)} s`)),
    make("button", { type: "button", class: "leave", "aria-label": `As saved: short ${part.rank}`, title: "With its crop and captions", onclick: () => playClip(part) }, "▶ As saved"),
    make("button", { type: "button", class: "leave", "aria-label": `Leave out: short ${part.rank}`, title: "Leave out", onclick: () => leave(part) }, "✕"),
    titleField(part, `short ${part.rank}`))), ...out];
};
const playClip = part => {
  video.pause();
  clip.hidden = false;
  clip.setAttribute("aria-label", `Short ${part.rank} as it is saved`);
  clip.src = `/clip?start=${part.start_s}&end=${part.end_s}`;
  say(`Short ${part.rank} comes with its crop and captions. If its ends are new, it is made first, which may take longer than it plays.`);
  clip.play().catch(() => {}); // an error is said below
};
// a short begins or ends with the sentence of a word: the one that has the word, else the next one there
const moveTo = (side, [from, to]) => {
  const { parts } = group(), isStart = side === "start", inside = Math.min(.2, (to - from) / 2), time = isStart ? from + inside : to - inside;
  const part = parts.find(part => part.start_s <= time && time < part.end_s)
    ?? (isStart ? parts.find(part => part.start_s > time) : parts.findLast(part => part.end_s <= time));
  const said = film.sentences.findLast(said => said[0] <= time);
  if (!part || !said) return say(`No short ${isStart ? "ends after" : "begins before"} this word.`, true);
  const ends = isStart ? [film.places.findLast(place => place <= said[0] + 1e-3), part.end_s] : [part.start_s, film.places.find(place => place >= said[1] - 1e-3)];
  return move(part, ends);
};
const merge = async part => {
  if (group().parts.length <= 3) return say("There must be at least three chapters.", true);
  return send("/api/decide", { action: "merge", start_s: (part.start_s + part.end_s) / 2 }, `Merged: ${part.title}.`);
};

// a chapter begins at the playing time, or with the sentence of a word, and is called like what is said there
const LEAST_S = 10, TITLE = 60; // of a chapter in seconds, of a title in letters
const split = async (time = video.currentTime) => {
  const part = group().parts.findLast(part => part.start_s <= time + 1e-3);
  if (time - part.start_s < LEAST_S || part.end_s - time < LEAST_S) return say(`A chapter must be ${LEAST_S} s at least: ${clock(time)} is too near to where one begins or ends.`, true);
  const sentence = film.sentences.find(said => said[1] > time + .05)?.[2] ?? "";
  const blank = sentence.lastIndexOf(" ", TITLE); // there is none in Japanese
  const title = sentence.length > TITLE ? sentence.slice(0, blank > 0 ? blank : TITLE) : sentence;
  await send("/api/decide", { action: "split", start_s: time, title: title.trim() || "New chapter" }, `Split: a chapter begins at ${clock(time)}.`);
  const number = group().parts.findIndex(part => Math.abs(part.start_s - time) < .1);
  byId("parts").children[number]?.querySelector("input").select();
};
const splitAtSentence = ([time]) => split(film.sentences.findLast(said => said[0] <= time + .2)?.[0] ?? time);

// what gives way to the budget, besides what was asked for
const lost = (before, after, spans) => before.filter(part => !part.by_hand
  && !after.some(other => overlap([part.start_s, part.end_s], [other.start_s, other.end_s]) > 0)
  && !spans.some(other => overlap([part.start_s, part.end_s], other) > 0));
const send = async (path, document, text, spans = []) => {
  const before = group().parts, decision = at ? { ...document, query: at } : document;
  try {
    const next = await post(path, decision), gone = film.kind === "summary" && path === "/api/decide" ? lost(before, next.groups[at].parts, spans) : [];
    show(next, gone.length ? `${text} To stay within ${clock(next.budget_s)}, ${gone.map(span).join(" and ")} gave way.` : text);
  } catch (error) {
    if (error.isStale) return follow("Your last step was not made.");
    strip.show(before);
    say(error.message, true);
  }
};
const { follow, undo, redo, save } = actsOf({ noun: "result", state: () => state, files: () => film.files, show, send });
const take = ([start, end]) => send("/api/decide", { action: "take", start_s: start, end_s: end }, `${done(0)}: ${span({ start_s: start, end_s: end })}.`, [[start, end]]);
const leave = (part, text) => send("/api/decide", { action: "leave", start_s: part.start_s, end_s: part.end_s, ...(text ? { text } : {}) }, `${done(1)}: ${text || span(part)}.`, [[part.start_s, part.end_s]]);
const move = (part, to) => send("/api/decide", { action: "move", start_s: part.start_s, end_s: part.end_s, to_start_s: to[0], to_end_s: to[1] }, `Now ${span({ start_s: to[0], end_s: to[1] })}.`, [[part.start_s, part.end_s], to]);
const toggle = number => {
  const unit = film.units[number], inside = strip.partsIn(number);
  if (film.kind === "chapters") return player.seek(unit[0]);
  if (film.kind === "shorts" && inside.length) return leave(strip.partAt(number));
  if (!inside.length) return take(film.pieces[number]);
  // a part that lies in this picture for the most goes as a whole; of others, what is in the picture
  const part = strip.partAt(number), isWhole = 2 * overlap([part.start_s, part.end_s], unit) >= part.end_s - part.start_s;
  return leave(isWhole && inside.length === 1 ? part : { start_s: unit[0], end_s: unit[1] });
};
const plan = async () => {
  byId("limit").disabled = true;
  say("Planning again around your decisions …");
  await send("/api/plan", { limit: Number(byId("limit").value) }, `Planned again: your decisions stay, the rest is chosen for ${byId("limit_value").textContent}.`);
  byId("limit").disabled = false;
};

const play = parts => {
  player.play(parts.map(part => ({ start: part.start_s, end: part.end_s })), part => strip.headAt(part.start, true));
};
const playResult = () => { if (group().parts.length) { say("Playing the result only."); play(group().parts); } };
const pause = () => {
  if (video.paused) video.play().catch(() => {}); else video.pause();
};
const look = (time, isSnapped) => {
  video.pause();
  video.currentTime = Math.max(0, time - (time >= film.duration_s ? .05 : 0));
  byId("at").textContent = `${tenths(time)}${isSnapped ? ", at a cut or sentence" : ""}`;
};

const drawLane = () => {
  const x = time => (1000 * time / film.duration_s).toFixed(2);
  const svg = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const times_s = film.times_s, scores = film.curves[at] ?? [], step = Math.max(1, Math.floor(times_s.length / 1000)), points = [];
  for (let number = 0; number < scores.length; number += step) points.push(`${x(times_s[number])},${(97 - 90 * Math.max(...scores.slice(number, number + step)) / strip.top).toFixed(1)}`);
  lane.replaceChildren(
    ...group().parts.map(part => svg("rect", { class: "chosen", x: x(part.start_s), y: 0, width: x(Math.max(part.end_s - part.start_s, film.duration_s / 600)), height: 100 })),
    svg("polyline", { class: "curve", points: points.join(" ") }),
    svg("rect", { class: "window", y: 1, height: 98 }),
    svg("line", { class: "head", x1: 0, x2: 0, y1: 0, y2: 100 }));
  headAt(lane, video.currentTime, film.duration_s);
  drawWindow();
};
const drawWindow = () => {
  const [from, to] = strip.window.map(time => 1000 * time / film.duration_s), sight = lane.querySelector(".window");
  sight.setAttribute("x", from.toFixed(2));
  sight.setAttribute("width", Math.max(to - from, 2).toFixed(2));
};
const list = () => byId("all").querySelector("ul").replaceChildren(...film.units.map((unit, number) => {
  const box = make("input", { type: "checkbox", onchange: () => toggle(number) });
  box.checked = strip.isIn(number);
  return make("li", {}, make("label", {}, box, ` ${clock(unit[0])} – ${clock(unit[1])} ${strip.text(number)}`));
}));

const begin = about => {
  film = about;
  film.first = about.budget_s ?? about.count ?? 0;
  document.body.dataset.kind = film.kind;
  byId("name").textContent = film.name;
  document.title = `${film.name} – vidsum edit`;
  video.src = "/video";
  strip = new Strip(byId("strip"), film, { toggle, move, look, play: player.seek });
  if (film.words.length) {
    words = new Words(byId("words"), film, {
      keep: { chapters: splitAtSentence, shorts: words => moveTo("start", words) }[film.kind] ?? take,
      cut: film.kind === "shorts" ? words => moveTo("end", words) : ([start, end], text) => leave({ start_s: start, end_s: end }, text),
      look, picked: isPicked => { byId("keep").disabled = byId("cut").disabled = !isPicked; },
    });
    byId("said").hidden = false;
    byId("said").open = film.kind === "trim" || film.kind === "shorts";
    byId("keep").addEventListener("click", () => words.act("keep"));
    byId("cut").addEventListener("click", () => words.act("cut"));
  }
  if (HELP[film.kind]) byId("click").textContent = HELP[film.kind];
  if (HELP[film.kind]) byId("strip").setAttribute("aria-label", `Pictures: ${HELP[film.kind]}`);
  if (film.kind === "chapters") byId("help").textContent = "Rename a chapter in the list, or merge it with the chapter before. Split here (key N) begins a chapter at the playing time. Drag the ends of a blue frame to move where chapters begin; they snap to cuts and sentences, Shift frees them. Click a picture to play from it.";
  byId("queries").hidden = film.queries.length < 2;
  byId("query").replaceChildren(...film.queries.map((text, number) => make("option", { value: number }, text)));
  ticks(document.querySelector(".axis"), film.duration_s);
  pointed(lane, {
    duration: () => film.duration_s,
    now: () => video.currentTime,
    picture: time => `/picture/${strip.unitAt(time)}.jpg`,
    go: time => { strip.go(strip.unitAt(time)); look(time); },
  });
  byId("play").hidden = byId("all").hidden = film.kind === "chapters";
  byId("split").hidden = film.kind !== "chapters";
  if (film.kind === "chapters") {
    byId("said_help").textContent = "What is said: select a word to begin a chapter with its sentence";
    byId("keep").textContent = "Split at this sentence";
    byId("cut").hidden = true;
    byId("picked").textContent = "Click a word, or choose one with ← and →; K splits at its sentence";
  }
  if (film.kind === "shorts") {
    byId("said_help").textContent = "What is said: select a word to begin or end a short with its sentence";
    byId("keep").textContent = "Begin with this sentence";
    byId("cut").textContent = "End with this sentence";
    byId("picked").textContent = "Click a word, or choose one with ← and →; K begins with its sentence, X ends with it";
  }
  show(about, `${film.record}: ${count(film.units.length, "picture")}. ${film.kind === "chapters" ? "Blue frames are chapters." : "Blue frames are in the result."}`);
  strip.draw();
  if (group().parts.length) video.currentTime = group().parts[0].start_s;
  if (group().parts.length) strip.reveal(strip.x(group().parts[0].start_s));
  strip.box.addEventListener("drawn", drawWindow);
  listen({ strip, video, player, undo, redo, save, split: film.kind === "chapters" ? () => split() : null, pause, playResult, toggle, parts: () => group().parts, words });
};

byId("play").addEventListener("click", playResult);
byId("split").addEventListener("click", () => split());
byId("limit").addEventListener("input", () => nameLimit(Number(byId("limit").value)));
byId("limit").addEventListener("change", plan);
byId("query").addEventListener("change", () => { at = Number(byId("query").value); strip.choose(at); strip.draw(); show(state, `Moments of: ${film.queries[at]}`); });
byId("said").addEventListener("toggle", () => words?.draw());
byId("all").addEventListener("toggle", () => { if (byId("all").open) list(); });
video.addEventListener("play", () => clip.pause());
clip.addEventListener("play", () => video.pause());
clip.addEventListener("playing", () => say(`${clip.getAttribute("aria-label")}.`));
clip.addEventListener("error", () => say("The clip cannot be made, or the browser cannot play it; Save says why.", true));
video.addEventListener("timeupdate", () => {
  if (!film) return;
  headAt(lane, video.currentTime, film.duration_s);
  strip.headAt(video.currentTime, !video.paused);
  byId("at").textContent = tenths(video.currentTime);
  if (byId("said").open) words?.headAt(video.currentTime);
});
video.addEventListener("error", () => say("The browser cannot play this video; everything else works, and a saved MP4 can be played.", true));
load().then(begin).catch(error => say(error.message, true));
