// Connection of a page with the conference server: one offer, one data channel, no renegotiation.

import { getJson } from "./ui.js";
import { encodingsOf, inOrder, underCeiling, upTo, videoBps, withDiscontinuousOpus } from "./encodings.js";

/** Interval of reports to the server, ms. */
const REPORT_MS = 250;
/** Time without connectivity after which the page joins anew, and the waits before that, ms. */
const LOST_MS = 6000;
const RETRY_MS = [500, 1000, 2000, 4000, 8000];
/** Time in which the server has to answer, ms: what was asked while the link was dead is asked again. */
const ANSWER_TIMEOUT_MS = 8000;
/** Silence of the server after which nothing is held, ms. */
const NOTICE_TIMEOUT_MS = 3000;
/** Bitrate of a camera's video and of a screen's at most, bit/s. */
export const CAMERA_BPS = 800_000;
export const SCREEN_BPS = 2_500_000;

/** Where the settings of a room are. */
export const settingsOf = (room, token) => `/${room}/settings${token ? `?token=${encodeURIComponent(token)}` : ""}`;

/** Codecs of video that this browser can send in layers, of those named. */
async function layeredCodec(names, maxBps) {
  const known = RTCRtpSender.getCapabilities("video")?.codecs ?? [];
  for (const name of names) {
    if (!known.some((codec) => codec.mimeType.toLowerCase() === `video/${name.toLowerCase()}`)) continue;
    const trial = new RTCPeerConnection();
    try {
      const transceiver = trial.addTransceiver("video", { direction: "sendonly", sendEncodings: encodingsOf(name, maxBps) });
      transceiver.setCodecPreferences(inOrder(known, [name]));
      await trial.setLocalDescription();
      return name;
    } catch {
      // Without layers in this codec: the next one.
    } finally {
      trial.close();
    }
  }
  return null;
}

/**
 * A participation. Events: `state` (detail: joining, up, lost, refused, over), `people`, `speaker`, `quality`
 * (detail: what the server says).
 */
export class CallConnection extends EventTarget {
  constructor({ room, name, settings, token = "" }) {
    super();
    Object.assign(this, { room, name, settings, token });
    this.tracks = { audio: null, video: null };
    this.tracksState = { audio: false, video: false, screen: false };
    this.id = null;
    this.ceiling = { epoch: null, bps: null };
    this.maxEncoding = Infinity;
    this.applying = Promise.resolve();
    this.attempts = 0;
    this.isOver = false;
    this.limits = [];
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  /** Joins, and again whenever the connection is lost. */
  async join() {
    if (this.isOver) return;
    this.#emit("state", { state: "joining" });
    try {
      await this.#connect();
      this.attempts = 0;
    } catch (error) {
      this.#close();
      if (error.isFinal) {
        this.isOver = true;
        this.#emit("state", { state: "refused", reason: error.message });
        return;
      }
      this.#retry(error.message);
    }
  }

  #retry(reason) {
    if (this.isOver || this.timer) return;
    const wait = RETRY_MS[Math.min(this.attempts, RETRY_MS.length - 1)];
    this.attempts += 1;
    this.#emit("state", { state: "lost", reason });
    this.timer = setTimeout(() => {
      this.timer = null;
      this.join();
    }, wait);
  }

  async #connect() {
    // Credentials of a TURN server expire: who joins again gets new ones.
    if (this.settings.ice_servers.length > 0) this.settings = await getJson(settingsOf(this.room, this.token));
    await this.#endSession();
    if (this.isOver) return;
    const pc = new RTCPeerConnection({ bundlePolicy: "max-bundle", iceServers: this.settings.ice_servers });
    this.pc = pc;
    const maxBps = Math.min(CAMERA_BPS, this.settings.max_bitrate_bps);
    this.codec ??= await layeredCodec(this.settings.codecs, maxBps) ?? "";
    this.audio = pc.addTransceiver(this.tracks.audio ?? "audio", { direction: "sendonly" }).sender;
    const layers = this.codec ? { sendEncodings: encodingsOf(this.codec, maxBps) } : {};
    const video = pc.addTransceiver(this.tracks.video ?? "video", { direction: "sendonly", ...layers });
    this.video = video.sender;
    if (this.codec) {
      // Its layers fit this codec alone, and the order of the answer would decide among several.
      const fitting = new Set([`video/${this.codec.toLowerCase()}`, "video/rtx"]);
      const known = RTCRtpSender.getCapabilities("video").codecs;
      video.setCodecPreferences(known.filter((of) => fitting.has(of.mimeType.toLowerCase())));
    }
    const wanted = new Set([...this.settings.codecs, "H264", "rtx"].map((codec) => `video/${codec.toLowerCase()}`));
    const capabilities = RTCRtpReceiver.getCapabilities("video")?.codecs ?? [];
    const receivable = capabilities.filter((codec) => wanted.has(codec.mimeType.toLowerCase()));
    for (let i = 1; i < this.settings.max_participants; i += 1) {
      pc.addTransceiver("audio", { direction: "recvonly" });
      const receiving = pc.addTransceiver("video", { direction: "recvonly" });
      // All codecs on all lines would make an offer of hundreds of kilobytes.
      if (receivable.length > 0) receiving.setCodecPreferences(receivable);
    }
    this.channel = pc.createDataChannel("airlane");
    this.channel.onmessage = ({ data }) => this.pc === pc && this.#onMessage(JSON.parse(data));
    this.channel.onopen = () => this.#tellTracks();
    this.channel.onclose = () => this.pc === pc && this.#lose("the server ended the connection");
    pc.onconnectionstatechange = () => this.pc === pc && this.#onState(pc.connectionState);
    await pc.setLocalDescription();
    const answer = await this.#offer(pc.localDescription.sdp);
    if (this.pc !== pc) return;
    Object.assign(this, { id: answer.id, session: answer.session });
    await pc.setRemoteDescription({ type: "answer", sdp: withDiscontinuousOpus(answer.sdp) });
    this.reports = setInterval(() => this.#report(), REPORT_MS);
  }

  /** Ends a session whose connection was lost: the server may not know yet, and others would see this person twice. */
  async #endSession() {
    const { session } = this;
    this.session = null;
    if (!session) return;
    await fetch(session, { method: "DELETE", signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) }).catch(() => {});
  }

  async #offer(sdp) {
    const headers = { "content-type": "application/json" };
    if (this.token) headers.authorization = `Bearer ${this.token}`;
    const body = JSON.stringify({ name: this.name, sdp });
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const reply = await fetch(`/${this.room}/join`, { method: "POST", headers, body, signal });
    if (reply.ok) return reply.json();
    const error = new Error((await reply.text()).trim() || `the server says ${reply.status}`);
    throw Object.assign(error, { isFinal: [400, 401, 403, 404].includes(reply.status) });
  }

  #onState(state) {
    clearTimeout(this.lostTimer);
    if (state === "connected") this.#emit("state", { state: "up" });
    if (state === "failed" || state === "closed") this.#lose("the connection failed");
    if (state === "disconnected") {
      this.#emit("state", { state: "lost", reason: "the connection is interrupted" });
      this.lostTimer = setTimeout(() => this.#lose("the connection was lost"), LOST_MS);
    }
  }

  #lose(reason) {
    if (this.isOver) return;
    this.#close();
    this.#retry(reason);
  }

  #close() {
    clearTimeout(this.lostTimer);
    clearInterval(this.reports);
    clearTimeout(this.notices);
    const { pc } = this;
    this.pc = null;
    pc?.close();
    this.ceiling = { epoch: null, bps: null };
    this.maxEncoding = Infinity;
  }

  #send(message) {
    if (this.channel?.readyState === "open") this.channel.send(JSON.stringify(message));
  }

  #onMessage(message) {
    switch (message.type) {
      case "welcome": this.id = message.id; break;
      case "ping": this.#send({ type: "pong", sequence: message.sequence }); break;
      case "notice": this.#follow(message); break;
      case "encodings":
        this.maxEncoding = message.max ?? -1;
        this.#applyLimits();
        break;
      default: this.#emit(message.type, message);
    }
  }

  /** Follows a notice: the ceiling is applied before it is acknowledged. */
  async #follow({ epoch, ceiling_bps: bps }) {
    clearTimeout(this.notices);
    // A server that is silent holds nobody.
    if (bps !== null) this.notices = setTimeout(() => this.#follow({ epoch, ceiling_bps: null }), NOTICE_TIMEOUT_MS);
    if (epoch === this.ceiling.epoch && bps === this.ceiling.bps) return;
    const isFirst = this.ceiling.epoch === null && bps === null;
    this.ceiling = { epoch, bps };
    if (!isFirst) await this.#applyLimits();
    this.#report();
  }

  /** Applies the ceiling, and pauses encodings that nobody gets: one change after the other, as each begins with what is. */
  #applyLimits() {
    this.applying = this.applying.then(() => this.#setEncodings());
    return this.applying;
  }

  async #setEncodings() {
    const { video, codec, ceiling, maxEncoding } = this;
    if (!video) return;
    const most = this.tracksState.screen ? SCREEN_BPS : CAMERA_BPS;
    const maxBps = Math.min(most, this.settings.max_bitrate_bps);
    const bps = videoBps(ceiling.bps, maxBps);
    const parameters = video.getParameters();
    if (!parameters.encodings?.length) return;
    parameters.encodings = upTo(underCeiling(parameters.encodings, codec, bps, maxBps), maxEncoding);
    try {
      await video.setParameters(parameters);
    } catch {
      // The connection was closed meanwhile.
    }
  }

  async #report() {
    const { pc } = this;
    if (!pc || this.channel?.readyState !== "open") return;
    let outgoing = null;
    for (const entry of (await pc.getStats()).values()) {
      if (entry.type === "candidate-pair" && entry.nominated && entry.availableOutgoingBitrate) {
        outgoing = entry.availableOutgoingBitrate;
      }
    }
    this.#send({ type: "report", epoch: this.ceiling.epoch, outgoing_bps: outgoing });
  }

  /** Media lines by name. */
  trackOf(mid) {
    const transceiver = this.pc?.getTransceivers().find((of) => of.mid === mid);
    return transceiver?.receiver.track ?? null;
  }

  /** Sends other tracks; null: nothing of that kind. */
  async setTracks({ audio, video, isScreen }) {
    this.tracks = { audio, video };
    const before = this.tracksState.screen;
    this.tracksState = { audio: audio?.enabled ?? false, video: Boolean(video), screen: isScreen };
    if (this.pc) {
      await Promise.all([this.audio?.replaceTrack(audio), this.video?.replaceTrack(video)]);
      if (before !== isScreen) await this.#applyLimits();
    }
    this.#tellTracks();
  }

  #tellTracks() {
    this.#send({ type: "tracks", ...this.tracksState });
  }

  /** Ends the participation. */
  leave() {
    this.isOver = true;
    clearTimeout(this.timer);
    if (this.session) {
      // The server learns it from the request: a connection that is closed first would end the session before.
      fetch(this.session, { method: "DELETE", keepalive: true }).catch(() => {}).finally(() => this.#close());
    } else {
      this.#send({ type: "leave" });
      this.#close();
    }
    this.#emit("state", { state: "over" });
  }
}
