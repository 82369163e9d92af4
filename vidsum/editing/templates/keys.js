// keys for all that the mouse does
const listen = page => {
  const { strip, video } = page;
  const step = sign => {
    const parts = page.parts(), unit = strip.film.units[strip.current];
    const next = sign > 0 ? parts.find(part => part.start_s >= unit[1] - 1e-3) : parts.findLast(part => part.end_s <= unit[0] + 1e-3);
    if (next) strip.go(strip.unitAt((next.start_s + Math.min(next.end_s, next.start_s + .5)) / 2));
  };
  const focusEnd = side => {
    const part = strip.partAt(strip.current);
    if (part) strip.handle(part, side)?.focus({ preventScroll: true });
  };
  const keys = {
    ArrowRight: () => strip.go(strip.current + 1), ArrowLeft: () => strip.go(strip.current - 1),
    PageDown: () => strip.go(strip.current + 10), PageUp: () => strip.go(strip.current - 10),
    Home: () => strip.go(0), End: () => strip.go(strip.widths.length - 1),
    ArrowDown: () => step(1), ArrowUp: () => step(-1),
    Enter: () => page.toggle(strip.current),
    " ": () => { if (video.paused) page.player.seek(Math.max(strip.film.units[strip.current][0], 0)); else video.pause(); },
    "[": () => focusEnd("start"), "]": () => focusEnd("end"),
    Escape: () => strip.go(strip.current),
    r: page.playResult, z: page.undo, y: page.redo, s: page.save, l: () => document.getElementById("limit").focus(),
    n: page.split, // null unless there are chapters
  };
  document.addEventListener("keydown", event => {
    const target = event.target, isControl = event.ctrlKey || event.metaKey;
    if (event.altKey || event.isComposing || event.defaultPrevented || target.closest("dialog")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (isControl && !["z", "y", "s"].includes(key)) return;
    if (target.matches("input:not([type]), select")) return;
    if (target.matches("input[type=range]") && key !== "Escape" && key.length > 1) return;
    if (target.matches("button:not(.shot), summary, input[type=checkbox]") && ["Enter", " "].includes(key)) return;
    if (target.matches("video, [role=slider]:not(.grip)") && (key.length > 1 || key === " ")) return;
    if (target.closest(".scroll:not(#strip), details") && key.startsWith("Arrow")) return;
    const act = isControl && event.shiftKey && key === "z" ? page.redo : keys[key];
    if (!act) return;
    event.preventDefault();
    act();
  });
};

export { listen };
