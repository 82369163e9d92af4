// plays parts of many files one after the other: originals where the browser can, else parts that the server encodes
import { get } from "/server.js";

// `page` has the elements video and image, and begin(part), over(), refused(part); a part has source, start_s, end_s and isPhoto
const reelPlayerOf = page => {
  const { video, image } = page, known = new Map(); // by source: what the server says of the file
  let queue = [], now = null, timer = null, round = 0; // `round` tells whether something else was started meanwhile
  const inner = playerOf(video, () => next());

  const clear = () => {
    round += 1;
    clearTimeout(timer);
    video.pause();
    now = null;
  };
  const stop = () => { queue = []; clear(); };
  const show = isPhoto => { video.hidden = isPhoto; image.hidden = !isPhoto; };
  const load = address => { if (video.getAttribute("src") !== address) video.src = address; };
  const next = () => {
    clear();
    const part = queue.shift();
    if (part) start(part); else page.over();
  };
  const start = async part => {
    now = part;
    page.begin(part);
    show(part.isPhoto);
    const begun = round;
    if (part.isPhoto) {
      image.src = `/photograph/${part.source}`;
      timer = setTimeout(next, 1000 * (part.end_s - part.start_s));
      return;
    }
    try {
      if (!known.has(part.source)) known.set(part.source, await get(`/source/${part.source}`));
    } catch (error) {
      if (begun === round) page.refused(part, error.message);
      return;
    }
    if (begun === round) playVideo(part);
  };
  // where a time of the part's source is on the clock of the player
  const offset = part => { const { offset_s, is_playable: isPlayable } = known.get(part.source); return isPlayable ? offset_s : -part.start_s; };
  const playVideo = part => {
    const { is_playable: isPlayable } = known.get(part.source);
    load(isPlayable ? `/video/${part.source}` : `/part/${part.source}?start=${part.start_s}&end=${part.end_s}`);
    inner.play([{ start: part.start_s + offset(part), end: part.end_s + offset(part) }]);
  };
  const encode = () => { // the browser cannot play the original
    if (!now || now.isPhoto || !known.has(now.source)) return;
    const about = known.get(now.source);
    if (!about.is_playable) return page.refused(now, "The browser cannot play this part.");
    about.is_playable = false;
    playVideo(now);
  };
  video.addEventListener("error", encode);
  video.addEventListener("loadedmetadata", () => { if (!video.videoWidth) encode(); }); // sound alone
  return {
    play: parts => { queue = [...parts]; next(); },
    stop,
    get now() { return now; },
    // the playing time in the source of the part; null of a photograph, and where nothing plays
    get time() { return now && !now.isPhoto && known.has(now.source) ? video.currentTime - offset(now) : null; },
  };
};

export { reelPlayerOf };
