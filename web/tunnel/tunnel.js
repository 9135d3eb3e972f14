// Shows a tunnel's figures, once a second.

const $ = (id) => document.getElementById(id);

/** The last figures, by line: rates are differences. */
let before = null;

const mbps = (bytes, seconds) => ((bytes * 8) / seconds / 1e6).toFixed(2);

function cell(text, isNumber) {
  const td = document.createElement("td");
  td.textContent = text;
  if (isNumber) td.className = "num";
  return td;
}

/** What a radio may be used for, in words; nothing where that is not limited. */
function terms(line) {
  const all = [];
  if (line.is_backup) all.push("backup");
  if (line.price) all.push(`price ${line.price}`);
  if (line.most_bps) all.push(`at most ${line.most_bps / 1e6} Mbit/s`);
  if (line.cap) {
    const [used, cap] = [line.cap.used_bytes, line.cap.bytes].map((bytes) => (bytes / 1e6).toFixed(1));
    const period = line.cap.period === "ever" ? "" : ` (${line.cap.period})`;
    all.push(`${used} of ${cap} MB${period}`.replaceAll(" ", "\u00a0"));
  }
  return all.join(", ");
}

function show(now) {
  const seconds = before ? now.uptime_s - before.uptime_s : 0;
  const known = new Map((before?.lines ?? []).map((line) => [line.name, line]));
  const rows = now.lines.map((line) => {
    const last = known.get(line.name);
    const rate = (key) => (last && seconds > 0 ? mbps(line[key] - last[key], seconds) : "");
    const row = document.createElement("tr");
    row.append(
      cell(line.name),
      cell(line.state === "up" || !line.problem ? line.state : `${line.state}: ${line.problem}`),
      cell(rate("sent_bytes"), true),
      cell(rate("received_bytes"), true),
      cell(line.rtt_s === null ? "" : (line.rtt_s * 1000).toFixed(1), true),
      cell(line.lines ?? "", true),
      cell(terms(line)),
    );
    return row;
  });
  $("rows").replaceChildren(...rows);
  const clients = now.clients.map((client) => {
    const row = document.createElement("tr");
    const mb = (bytes) => (bytes / 1e6).toFixed(1);
    row.append(
      cell(client.name),
      cell(client.lines, true),
      cell(client.streams, true),
      cell(client.connections_total, true),
      cell(mb(client.sent_bytes), true),
      cell(mb(client.received_bytes), true),
    );
    return row;
  });
  $("client-rows").replaceChildren(...clients);
  $("clients").hidden = clients.length === 0;
  $("summary").textContent =
    `${now.streams} connections are open, ${now.connections_total} have been; ` +
    `${mbps(now.into_bytes + now.out_bytes, 1)} Mbit in all.`;
  before = now;
}

async function tick() {
  try {
    const response = await fetch("/status");
    if (!response.ok) throw new Error(`the tunnel answers ${response.status}`);
    show(await response.json());
    $("alert").hidden = true;
  } catch (error) {
    $("alert").textContent = `No figures: ${error.message}`;
    $("alert").hidden = false;
  }
  setTimeout(tick, 1000);
}

tick();
