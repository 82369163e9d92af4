// the page of `vidsum edit` for a reel: its segments as pictures, in the order of the film
import { load, post } from "/server.js";
import { actsOf, say, showActs } from "/acts.js";
import { byId, make, tenths } from "/strip.js";

const list = byId("segments");
let reel = null, state = null, dragged = null; // `dragged`: the number of a segment

const nameOf = part => `segment ${part.number + 1}, ${reel.segments[part.number].name}`;
const itemOf = number => list.querySelector(`li[data-number="${number}"]`);
const placeOf = number => state.parts.findIndex(part => part.number === number);

const show = (next, text) => {
  const focused = document.activeElement?.closest("#segments li")?.dataset.number, role = document.activeElement?.dataset.role;
  state = next;
  const inside = state.parts.filter(part => part.is_in);
  showActs(state);
  byId("used").textContent = `The film: ${inside.length} of ${state.parts.length} segments, ${tenths(state.used_s)}`;
  list.replaceChildren(...state.parts.map(item));
  if (focused !== undefined) {
    const again = itemOf(focused).querySelector(`[data-role="${role}"]`);
    (again && !again.disabled ? again : itemOf(focused).querySelector(".shot")).focus();
  }
  if (text) say(text);
};
const item = (part, place) => {
  const { name, kind, fault, length_s: length } = reel.segments[part.number], isPhoto = kind === "photograph";
  const button = (role, text, label, act, isDisabled) => make("button", { type: "button", "data-role": role, "aria-label": `${label}: ${nameOf(part)}`, title: label, disabled: isDisabled, onclick: act }, text);
  const field = (role, label, value, least, most, digits, act) => {
    const input = make("input", { type: "number", "data-role": role, min: least, max: most, step: "any", value: value.toFixed(digits), "aria-label": `${label} of ${nameOf(part)}${digits ? ", in seconds" : ""}`,
      onchange: () => { if (input.value !== "" && input.validity.valid) act(Number(input.value)); else input.value = value.toFixed(digits); } });
    return [make("span", { "aria-hidden": "true" }, label), input];
  };
  const ends = isPhoto ? field("end", "Seconds", part.end_s, 0, 60, 2, to => setEnds(part, 0, to))
    : [...field("start", "From", part.start_s, 0, length, 2, to => setEnds(part, to, part.end_s)), ...field("end", "to", part.end_s, 0, length, 2, to => setEnds(part, part.start_s, to))];
  return make("li", { class: part.is_in ? "in" : null, "data-number": part.number, draggable: "true",
    ondragstart: event => { if (event.target.closest("input")) return event.preventDefault(); dragged = part.number; event.dataTransfer.effectAllowed = "move"; event.dataTransfer.setData("text/plain", name); },
    ondragover: event => { if (dragged === null) return; event.preventDefault(); event.currentTarget.classList.add("target"); },
    ondragleave: event => event.currentTarget.classList.remove("target"),
    ondragend: () => { dragged = null; },
    ondrop: event => { event.preventDefault(); event.currentTarget.classList.remove("target"); if (dragged !== null) reorder(dragged, place); dragged = null; } },
    make("button", { type: "button", class: "shot", "data-role": "shot", "aria-pressed": String(part.is_in), "aria-label": `${nameOf(part)}, ${part.is_in ? "in the film" : "left out"}`, onclick: () => toggle(part) },
      make("img", { src: `/picture/${part.number}.jpg`, alt: "", decoding: "async", loading: "lazy", draggable: "false" })),
    make("p", {}, make("b", {}, name), ` ${(part.end_s - part.start_s).toFixed(1)} s${part.title ? `, ${part.title}` : ""}${part.is_in ? "" : ", left out"}`),
    fault ? make("p", { class: "fault" }, fault) : null,
    make("div", { class: "ends" }, ...ends),
    make("div", { class: "moves" },
      button("earlier", "◀", "Earlier", () => reorder(part.number, place - 1), place === 0),
      button("later", "▶", "Later", () => reorder(part.number, place + 1), place === state.parts.length - 1),
      ...field("place", "Place", place + 1, 1, state.parts.length, 0, to => reorder(part.number, Math.round(to) - 1))));
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
const reorder = (number, place) => {
  if (place < 0 || place >= state.parts.length || place === placeOf(number)) return;
  return send("/api/decide", { action: "reorder", segment: number, place }, `Now at place ${place + 1}: ${nameOf({ number })}.`);
};
const setEnds = (part, start, end) => send("/api/decide", { action: "set_ends", segment: part.number, start_s: start, end_s: end }, `Other ends: ${nameOf(part)}.`);

document.addEventListener("keydown", event => {
  const isControl = event.ctrlKey || event.metaKey, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (!reel || event.isComposing || event.target.closest("dialog") || event.target.matches("input")) return;
  const number = Number(event.target.closest("li")?.dataset.number ?? state.parts[0].number), step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (step && event.altKey) {
    event.preventDefault(); // else the browser goes back
    return reorder(number, placeOf(number) + step);
  }
  if (event.altKey || (isControl && !["z", "y", "s"].includes(key))) return;
  if (step) {
    const next = state.parts[placeOf(number) + (event.target.closest("li") ? step : 0)];
    if (next) itemOf(next.number).querySelector(".shot").focus();
  } else {
    const act = isControl && event.shiftKey && key === "z" ? redo : { z: undo, y: redo, s: save }[key];
    if (!act) return;
    act();
  }
  event.preventDefault();
});
load().then(about => {
  reel = about;
  byId("name").textContent = reel.record;
  document.title = `${reel.record} – vidsum edit`;
  const faults = [...new Set(reel.segments.filter(segment => segment.fault).map(segment => `${segment.name}: ${segment.fault}`))];
  show(about);
  if (faults.length) say(`Leave these out, or put the files back: ${faults.join("; ")}.`, true);
  else say("Framed pictures are in the film.");
}).catch(error => say(error.message, true));
