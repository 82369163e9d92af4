// the page of `vidsum edit` for a reel: its segments as pictures, in the order of the film, and what is not in it
import { load, post } from "/server.js";
import { actsOf, say, showActs } from "/acts.js";
import { reelPlayerOf } from "/reel_player.js";
import { byId, make, tenths } from "/strip.js";

const list = byId("segments"), video = document.querySelector("video");
let reel = null, state = null, dragged = null; // `dragged`: the number of a segment

const sourceOf = part => reel.sources[part.source];
const nameOf = part => part.number === undefined ? sourceOf(part).name : `segment ${part.number + 1}, ${sourceOf(part).name}`;
const idOf = part => part.number === undefined ? `source${part.source}` : `segment${part.number}`;
const placeOf = number => state.parts.findIndex(part => part.number === number);
const inFilm = () => state.parts.filter(part => part.is_in);
const unused = () => reel.sources.map((source, number) => ({ source: number, start_s: source.best[0], end_s: source.best[1] }))
  .filter(part => !state.parts.some(used => used.source === part.source));
const cards = () => [...state.parts, ...unused()]; // in the order of the page

const show = (next, text) => {
  const focused = document.activeElement?.closest(".cards li")?.id, role = document.activeElement?.dataset.role;
  state = next;
  const others = unused();
  showActs(state);
  byId("used").textContent = `The film: ${inFilm().length} of ${state.parts.length} segments, ${tenths(state.used_s)}`;
  list.replaceChildren(...state.parts.map(item));
  byId("unused").hidden = !others.length;
  byId("unused_title").textContent = `Not in the film: ${others.length} of ${reel.sources.length} inputs`;
  byId("others").replaceChildren(...others.map(other));
  mark();
  const again = focused && byId(focused), target = again?.querySelector(`[data-role="${role}"]`);
  if (again) (target && !target.disabled ? target : again.querySelector(".shot")).focus();
  else if (focused) byId(`segment${state.parts.length - 1}`).querySelector(".shot").focus(); // the input was added
  if (text) say(text);
};
const picture = part => make("img", { src: `/picture/${part.source}?at=${((part.start_s + part.end_s) / 2).toFixed(2)}`, alt: "", decoding: "async", loading: "lazy", draggable: "false" });
const button = (part, role, text, label, act, isDisabled) => make("button", { type: "button", "data-role": role, "aria-label": `${label}: ${nameOf(part)}`, title: label, disabled: isDisabled, onclick: act }, text);
const field = (part, role, label, value, least, most, digits, act) => {
  const input = make("input", { type: "number", "data-role": role, min: least, max: most, step: "any", value: value.toFixed(digits), "aria-label": `${label} of ${nameOf(part)}${digits ? ", in seconds" : ""}`,
    onchange: () => { if (input.value !== "" && input.validity.valid) act(Number(input.value)); else input.value = value.toFixed(digits); } });
  return [make("span", { "aria-hidden": "true" }, label), input];
};
const item = (part, place) => {
  const { name, kind, fault, length_s: length } = sourceOf(part);
  const ends = kind === "photograph" ? field(part, "end", "Seconds", part.end_s, 0, 60, 2, to => setEnds(part, 0, to))
    : [...field(part, "start", "From", part.start_s, 0, length, 2, to => setEnds(part, to, part.end_s)), ...field(part, "end", "to", part.end_s, 0, length, 2, to => setEnds(part, part.start_s, to))];
  return make("li", { class: part.is_in ? "in" : null, id: idOf(part), draggable: "true",
    ondragstart: event => { if (event.target.closest("input")) return event.preventDefault(); dragged = part.number; event.dataTransfer.effectAllowed = "move"; event.dataTransfer.setData("text/plain", name); },
    ondragover: event => { if (dragged === null) return; event.preventDefault(); event.currentTarget.classList.add("target"); },
    ondragleave: event => event.currentTarget.classList.remove("target"),
    ondragend: () => { dragged = null; },
    ondrop: event => { event.preventDefault(); event.currentTarget.classList.remove("target"); if (dragged !== null) reorder(dragged, place); dragged = null; } },
    make("button", { type: "button", class: "shot", "data-role": "shot", "aria-pressed": String(part.is_in), "aria-label": `${nameOf(part)}, ${part.is_in ? "in the film" : "left out"}`, onclick: () => toggle(part) }, picture(part)),
    make("p", {}, make("b", {}, name), ` ${(part.end_s - part.start_s).toFixed(1)} s${part.title ? `, ${part.title}` : ""}${part.is_in ? "" : ", left out"}`),
    part.note ? make("p", { class: "soft" }, part.note) : null,
    fault ? make("p", { class: "fault" }, fault) : null,
    make("div", { class: "ends" }, ...ends),
    make("div", { class: "moves" },
      button(part, "play", "▶", "Play", () => play([part]), Boolean(fault)),
      button(part, "earlier", "←", "Earlier", () => reorder(part.number, place - 1), place === 0),
      button(part, "later", "→", "Later", () => reorder(part.number, place + 1), place === state.parts.length - 1),
      ...field(part, "place", "Place", place + 1, 1, state.parts.length, 0, to => reorder(part.number, Math.round(to) - 1))));
};
const other = part => {
  const { name, kind, fault, length_s: length } = sourceOf(part);
  return make("li", { id: idOf(part) },
    make("button", { type: "button", class: "shot", "data-role": "shot", disabled: Boolean(fault), "aria-label": `Add ${name}`, onclick: () => add(part) }, picture(part)),
    make("p", {}, make("b", {}, name), kind === "photograph" ? " photograph" : ` ${length.toFixed(1)} s, best from ${part.start_s.toFixed(1)} to ${part.end_s.toFixed(1)} s`),
    fault ? make("p", { class: "fault" }, fault) : null,
    make("div", { class: "moves" },
      button(part, "play", "▶", "Play", () => play([part]), Boolean(fault)),
      button(part, "add", "Add", "Add to the film", () => add(part), Boolean(fault))));
};

const send = async (path, document, text) => {
  try {
    show(await post(path, document), text);
  } catch (error) {
    if (error.isStale) return follow("Your last step was not made.");
    show(state);
    say(error.message, true);
  }
};
const { follow, undo, redo, save } = actsOf({ noun: "reel", state: () => state, files: () => reel.files, show, send });
const toggle = part => send("/api/decide", { action: part.is_in ? "leave_out" : "take_back", segment: part.number }, `${part.is_in ? "Left out" : "Taken back"}: ${nameOf(part)}.`);
const add = part => send("/api/decide", { action: "add", ...part }, `Added: ${nameOf(part)}.`);
const reorder = (number, place) => {
  if (place < 0 || place >= state.parts.length || place === placeOf(number)) return;
  return send("/api/decide", { action: "reorder", segment: number, place }, `Now at place ${place + 1}: ${nameOf(state.parts[placeOf(number)])}.`);
};
const setEnds = (part, start, end) => send("/api/decide", { action: "set_ends", segment: part.number, start_s: start, end_s: end }, `Other ends: ${nameOf(part)}.`);

// the part that plays is marked, and its ends can be set to the playing time
const player = reelPlayerOf({
  video, image: byId("photograph"),
  begin: part => { mark(); byId(idOf(part))?.scrollIntoView({ block: "nearest" }); byId("at").textContent = nameOf(part); },
  over: () => { mark(); byId("at").textContent = ""; say("That was all."); },
  refused: (part, text) => { player.stop(); mark(); say(`${nameOf(part)}: ${text}`, true); },
});
const playing = () => player.now && cards().find(part => idOf(part) === idOf(player.now) || (player.now.number === undefined && part.source === player.now.source)); // with the ends that it has by now, perhaps added meanwhile
const mark = () => {
  for (const card of document.querySelectorAll(".cards li[aria-current]")) card.removeAttribute("aria-current");
  const part = playing();
  if (part) byId(idOf(part)).setAttribute("aria-current", "true");
  byId("starts").disabled = byId("ends").disabled = part?.number === undefined || sourceOf(part).kind === "photograph";
  byId("play").textContent = player.now ? "■ Stop" : "▶ Play the film";
};
const play = parts => player.play(parts.map(part => ({ ...part, isPhoto: sourceOf(part).kind === "photograph" })));
const playFilm = (from = 0) => {
  const parts = state.parts.slice(from).filter(part => part.is_in && !sourceOf(part).fault);
  if (parts.length) { say("Playing the film."); play(parts); }
};
const stop = () => { player.stop(); mark(); byId("at").textContent = ""; };
const setHere = side => {
  const part = playing(), time = player.time;
  if (part?.number === undefined || time === null) return;
  const [start, end] = side === "start" ? [time, part.end_s] : [part.start_s, time];
  if (end - start < .2) return say(`${tenths(time)} is too near to where the part ${side === "start" ? "ends" : "begins"}.`, true);
  return setEnds(part, Math.max(start, 0), end);
};
byId("play").addEventListener("click", () => player.now ? stop() : playFilm());
byId("starts").addEventListener("click", () => setHere("start"));
byId("ends").addEventListener("click", () => setHere("end"));
video.addEventListener("timeupdate", () => { if (player.time !== null) byId("at").textContent = `${nameOf(player.now)}, at ${tenths(Math.max(player.time, 0))}`; });

document.addEventListener("keydown", event => {
  const isControl = event.ctrlKey || event.metaKey, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (!reel || event.isComposing || event.target.closest("dialog, video") || event.target.matches("input")) return;
  const all = cards(), here = all.findIndex(part => idOf(part) === event.target.closest(".cards li")?.id);
  const part = all[Math.max(here, 0)], step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (step && event.altKey) {
    event.preventDefault(); // else the browser goes back
    return part.number === undefined ? null : reorder(part.number, placeOf(part.number) + step);
  }
  if (event.altKey || (isControl && !["z", "y", "s"].includes(key))) return;
  if (key === " " && event.target.matches("button:not(.shot)")) return;
  if (step) {
    const next = all[Math.max(here + step, 0)];
    if (next) byId(idOf(next)).querySelector(".shot").focus();
  } else {
    const acts = { z: undo, y: redo, s: save, " ": () => player.now ? stop() : play([part]), r: () => playFilm(part.number === undefined ? 0 : placeOf(part.number)), "[": () => setHere("start"), "]": () => setHere("end") };
    const act = isControl && event.shiftKey && key === "z" ? redo : acts[key];
    if (!act) return;
    act();
  }
  event.preventDefault();
});
load().then(about => {
  reel = about;
  byId("name").textContent = reel.record;
  document.title = `${reel.record} – vidsum edit`;
  show(about);
  const first = inFilm()[0] ?? state.parts[0];
  video.poster = `/picture/${first.source}?at=${((first.start_s + first.end_s) / 2).toFixed(2)}`;
  const faults = [...new Set(state.parts.filter(part => sourceOf(part).fault).map(part => `${sourceOf(part).name}: ${sourceOf(part).fault}`))];
  if (faults.length) say(`Leave these out, or put the files back: ${faults.join("; ")}.`, true);
  else say("Framed pictures are in the film.");
}).catch(error => say(error.message, true));
