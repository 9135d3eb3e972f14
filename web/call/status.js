// The operator's view of a conference server: rooms and their participants, once a second.
import { History } from "/assets/history.js";
import { alertOf, byId, clock, format, getJson, make, mbps } from "/assets/ui.js";

const INTERVAL_MS = 1000;
const WIDTH = 240, HEIGHT = 56;
const SVG = "http://www.w3.org/2000/svg";
const HELD = { natural: "nothing", client: "uplink", server: "downlink" };

/** Histories by the number of the participant. */
const histories = new Map();

function chart(history, label) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("class", "history");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  for (const [name, d] of Object.entries(history.paths(WIDTH, HEIGHT))) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", name);
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}

const number = (bps) => make("td", "num", format(mbps(bps), 2));

function row(of) {
  const history = histories.get(of.id);
  const element = make("tr");
  const held = of.target_bps === null ? HELD[of.state] : `${HELD[of.state]}, to ${format(mbps(of.target_bps), 2)}`;
  const kinds = [of.role === "member" ? "" : of.role, of.transport === "tcp" ? "over TCP" : ""].filter(Boolean);
  const kind = kinds.length > 0 ? ` (${kinds.join(", ")})` : "";
  const picture = make("td");
  const [up, down] = [of.up_bps, of.down_bps].map((bps) => format(mbps(bps), 2));
  picture.append(chart(history, `${up} Mbit/s up, ${down} down, of at most ${format(mbps(history.highest), 2)}`));
  element.append(
    make("td", "", of.is_connected ? `${of.name}${kind}` : `${of.name}${kind}: connecting`),
    number(of.capacity_bps), number(of.up_bps), number(of.down_bps),
    number(of.up_estimate_bps), number(of.down_estimate_bps),
    make("td", "num", format(of.down_loss * 100, 1)), make("td", "", held), picture,
  );
  return element;
}

const COLUMNS = [
  ["Participant", ""], ["Capacity", "Mbit/s"], ["Up", "Mbit/s"], ["Down", "Mbit/s"], ["Estimate up", "Mbit/s"],
  ["Estimate down", "Mbit/s"], ["Lost", "%"], ["Held", "Mbit/s"], ["The last two minutes", ""],
];

function table(room) {
  const section = make("section", "rooms");
  const region = make("div", "scroll", undefined, { tabindex: "0", role: "region", "aria-label": `Room ${room.name}` });
  const head = make("tr");
  COLUMNS.forEach(([name, unit], i) => {
    const cell = make("th", i > 0 && i < 7 ? "num" : "", name, { scope: "col" });
    if (unit) cell.append(make("span", "unit", unit));
    head.append(cell);
  });
  const all = make("table"), top = make("thead"), body = make("tbody");
  top.append(head);
  body.append(...room.participants.map(row));
  all.append(top, body);
  region.append(all);
  section.append(make("h3", "", room.name), region);
  return section;
}

function show(status) {
  const everybody = status.rooms.flatMap((room) => room.participants);
  for (const of of everybody) {
    if (!histories.has(of.id)) histories.set(of.id, new History());
    histories.get(of.id).add(of);
  }
  const there = new Set(everybody.map((of) => of.id));
  for (const id of histories.keys()) if (!there.has(id)) histories.delete(id);
  byId("rooms").replaceChildren(...status.rooms.map(table));
  byId("key").hidden = everybody.length === 0;
  const count = (n, one, many) => `${format(n)} ${n === 1 ? one : many}`;
  byId("summary").textContent = `${count(everybody.length, "participant", "participants")} in ` +
    `${count(status.rooms.length, "room", "rooms")}; ${format(status.joined_total)} have joined in ` +
    `${clock(status.uptime_s)}. Datagrams of nobody: ${format(status.stray_datagrams_total)}; ` +
    `dropped over TCP: ${format(status.tcp_dropped_datagrams_total)}.`;
}

async function tick() {
  try {
    show(await getJson("/status"));
    alertOf(byId("alert"), "");
  } catch (error) {
    alertOf(byId("alert"), error.message);
  }
  setTimeout(tick, INTERVAL_MS);
}

tick();
