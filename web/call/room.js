// The page of a room: the lobby, the call, the tools.

import { CallConnection, settingsOf } from "./connection.js";
import { Tiles } from "./tiles.js";
import { alertOf, byId, getJson } from "./ui.js";

const room = decodeURIComponent(location.pathname.split("/")[1]);
const query = new URLSearchParams(location.search);
const token = query.get("token") ?? "";
const CAMERA = { width: { ideal: 640 }, height: { ideal: 360 }, frameRate: { ideal: 30 } };

const state = {
  camera: /** @type {MediaStreamTrack | null} */ (null),
  microphone: /** @type {MediaStreamTrack | null} */ (null),
  screen: /** @type {MediaStreamTrack | null} */ (null),
  isCameraOn: true,
  isMicrophoneOn: true,
};
let connection = null, tiles = null, people = [];
/** What tests and the console may look at. */
globalThis.airlane = { get connection() { return connection; }, get people() { return people; } };

const store = (act) => { try { return act(localStorage); } catch { return null; } };
const say = (text) => { byId("status").textContent = text; };
const press = (id, isPressed) => byId(id).setAttribute("aria-pressed", String(isPressed));

document.title = `${room} – Airlane call`;
byId("title").textContent = room;
say("Not joined yet.");

// The lobby: devices are asked for before anybody sees them.

async function openDevices() {
  const problems = [];
  const open = async (constraints) => {
    try {
      return (await navigator.mediaDevices.getUserMedia(constraints)).getTracks()[0];
    } catch (error) {
      problems.push(error.name === "NotAllowedError" ? "not allowed" : "not found");
      return null;
    }
  };
  if (!navigator.mediaDevices) {
    byId("devices").textContent =
      "This page was not loaded over HTTPS, so that the browser gives it no camera or microphone. You can watch and listen.";
    return;
  }
  try {
    const both = await navigator.mediaDevices.getUserMedia({ audio: true, video: CAMERA });
    state.microphone = both.getAudioTracks()[0];
    state.camera = both.getVideoTracks()[0];
  } catch {
    // One of them may be there alone.
    state.microphone = await open({ audio: true });
    state.camera = await open({ video: CAMERA });
  }
  const has = (track) => (track ? "ready" : problems[0] ?? "not found");
  byId("devices").textContent = `Microphone: ${has(state.microphone)}. Camera: ${has(state.camera)}.`;
}

function showLobby() {
  const hasVideo = Boolean(state.camera) && state.isCameraOn;
  const preview = /** @type {HTMLVideoElement} */ (byId("preview"));
  preview.hidden = !hasVideo;
  byId("no-preview").hidden = hasVideo;
  if (hasVideo && !preview.srcObject) preview.srcObject = new MediaStream([state.camera]);
  press("lobby-camera", hasVideo);
  press("lobby-microphone", Boolean(state.microphone) && state.isMicrophoneOn);
}

/** What is sent: the screen if it is shared, else the camera if it is on. */
function outgoing() {
  const isCameraOn = state.isCameraOn && state.camera;
  const video = state.screen ?? (isCameraOn ? state.camera : null);
  if (state.microphone) state.microphone.enabled = state.isMicrophoneOn;
  return { audio: state.microphone, video, isScreen: Boolean(state.screen) };
}

async function apply() {
  const tracks = outgoing();
  press("microphone", Boolean(state.microphone) && state.isMicrophoneOn);
  press("camera", Boolean(state.camera) && state.isCameraOn);
  press("screen", Boolean(state.screen));
  tiles?.setOwnStream(tracks.video ? new MediaStream([tracks.video]) : null);
  await connection?.setTracks(tracks);
}

async function join() {
  const name = /** @type {HTMLInputElement} */ (byId("name")).value.trim();
  store((s) => s.setItem("airlane-name", name));
  /** @type {HTMLButtonElement} */ (byId("join")).disabled = true;
  let settings;
  try {
    settings = await getJson(settingsOf(room, token));
  } catch (error) {
    alertOf(byId("alert"), error.message);
    /** @type {HTMLButtonElement} */ (byId("join")).disabled = false;
    return;
  }
  alertOf(byId("alert"), "");
  byId("lobby").hidden = true;
  byId("call").hidden = false;
  byId("tools").hidden = false;
  byId("copy").hidden = false;
  connection = new CallConnection({ room, name, settings, token });
  tiles = new Tiles(byId("tiles"), byId("sounds"), connection);
  connection.addEventListener("state", ({ detail }) => onState(detail));
  connection.addEventListener("people", ({ detail }) => onPeople(detail.people));
  connection.addEventListener("speaker", ({ detail }) => tiles.setSpeaker(detail.id));
  connection.addEventListener("quality", ({ detail }) => tiles.setQuality(detail.people));
  await apply();
  await connection.join();
  byId("microphone").focus();
}

function onState({ state: name, reason }) {
  if (name === "joining") say("Joining.");
  if (name === "up") say(countOf(people));
  alertOf(byId("alert"), name === "lost" ? `Not connected: ${reason}. Trying again.`
    : name === "refused" ? `You cannot join: ${reason}.` : "");
  if (name === "over" || name === "refused") {
    byId("tools").hidden = true;
    byId("call").hidden = true;
    say(name === "over" ? "You have left the call. Reload the page to join again." : "Not joined.");
  }
}

const countOf = (all) => all.length <= 1 ? "You are alone here: send somebody the link." : `${all.length} people.`;

function onPeople(all) {
  const names = new Map(people.map((person) => [person.id, person.name]));
  const isFirst = people.length === 0;
  const come = all.filter((person) => !names.has(person.id) && person.id !== connection.id);
  const ids = new Set(all.map((person) => person.id));
  const gone = people.filter((person) => !ids.has(person.id));
  people = all;
  tiles.show(all, connection.id);
  const news = isFirst ? [] : [
    ...come.map((person) => `${person.name} has joined.`), ...gone.map((person) => `${person.name} has left.`),
  ];
  say([...news, countOf(all)].join(" "));
}

// The tools.

const tools = {
  microphone() { state.isMicrophoneOn = !state.isMicrophoneOn; },
  camera() { state.isCameraOn = !state.isCameraOn; },
  async screen() {
    if (state.screen) {
      state.screen.stop();
      state.screen = null;
      return;
    }
    try {
      const stream = await navigator.mediaDevices.getDisplayMedia({ video: { frameRate: { ideal: 15 } } });
      const [track] = stream.getVideoTracks();
      track.contentHint = "detail";
      track.addEventListener("ended", () => {
        if (state.screen === track) state.screen = null;
        apply();
      });
      state.screen = track;
    } catch {
      // The choice was cancelled.
    }
  },
  details() {
    const isShown = byId("details").getAttribute("aria-pressed") !== "true";
    press("details", isShown);
    tiles.showReasons(isShown);
  },
};

for (const [id, act] of Object.entries(tools)) {
  byId(id).addEventListener("click", async () => {
    await act();
    await apply();
  });
}
byId("leave").addEventListener("click", () => {
  for (const track of [state.camera, state.microphone, state.screen]) track?.stop();
  connection.leave();
});
byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied.");
  } catch {
    say(`The link: ${location.href}`);
  }
});
for (const [id, key] of [["lobby-camera", "isCameraOn"], ["lobby-microphone", "isMicrophoneOn"]]) {
  byId(id).addEventListener("click", () => {
    state[key] = !state[key];
    showLobby();
  });
}
byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  join();
});
document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(/** @type {Element} */ (event.target).tagName);
  if (isTyping || byId("tools").hidden || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const id = { m: "microphone", v: "camera", s: "screen", d: "details" }[event.key.toLowerCase()];
  if (id) byId(id).click();
});
addEventListener("pagehide", () => connection && !connection.isOver && connection.leave());

/** @type {HTMLInputElement} */ (byId("name")).value = query.get("name") ?? store((s) => s.getItem("airlane-name")) ?? "";
await openDevices();
showLobby();
if (query.has("join")) join();
