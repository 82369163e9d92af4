// what the pages of all results do: say what happened, undo, redo, save, and show what another page did
import { load } from "/server.js";
import { saveAll } from "/saving.js";
import { byId } from "/strip.js";

const say = (text, isFault = false) => Object.assign(byId("status"), { textContent: text, className: isFault ? "fault" : "" });
const showActs = state => {
  byId("undo").disabled = !state.undo;
  byId("redo").disabled = !state.redo;
  byId("saved").textContent = state.is_saved ? "Saved" : "Not saved yet; no decision is lost if you close the page";
};
// `page` has the noun of its result, state(), null before there is one, files(), show(state, text) and send(path, document, text)
const actsOf = page => {
  const follow = async text => {
    try {
      const next = await load(), state = page.state();
      if (text || next.revision !== state.revision || next.is_saved !== state.is_saved) page.show(next, `Another page changed the ${page.noun}, which this page shows now. ${text}`);
    } catch (error) { say(error.message, true); }
  };
  const undo = () => page.state().undo && page.send("/api/undo", {}, "Undone.");
  const redo = () => page.state().redo && page.send("/api/redo", {}, "Done again.");
  const save = () => saveAll({ files: page.files(), show: page.show, follow });
  for (const [name, act] of Object.entries({ undo, redo, save })) byId(name).addEventListener("click", act);
  document.addEventListener("visibilitychange", () => { if (page.state() && !document.hidden) follow(""); });
  return { follow, undo, redo, save };
};

export { actsOf, say, showActs };
