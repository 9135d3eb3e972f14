// Tiles of the people in a call.

import { arrange, arrangeWithBig } from "./arrangement.js";
import { format, make } from "./ui.js";

const SVG = "http://www.w3.org/2000/svg";
const GRADES = { good: "good", fair: "fair", poor: "poor" };

function bars() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 18 16");
  svg.setAttribute("aria-hidden", "true");
  [[1, 10, 6], [7, 6, 10], [13, 1, 15]].forEach(([x, y, height]) => {
    const rect = document.createElementNS(SVG, "rect");
    for (const [key, value] of Object.entries({ x, y, width: 4, height, rx: 1 })) rect.setAttribute(key, String(value));
    svg.append(rect);
  });
  return svg;
}

function initials(name) {
  const words = name.trim().split(/\s+/u);
  return words.slice(0, 2).map((word) => [...word][0] ?? "").join("").toUpperCase();
}

const rate = (bps) => bps >= 1e6 ? `${format(bps / 1e6, 1)} Mbit/s` : `${format(bps / 1e3)} kbit/s`;

/** Sentences on a connection, for people. */
export function reasonOf(name, quality) {
  const { capacity_bps: capacity, up_bps: up, down_bps: down, state, target_bps: target } = quality;
  const parts = [];
  if (capacity) {
    parts.push(`The channel of ${name} carries ${rate(capacity)}: ${rate(up)} go to the others, ${rate(down)} come from them.`);
  } else {
    parts.push(`${rate(up)} go from ${name} to the others, ${rate(down)} come from them.`);
  }
  if (target && state === "client") parts.push(`What ${name} sends is held to ${rate(target)}, so that more can come.`);
  if (target && state === "server") parts.push(`What ${name} gets is held to ${rate(target)}, so that more can be sent.`);
  return parts.join(" ");
}

/** A tile for each person, which keep their places. */
export class Tiles {
  constructor(list, sounds, connection) {
    Object.assign(this, { list, sounds, connection });
    this.tiles = new Map();
    this.ownStream = null;
    this.showsReasons = false;
    new ResizeObserver(() => this.arrange()).observe(list);
  }

  /** Shows these people; `own` is the number of who looks. */
  show(people, own) {
    const ids = new Set(people.map((person) => person.id));
    for (const [id, tile] of this.tiles) {
      // A server that was started again gives the numbers anew.
      if (!ids.has(id) || tile.isOwn !== (id === own)) {
        tile.item.remove();
        tile.sound?.remove();
        this.tiles.delete(id);
      }
    }
    for (const person of people) {
      const tile = this.tiles.get(person.id) ?? this.#add(person, person.id === own);
      this.#update(tile, person);
    }
    this.arrange();
  }

  #add(person, isOwn) {
    const item = make("li", isOwn ? "tile own" : "tile");
    const video = /** @type {HTMLVideoElement} */ (make("video", "", undefined, { playsinline: "", autoplay: "" }));
    video.muted = true;
    const circle = make("span", "initials", "", { "aria-hidden": "true" });
    const label = make("div", "label");
    const name = make("span", "name"), state = make("span", "state");
    const quality = make("button", "quality", undefined, { type: "button", "aria-expanded": "false" });
    quality.append(bars());
    label.append(name, state, quality);
    const reason = make("p", "reason");
    reason.hidden = true;
    item.append(circle, video, label, reason);
    this.list.append(item);
    const tile = { item, video, circle, name, state, quality, reason, isOwn, isOpen: false };
    quality.addEventListener("click", () => {
      tile.isOpen = !tile.isOpen;
      this.#showReason(tile);
    });
    this.tiles.set(person.id, tile);
    return tile;
  }

  #update(tile, person) {
    tile.person = person;
    const { item, video, circle, name, state } = tile;
    name.textContent = tile.isOwn ? `${person.name} (you)` : person.name;
    circle.textContent = initials(person.name);
    state.textContent = [person.has_audio ? "" : "muted", person.is_screen ? "screen" : ""].filter(Boolean).join(", ");
    item.classList.toggle("is-screen", person.is_screen);
    video.setAttribute("aria-label", person.is_screen ? `Screen of ${person.name}` : `Video of ${person.name}`);
    const track = tile.isOwn ? this.ownStream?.getVideoTracks()[0] ?? null : this.#track(person.video_mid);
    setTrack(video, track);
    video.hidden = !person.has_video || !track;
    if (!tile.isOwn) this.#sound(tile, this.#track(person.audio_mid));
    this.#label(tile);
  }

  #track(mid) {
    return mid ? this.connection.trackOf(mid) : null;
  }

  #sound(tile, track) {
    if (!tile.sound) {
      tile.sound = make("audio", "", undefined, { autoplay: "" });
      this.sounds.append(tile.sound);
    }
    setTrack(tile.sound, track);
  }

  /** Shows the own camera or screen. */
  setOwnStream(stream) {
    this.ownStream = stream;
    for (const tile of this.tiles.values()) if (tile.isOwn) this.#update(tile, tile.person);
  }

  setSpeaker(id) {
    for (const [of, tile] of this.tiles) tile.item.classList.toggle("speaks", of === id);
  }

  setQuality(people) {
    for (const quality of people) {
      const tile = this.tiles.get(quality.id);
      if (!tile) continue;
      tile.quality.dataset.grade = GRADES[quality.grade] ?? "fair";
      tile.reason.textContent = reasonOf(tile.person.name, quality);
      this.#label(tile);
    }
  }

  #label(tile) {
    const grade = tile.quality.dataset.grade;
    const text = grade ? `Connection of ${tile.person.name}: ${grade}` : `Connection of ${tile.person.name}`;
    tile.quality.setAttribute("aria-label", text);
    tile.quality.title = text;
  }

  /** Shows or hides the reasons of all. */
  showReasons(isShown) {
    this.showsReasons = isShown;
    for (const tile of this.tiles.values()) this.#showReason(tile);
  }

  #showReason(tile) {
    const isShown = this.showsReasons || tile.isOpen;
    tile.reason.hidden = !isShown;
    tile.quality.setAttribute("aria-expanded", String(isShown));
  }

  /** Gives the tiles their sizes. */
  arrange() {
    const { clientWidth: width, clientHeight: height } = this.list;
    const gap = parseFloat(getComputedStyle(this.list).columnGap) || 0;
    const all = [...this.tiles.values()];
    const screen = all.find((tile) => tile.person.is_screen && !tile.isOwn);
    for (const tile of all) tile.item.classList.toggle("big", tile === screen);
    if (screen) {
      if (this.list.firstChild !== screen.item) this.list.prepend(screen.item);
      const sizes = arrangeWithBig(all.length - 1, { width, height, gap });
      this.list.style.setProperty("--big-width", `${sizes.big}px`);
      this.list.style.setProperty("--width", `${sizes.width}px`);
    } else {
      this.list.style.setProperty("--width", `${arrange(all.length, { width, height, gap }).width}px`);
    }
  }
}

/** Shows a track in an element, if it does not yet. */
function setTrack(element, track) {
  const before = element.srcObject?.getTracks()[0] ?? null;
  if (before === track) return;
  element.srcObject = track ? new MediaStream([track]) : null;
}
