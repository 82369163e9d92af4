// the dialog that shows what is saved
import { get, load, post } from "/server.js";
import { byId, make } from "/strip.js";

document.body.append(make("dialog", { id: "saving", "aria-labelledby": "saving_title" },
  make("h2", { id: "saving_title" }, "Saving"),
  make("p", { id: "saving_text", role: "status" }),
  make("progress", { id: "saving_bar", max: 1, "aria-labelledby": "saving_title" }),
  make("ul", { id: "saving_files" }),
  make("div", { id: "saving_again", hidden: true }, make("p", {}, "The same again, from the command line:"), make("code", { id: "saving_command" })),
  make("form", { method: "dialog" }, make("button", { id: "saving_close" }, "Close"))));

// saves the result; `page` has the names of its files, show(state, text) and follow(text)
const saveAll = async page => {
  const dialog = byId("saving"), bar = byId("saving_bar");
  byId("saving_files").replaceChildren();
  byId("saving_again").hidden = true;
  byId("saving_title").textContent = "Saving";
  byId("saving_text").textContent = `Writing ${page.files.join(", ")}`;
  bar.hidden = false;
  if (!dialog.open) dialog.showModal();
  try {
    let known = await post("/api/save", {});
    while (known.state === "saving") {
      if (known.step) byId("saving_text").textContent = known.step;
      if (known.share) bar.value = known.share; else bar.removeAttribute("value");
      await new Promise(done => setTimeout(done, 200));
      known = await get("/api/save");
    }
    if (known.state === "failed") throw new Error(known.error);
    byId("saving_title").textContent = "Saved";
    byId("saving_text").textContent = known.warnings.join("; ");
    byId("saving_files").replaceChildren(...known.files.map(name => make("li", {}, name)));
    byId("saving_command").textContent = known.command;
    byId("saving_again").hidden = false;
    page.show(await load(), "Saved.");
  } catch (error) {
    byId("saving_title").textContent = "Not saved";
    byId("saving_text").textContent = error.isStale ? "Another page changed the result, which this page shows now. Save it if it is right." : error.message;
    if (error.isStale) await page.follow("It was not saved.");
  }
  bar.hidden = true;
};

export { saveAll };
