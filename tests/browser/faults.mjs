// Faults in a call of three pages, and how soon nobody suffers from them any more: the link of one of them dead for 10 s,
// its browser stopped for 10 s, the server restarted and killed, and the browser killed.
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, joinRoom, launchApart, launchWithCamera, prepareConnections, shownFrames, startCallServer, startLink } from "./calls.mjs";

/** Time for which a link is dead, and a browser stopped, ms. */
const FAULT_MS = 10_000;
/** Rate to which pages are held when a fault begins, as if the server had told them so, and had no word more for them. */
const HELD_BPS = 400_000;
/** Frames that are a moving video. */
const FRAMES = 5;
const POLL_INTERVAL_MS = 100;
/** The link of the third page: no bottleneck. */
const LINK = { rateMbps: 20, delayS: 0.01, queueS: 0.2 };

/** Seconds until `check` of a look at the call is true; null: not within `timeoutMs`. */
async function secondsUntil(timeoutMs, check) {
  const began = Date.now();
  while (Date.now() < began + timeoutMs) {
    if (await check()) return (Date.now() - began) / 1000;
    await sleep(POLL_INTERVAL_MS);
  }
  return null;
}

/** A call of Ann and Bob in one browser and of Carl in another one, behind a link. */
export class FaultyCall {
  constructor(timeoutMs) {
    this.timeoutMs = timeoutMs;
  }

  async start() {
    this.listen = `127.0.0.1:${await freePort()}`;
    this.http = `127.0.0.1:${await freePort()}`;
    await this.#serve();
    this.link = await startLink(this.listen, LINK);
    this.browser = await launchWithCamera();
    this.apart = await launchApart();
    this.people = [];
    for (const [name, browser, link] of [
      ["Ann", this.browser, null], ["Bob", this.browser, null], ["Carl", this.apart.browser, this.link.address],
    ]) {
      const prepare = [prepareConnections, { server: this.listen, link }];
      this.people.push({ name, ...await joinRoom(browser, `${this.server.url}/room`, { name, prepare }) });
    }
    return this.#outcome();
  }

  async stop() {
    await this.browser?.close();
    await this.apart?.close();
    await this.link?.stop();
    await this.server?.stop();
  }

  async #serve() {
    // Where the machine is busy the server would hold whom it may hold.
    const args = ["--codec", "vp8", "--max-bitrate", "800", "--plum", "off", "--quiet"];
    this.server = await startCallServer({ listen: this.listen, http: this.http, args });
  }

  /** Seconds until everybody's video moves at everybody, and until nobody is held. */
  async #outcome(people = this.people) {
    const [videoS, naturalS] = await Promise.all([this.#untilMoving(people), this.#untilNatural(people)]);
    return { videoS, naturalS };
  }

  #untilMoving(people) {
    const first = new Map();
    const isMoving = async ({ name, page }) => {
      const shown = await shownFrames(page);
      return people.filter((of) => of.name !== name).every((of) => {
        const frames = shown.find((tile) => tile.name === of.name)?.frames ?? 0;
        const key = `${name} ${of.name}`;
        // A tile that was made anew counts from 0.
        if (frames < (first.get(key) ?? Infinity)) first.set(key, frames);
        return frames >= first.get(key) + FRAMES;
      });
    };
    return secondsUntil(this.timeoutMs, async () => (await Promise.all(people.map(isMoving))).every(Boolean));
  }

  #untilNatural(people) {
    const ceiling = ({ page }) => page.evaluate(() => globalThis.airlane.connection?.ceiling.bps ?? null);
    return secondsUntil(this.timeoutMs, async () => (await Promise.all(people.map(ceiling))).every((bps) => bps === null));
  }

  /** Holds everybody's uplink. */
  async #hold() {
    for (const { page } of this.people) {
      await page.evaluate((bps) => {
        const data = JSON.stringify({ type: "notice", epoch: 1, ceiling_bps: bps });
        globalThis.airlane.connection.channel.onmessage({ data });
      }, HELD_BPS);
    }
  }

  /** Nothing comes through Carl's link for 10 s. */
  async deadLink() {
    await this.#hold();
    this.link.child.kill("SIGSTOP");
    await sleep(FAULT_MS);
    this.link.child.kill("SIGCONT");
    return this.#outcome();
  }

  /** Carl's browser stands still for 10 s. */
  async pausedBrowser() {
    await this.#hold();
    this.apart.signal("SIGSTOP");
    await sleep(FAULT_MS);
    this.apart.signal("SIGCONT");
    return this.#outcome();
  }

  /** The server ends by this signal, and starts again. */
  async restart(signal) {
    await this.#hold();
    await this.server.stop(signal);
    await this.#serve();
    return this.#outcome();
  }

  /** Carl's browser is killed: the others' videos go on. */
  async vanishedClient() {
    await this.#hold();
    await this.apart.close();
    return this.#outcome(this.people.slice(0, 2));
  }

  /** Seconds until nobody is shown any more but who is there. */
  untilForgotten() {
    const [{ page }] = this.people;
    return secondsUntil(this.timeoutMs, async () => (await shownFrames(page)).length === 1);
  }
}
