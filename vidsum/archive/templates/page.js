"use strict";
const byId = id => document.getElementById(id);
const form = document.querySelector("form"), video = document.querySelector("video"), lane = document.querySelector(".chart svg");
const SEVERAL = ["and", "not", "then", "path"];
const KINDS = { picture: "picture", speech: "speech", text: "text on screen", sound: "sound", described: "descriptions" };
const facts = new Map(), picked = new Map();
// a page without a server holds its data
const stored = JSON.parse(document.getElementById("stored")?.textContent || "null");
let archive = { unlikely: 0, latest: [] }, hits = [], displayed = null, current = null, pending = null;
const player = playerOf(video, () => { byId("now").textContent = "The moment is over. Space plays on."; }, () => {
  const text = byId("now").textContent; // a page that was opened by a link may not play by itself
  byId("now").textContent = "The browser does not start a video by itself. Press Space to play.";
  video.addEventListener("play", () => { byId("now").textContent = text; }, { once: true });
});

const make = (tag, attributes = {}, ...children) => {
  const svg = ["line", "rect"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter(child => child !== null && child !== ""));
  return element;
};
const tenths = seconds => { const all = Math.round(10 * seconds); return `${clock(all / 10)}.${all % 10}`; };
const times = (start, until) => `${tenths(start)} – ${tenths(until)}`;
const split = path => { const at = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")); return [path.slice(0, at + 1), path.slice(at + 1)]; };
const percent = share => `${Math.round(Math.min(100 * share, 99))} %`; // nothing is certain
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const params = () => new URLSearchParams(location.hash.slice(1));
const thumb = shot => stored ? stored.thumbs[shot] : `/thumb/${encodeURIComponent(shot)}.jpg`;
const pictured = about => about.shots.filter(shot => thumb(shot.id));
const shotAt = (about, time) => pictured(about).findLast(shot => shot.start_s <= time) || pictured(about)[0];

const answer = async (url, options) => {
  const response = await fetch(url, options).catch(error => {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is vidsum serve still running?");
  });
  if (response.ok) return response;
  throw new Error((await response.json()).error);
};
const json = async (url, options) => (await answer(url, options)).json();
const say = (text, isFault = false) => {
  Object.assign(byId("status"), { textContent: text, className: isFault ? "soft fault" : "soft" });
};
const about = id => {
  if (stored) return Promise.resolve(stored.videos[id]);
  if (!facts.has(id)) facts.set(id, json(`/api/video/${id}`).catch(error => { facts.delete(id); throw error; }));
  return facts.get(id);
};

// the address holds what is currentQuery for, and what plays: v and t
const currentQuery = () => {
  const query = params();
  for (const name of ["v", "t"]) query.delete(name);
  return query;
};
const linkTo = (id, start = null, until = null) => {
  const query = currentQuery();
  query.set("v", id);
  if (start !== null) query.set("t", until === null ? start.toFixed(2) : `${start.toFixed(2)}-${until.toFixed(2)}`);
  return `#${query}`;
};
const ask = change => {
  const query = new URLSearchParams();
  for (const field of form.elements) {
    if (!field.name || field.type === "radio" && !field.checked) continue;
    const texts = SEVERAL.includes(field.name) ? field.value.split(";") : [field.value];
    for (const text of texts) if (text.trim()) query.append(field.name, text.trim());
  }
  for (const shot of currentQuery().getAll("like")) query.append("like", shot);
  change(query);
  if (`#${query}` === location.hash) { displayed = null; show(); } else location.hash = query;
};

const scrubbed = (frame, id, shot, start, until, duration) => {
  const image = make("img", { alt: "", loading: "lazy", decoding: "async" });
  const range = duration ? make("i") : "", head = make("i", { class: "head", hidden: true });
  const time = make("span", { class: "time" });
  const rest = () => {
    image.src = thumb(shot);
    time.textContent = duration ? times(start, until) : clock(until);
    head.hidden = true;
  };
  const place = time_s => 100 * Math.min(1, time_s / duration); // speech may go on after the last picture
  if (range) Object.assign(range.style, { left: `${place(start)}%`, width: `${place(until) - place(start)}%` });
  rest();
  frame.append(image, time, make("span", { class: "lane" }, range, head));
  frame.addEventListener("pointermove", async event => {
    if (event.pointerType !== "mouse") return;
    const box = frame.getBoundingClientRect(), share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    frame.inside = true;
    const known = await about(id).catch(() => null);
    if (!known || !frame.inside) return;
    if (!frame.loaded) frame.loaded = pictured(known).slice(0, 200).map(shot => Object.assign(new Image(), { src: thumb(shot.id) }));
    const at = share * known.duration_s;
    image.src = thumb(shotAt(known, at).id);
    time.textContent = clock(at);
    head.hidden = false;
    head.style.left = `${100 * share}%`;
  });
  frame.addEventListener("pointerleave", () => { frame.inside = false; rest(); });
  return frame;
};

const momentKey = moment => `${moment.id}:${moment.start_s}:${moment.end_s}`;
const card = moment => {
  const unsure = moment.present !== null && moment.present < archive.unlikely, said = moment.evidence !== "picture";
  const score = moment.present === null ? moment.score.toFixed(2) : percent(moment.present);
  const why = said ? KINDS[moment.evidence] : moment.parts.length ? `${moment.parts.length} steps` : "picture";
  const range = times(moment.start_s, moment.end_s);
  const copies = moment.also.map(path => split(path)[1]);
  const frame = scrubbed(make("span", { class: "frame" }), moment.id, moment.shot, moment.start_s, moment.end_s, moment.duration_s);
  const link = make("a", { class: `cut${said ? " said" : ""}${unsure ? " unsure" : ""}`, href: linkTo(moment.id, moment.start_s, moment.end_s), "data-key": momentKey(moment), onclick: replay },
    frame,
    make("span", { class: "text" },
      make("b", { class: "match" }, make("span", { class: "unseen" }, moment.present === null ? "score " : "match "), score), make("span", {}, why),
      moment.text ? make("q", {}, moment.text) : "",
      copies.length ? make("span", { class: "line", title: copies.join(", ") }, `also in ${count(copies.length, "video")}`) : ""));
  const box = make("input", { type: "checkbox", title: "Select", "aria-label": `Select ${range} of ${split(moment.video)[1]}`, onchange: () => pick(moment, box.checked) });
  box.checked = picked.has(momentKey(moment));
  return make("li", { class: "moment" }, link, stored ? "" : make("div", { class: "acts" },
    box,
    make("button", { type: "button", "aria-label": `More like ${range} of ${split(moment.video)[1]}`, onclick: () => like(moment.shot) }, "More like this")));
};
const group = moments => {
  const [folder, name] = split(moments[0].video);
  return make("section", { class: "group", "aria-label": name },
    make("h2", {}, make("a", { href: linkTo(moments[0].id) }, name)), make("p", { class: "soft" }, folder),
    make("ol", { class: "cards" }, ...moments.map(card)));
};
const videoCard = about => make("li", {}, make("a", { class: "cut", href: linkTo(about.id), title: about.video },
  scrubbed(make("span", { class: "frame" }), about.id, about.shot, 0, about.duration_s, 0), make("span", { class: "text" }, split(about.video)[1])));

const list = () => {
  const groups = new Map();
  for (const moment of hits) groups.set(moment.id, [...groups.get(moment.id) || [], moment]);
  const all = [...groups.values()];
  const isLikely = moments => moments[0].present === null || moments[0].present >= archive.unlikely;
  const likely = all.filter(isLikely), others = all.filter(moments => !isLikely(moments));
  byId("results").replaceChildren(...likely.map(moments => group(moments)),
    ...(others.length ? [make("h2", {}, `Below ${percent(archive.unlikely)}: unlikely to show it`)] : []), ...others.map(moments => group(moments)));
};
const tell = (moments, warnings) => {
  const videos = new Set(moments.map(moment => moment.id)).size, best = Math.max(...moments.map(moment => moment.present ?? 1));
  const doubt = best < archive.unlikely ? "Probably not in these videos. Nearest: " : best < archive.sure ? "No sure match. Nearest: " : "";
  say([moments.length ? `${doubt}${count(moments.length, "moment")} in ${count(videos, "video")}` : "Nothing found", ...warnings].join(". "));
};
const search = async (query, text) => {
  byId("more").hidden = true;
  pending?.abort();
  if (!stored && !query.has("q") && !query.has("like")) {
    hits = [];
    byId("results").replaceChildren(make("ol", { class: "cards latest" }, ...archive.latest.map(videoCard)));
    say(archive.videos ? (archive.latest.length < archive.videos ? "The latest videos" : "") : "The archive has no videos yet: vidsum index FOLDER");
    return;
  }
  pending = new AbortController();
  say("Searching …");
  try {
    const result = stored || await json(`/api/search?${text}`, { signal: pending.signal });
    hits = result.moments;
    list();
    tell(hits, result.warnings);
    byId("more").hidden = stored || hits.length < Number(query.get("k") || 20);
  } catch (error) {
    if (error.name === "AbortError") return;
    hits = [];
    say(error.message, true);
    list();
  }
};
const like = shot => { form.reset(); location.hash = new URLSearchParams({ like: shot }); scrollTo(0, 0); };

const show = async () => {
  const query = currentQuery(), text = String(query), at = params();
  if (text !== displayed) {
    displayed = text;
    for (const field of form.elements) {
      const text = query.getAll(field.name).join("; ");
      if (field.type === "radio") field.checked = field.value === text; else if (field.name) field.value = text;
    }
    const open = [...query.keys()].some(name => !["q", "like", "k"].includes(name)) || !byId("filters").hidden;
    unfold(open);
    byId("like").hidden = !query.has("like");
    byId("like").replaceChildren(...query.getAll("like").map(shot => make("img", { src: thumb(shot), alt: "" })), "Looks like this",
      make("button", { type: "button", onclick: () => ask(query => query.delete("like")) }, "Leave out"));
    if (!stored) document.title = query.has("q") ? `${query.get("q")} – vidsum` : "vidsum";
    await search(query, text);
    if (text !== displayed) return;
  }
  if (at.has("v")) play(at.get("v"), at.get("t") || "");
  else close();
};
const unfold = open => {
  byId("filters").hidden = !open;
  byId("filter").setAttribute("aria-expanded", String(open));
};

const play = async (id, range) => {
  const [start, until] = range.split("-").map(Number);
  let known;
  try { known = await about(Number(id)); } catch (error) { say(error.message, true); close(); return; }
  current = { ...known, start, until };
  for (const cut of document.querySelectorAll(".cut[aria-current]")) cut.removeAttribute("aria-current");
  const chosen = [...document.querySelectorAll(".cut")].find(cut => cut.hash === location.hash);
  chosen?.setAttribute("aria-current", "true");
  if (byId("player").hidden) requestAnimationFrame(() => chosen?.scrollIntoView({ block: "nearest" }));
  byId("columns").classList.add("columns");
  byId("player").hidden = false;
  const [folder, name] = split(known.video);
  const texts = { name, where: folder, now: until ? `Moment ${times(start, until)}` : "" };
  for (const [id, text] of Object.entries(texts)) byId(id).textContent = text;
  byId("again").hidden = !until;
  byId("clip").hidden = stored || !until;
  ticks(document.querySelector(".axis"), known.duration_s);
  draw();
  if (video.dataset.id !== String(known.id)) {
    video.dataset.id = known.id;
    if (!stored || known.source) video.src = stored ? known.source : `/video/${known.id}`;
    describe();
    read(false);
  }
  if (stored && !known.source) { video.removeAttribute("src"); byId("now").textContent = "The video is missing."; }
  if (until) player.play([{ start, end: until }]); else player.seek(start || 0);
};
const close = () => {
  video.pause();
  video.removeAttribute("src");
  delete video.dataset.id;
  video.load();
  current = null;
  byId("player").hidden = true;
  read(false);
  byId("columns").className = "";
};
const draw = () => {
  const x = time => (1000 * time / current.duration_s).toFixed(2);
  const band = (from, to, kind) => make("rect", { class: kind, x: x(from), y: 0, width: x(Math.max(to - from, current.duration_s / 500)), height: 100 });
  const limit = time => make("line", { class: "limit", x1: x(time), x2: x(time), y1: 0, y2: 100 });
  const others = hits.filter(moment => moment.id === current.id && moment.start_s !== current.start);
  lane.replaceChildren(...current.shots.filter((_, number) => number % 2).map(shot => band(shot.start_s, shot.end_s, "shot")),
    ...others.map(moment => band(moment.start_s, moment.end_s, `chosen${moment.evidence === "picture" ? "" : " said"}`)),
    ...(current.until ? [band(current.start, current.until, "chosen best"), limit(current.start), limit(current.until)] : []),
    make("line", { class: "head", x1: 0, x2: 0, y1: 0, y2: 100 }));
};
const describe = () => {
  const link = (time, until, ...children) => make("a", { href: linkTo(current.id, time, until), "data-start": time, onclick: replay }, ...children);
  const view = (shot, time, until = null) => make("li", {}, link(time, until, make("img", { src: thumb(shot.id), alt: "", loading: "lazy" }), clock(time)));
  const fill = (id, items) => { byId(id).hidden = !items.length; byId(id).querySelector("ol").replaceChildren(...items); };
  byId("shots").querySelector("summary").textContent = count(pictured(current).length, "picture");
  fill("shots", pictured(current).map(shot => view(shot, shot.start_s)));
  for (const id of ["said", "written", "described"]) fill(id, current[id].map(text => make("li", {}, link(text.start_s, null, make("span", {}, clock(text.start_s)), text.text))));
};
// the text of the video as a document, in place of the moments
const read = isOpen => {
  const passages = current?.passages || [], picture = time => {
    const shot = current.shots.findLast(shot => shot.start_s <= time + .01), source = shot && thumb(shot.id);
    return source ? make("img", { src: source, alt: "", loading: "lazy" }) : "";
  };
  const frame = time => make("a", { href: linkTo(current.id, time), "data-start": time }, picture(time), clock(time));
  const texts = ({ said, written }) => make("div", { class: "texts" },
    said.length ? make("p", {}, ...said.flatMap(text => [make("span", { "data-start": text.start_s }, text.text), " "])) : "",
    written.length ? make("p", { class: "written" }, make("span", { class: "unseen" }, "On screen: "), written.join(" · ")) : "");
  const isSilent = passage => !passage.said.length && !passage.written.length;
  byId("read").hidden = !passages.length;
  byId("read").setAttribute("aria-pressed", String(isOpen));
  byId("document").hidden = !isOpen;
  byId("columns").classList.toggle("reads", isOpen);
  byId("text").textContent = byId("name").textContent;
  byId("reading").replaceChildren(...(isOpen ? passages : []).map(passage => make("li", { class: isSilent(passage) ? "passage silent" : "passage" },
    make("div", { class: "frames" }, ...passage.shots.filter((_, number, all) => number % Math.ceil(all.length / 8) === 0).map(([start]) => frame(start))),
    isSilent(passage) ? "" : texts(passage))));
  byId("words").value = "";
  byId("words").dispatchEvent(new Event("input"));
};
const replay = event => {
  if (event.currentTarget.hash === location.hash && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); show(); }
};

const pick = (moment, isPicked) => {
  if (isPicked) picked.set(momentKey(moment), moment); else picked.delete(momentKey(moment));
  document.querySelector(".picked").hidden = !picked.size;
  byId("count").textContent = `${count(picked.size, "moment")} selected`;
};
const save = async (button, url, moments, more = {}) => {
  const list = moments.map(moment => ({ id: moment.id, start_s: moment.start_s, end_s: moment.end_s }));
  const status = byId(button.closest(".player") ? "now" : "saving");
  button.disabled = true;
  status.textContent = `Saving ${count(list.length, "moment")} …`;
  try {
    const response = await answer(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ moments: list, ...more }) });
    const name = decodeURIComponent(response.headers.get("Content-Disposition").split("''")[1]);
    const link = make("a", { href: URL.createObjectURL(await response.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    status.textContent = `Saved ${name}`;
  } catch (error) {
    status.textContent = error.message;
  }
  button.disabled = false;
};

form.addEventListener("submit", event => { event.preventDefault(); ask(() => {}); });
byId("filter").addEventListener("click", () => unfold(byId("filters").hidden));
byId("filters").addEventListener("change", () => { if (currentQuery().has("q") || currentQuery().has("like")) ask(() => {}); });
byId("more").addEventListener("click", () => ask(query => query.set("k", 3 * Number(currentQuery().get("k") || 20))));
byId("close").addEventListener("click", () => leave());
readable(byId("reading"), byId("words"), document.querySelector("#document output"), time => player.seek(time));
byId("read").addEventListener("click", () => read(byId("document").hidden));
byId("again").addEventListener("click", () => player.play([{ start: current.start, end: current.until }]));
byId("alike").addEventListener("click", () => like(shotAt(current, video.currentTime).id));
byId("clip").addEventListener("click", event => save(event.currentTarget, "/api/clip", [{ id: current.id, start_s: current.start, end_s: current.until }]));
byId("clips").addEventListener("click", event => save(event.currentTarget, "/api/clip", [...picked.values()]));
byId("timeline").addEventListener("click", event => save(event.currentTarget, "/api/timeline", [...picked.values()], { format: byId("format").value, query: params().get("q") }));
byId("clear").addEventListener("click", () => {
  picked.clear();
  for (const box of document.querySelectorAll(".moment input")) box.checked = false;
  pick({}, false);
});
pointed(lane, {
  duration: () => current.duration_s,
  now: () => video.currentTime,
  picture: time => { const shot = shotAt(current, time); return shot && thumb(shot.id); },
  go: time => player.seek(time),
});
video.addEventListener("error", () => {
  const id = video.dataset.id;
  if (!id) return;
  if (stored) { byId("now").textContent = `The browser cannot play ${video.getAttribute("src")}.`; return; }
  answer(`/video/${id}`, { headers: { Range: "bytes=0-0" } })
    .then(() => "The browser cannot play this video. A saved clip is an MP4 that it can play.", error => error.message)
    .then(text => { if (video.dataset.id === id) byId("now").textContent = text; });
});
video.addEventListener("timeupdate", () => {
  if (!current) return;
  headAt(lane, video.currentTime, current.duration_s);
  for (const panel of ["said", "written", "described", "shots"].map(byId)) follow(panel, video.currentTime);
  mark([...document.querySelectorAll(".texts [data-start]")], video.currentTime);
});
const leave = () => {
  const chosen = document.querySelector(".cut[aria-current]");
  location.hash = currentQuery();
  (chosen || byId("q")).focus();
};

const step = key => {
  const cuts = [...document.querySelectorAll(".cut")], at = cuts.indexOf(document.activeElement);
  if (at < 0 || key === "ArrowRight" || key === "ArrowLeft") return cuts[at < 0 ? 0 : at + (key === "ArrowRight" ? 1 : -1)];
  const place = cut => { const box = cut.getBoundingClientRect(); return [box.left + box.width / 2, box.top]; };
  const [x, y] = place(cuts[at]), sign = key === "ArrowDown" ? 1 : -1;
  const ahead = cuts.map(cut => [cut, ...place(cut)]).filter(([, , top]) => sign * (top - y) > 20);
  return (ahead.sort((a, b) => Math.hypot(a[1] - x, a[2] - y) - Math.hypot(b[1] - x, b[2] - y))[0] || [])[0];
};
document.addEventListener("keydown", event => {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (event.key === "Escape") {
    if (target.matches("input, select")) target.blur(); else if (current) leave();
  } else if (target.matches("input:not([type=checkbox]), select, video")) {
    return;
  } else if (event.key === "/") {
    byId("q").select();
  } else if (event.key === " " && current && !target.matches("button, input, summary")) {
    if (video.paused) video.play().catch(() => {}); else video.pause();
  } else if (event.key.startsWith("Arrow") && !target.closest(".scroll")) {
    step(event.key)?.focus();
  } else {
    return;
  }
  event.preventDefault();
});

// a filter for each kind of evidence; what the archive lacks cannot be chosen, and is named with the command that adds it
const offer = known => {
  const kinds = known.evidence.filter(({ kind, videos, flag }) => kind === "picture" || videos || flag);
  const absent = kinds.filter(({ videos, flag }) => !videos && flag);
  byId("kinds").append(...[{ kind: "" }, ...kinds].map(each => make("label", {},
    make("input", { type: "radio", name: "in", value: each.kind, disabled: absent.includes(each) }), KINDS[each.kind] || "all")));
  byId("absent").hidden = !absent.length;
  byId("absent").append(`Not in this archive: ${absent.map(({ kind }) => KINDS[kind]).join(", ")}. To add: `,
    make("code", {}, [known.index, ...absent.map(({ flag }) => flag)].join(" ")));
};

addEventListener("hashchange", show);
if (stored) {
  archive = stored;
  form.hidden = byId("alike").hidden = byId("key").hidden = true;
  byId("title").textContent = stored.title;
  byId("made").textContent = `Made by vidsum ${stored.version}.`;
  show();
} else json("/api/archive").then(known => {
  archive = known;
  byId("about").textContent = `${count(known.videos, "video")}, ${clock(known.seconds)} in all${known.evidence.map(({ kind, videos }) => videos && kind !== "picture" ? `, ${videos} with ${KINDS[kind]}` : "").join("")}`;
  byId("about").title = known.archive;
  byId("made").textContent = `Made by vidsum ${known.version}.${known.outdated ? ` ${count(known.outdated, "video")} must be indexed again: vidsum index` : ""}`;
  offer(known);
  if (location.search) history.replaceState(null, "", `/#${location.search.slice(1)}`); // a query that was typed as /?q=
  show();
}).catch(error => say(error.message, true));
