"use strict";
// What the page knows: its head, the conversations of one scenario at a time, and its state, which is in the address.
const { html, h, render, useState, useEffect, useLayoutEffect, useMemo, useRef } = htmPreact;

const MOST_LOADED = 60; // scenarios, and parts of them, whose conversations are kept unpacked
const EVERY = 1500; // milliseconds between two looks at what goes on

async function unpack(id) {
  const text = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const loaded = new Map();
let version = 0; // of what a server says: a run that goes on has more to say each time

function kept(key, find) {
  const found = loaded.get(key) || find();
  loaded.delete(key);
  loaded.set(key, found);
  found.catch(() => loaded.delete(key));
  if (loaded.size > MOST_LOADED) loaded.delete(loaded.keys().next().value);
  return found;
}

async function asked(path, options) {
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

// The two places where conversations come from: blocks of this file, or files (or a server) beside it.
const load = (scenario) => kept(`${scenario}`, () => {
  const isHere = document.getElementById(`block-${scenario}`);
  return isHere ? unpack(`block-${scenario}`) : asked(`${scenario}.json`).then(spread);
});
const spread = (block) => ({ ...block, trials: block.trials.map(([index, place]) => ({ index, ...block.alike[place] })) });
const part = (scenario, block, at) => kept(`${scenario}-${Math.floor(at / block.at_once)}`, () => asked(`${scenario}-${Math.floor(at / block.at_once)}.json`));

// What comes later: null until it is there, and again what was there while the same is asked for anew.
function useLater(key, find) {
  const [found, keep] = useState({});
  useEffect(() => {
    let wanted = true;
    if (key !== null) find().then((value) => wanted && keep({ key, value }), (error) => say(error.message));
    return () => { wanted = false; };
  }, [key, version]);
  return found.key === key && key !== null ? found.value : null;
}

const useScenario = (scenario) => useLater(scenario, () => load(scenario));

// A conversation in full: of a block of this file it is there at once.
function useTrial(scenario, block, trial) {
  const isWhole = !trial || trial.turns;
  const find = async () => {
    const { trials } = await part(scenario, block, block.trials.indexOf(trial));
    return trials.find((each) => each.index === trial.index) || null;
  };
  const found = useLater(isWhole ? null : `${scenario} ${trial.index}`, find);
  return isWhole ? trial : found;
}

async function wholeTrials(scenario, block) {
  if (!block.at_once) return block.trials;
  const found = [];
  for (let at = 0; at < block.trials.length; at += block.at_once) found.push(...(await part(scenario, block, at)).trials);
  return found;
}

function say(message) {
  const place = document.getElementById("said") || document.body.appendChild(Object.assign(document.createElement("p"), { id: "said" }));
  place.setAttribute("role", "alert");
  place.textContent = message;
}

// Shows an app with the data of this page and, while they are of something that goes on, with what `address` has by then.
function start(App, address) {
  const show = (data) => render(html`<${App} ...${data} />`, document.getElementById("app"));
  async function look(data, before) {
    if (!data.going) return;
    await new Promise((done) => { setTimeout(done, EVERY); });
    if (document.hidden) return look(data, before);
    try {
      const now = { ...data, ...(await asked(address, { cache: "no-store" })) };
      const said = JSON.stringify(now);
      if (said !== before) { version += 1; loaded.clear(); show(now); }
      return look(now, said);
    } catch (error) {
      say(`No news: ${error.message}`);
      return look(data, before);
    }
  }
  addEventListener("DOMContentLoaded", async () => {
    const data = await unpack("head");
    show(data);
    document.documentElement.dataset.ready = "yes";
    look(data, JSON.stringify(data));
  });
}

const stateOf = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function addressOf(state) {
  const kept = Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${new URLSearchParams(kept)}`;
}

function go(change, { silent = false } = {}) {
  const address = addressOf({ ...stateOf(), ...change });
  if (address === (location.hash || "#")) return;
  if (silent) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new Event("moved"));
}

function useAddress() {
  const [state, keep] = useState(stateOf());
  useEffect(() => {
    const read = () => keep(stateOf());
    for (const event of ["hashchange", "popstate", "moved"]) addEventListener(event, read);
    return () => { for (const event of ["hashchange", "popstate", "moved"]) removeEventListener(event, read); };
  }, []);
  return state;
}

const draw = (node) => (typeof node === "string" ? node : h(node[0], node[1], ...node.slice(2).map(draw)));
const kindOf = (outcome) => (outcome || "measured").replace(/ /g, "");
const MARKS = { pass: "✓", fail: "✗", inconclusive: "?", error: "!", met: "✓", missed: "✗", missing: "?" };
const NAMES = { pass: "Pass", fail: "Fail", inconclusive: "Inconclusive", error: "Error", running: "Under way", interrupted: "Interrupted" };
const NAMED = 120; // characters of a title where it is one of many
const beginning = (title) => title.length > NAMED ? `${title.slice(0, NAMED)}…` : title;
const many = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const seconds = (each) => (each === null || each === undefined ? "" : each < 1 ? `${Math.round(1000 * each)} ms` : `${each.toFixed(1)} s`);
const short = (value) => (typeof value !== "number" || Number.isInteger(value) ? `${value}` : Math.abs(value) < 0.001 ? "< 0.001" : `${Number(value.toPrecision(3))}`);

const Badge = ({ outcome, children }) => html`<span class="badge ${kindOf(outcome)}">${children}</span>`;
const Sign = ({ of }) => html`<span class="sign ${of}" aria-label=${NAMES[of] || of}>${MARKS[of] || "·"}</span>`;

function Turn({ turn, text, call }) {
  const faults = Object.keys((turn.metadata || {}).user_faults || {});
  return html`<div class="turn ${turn.role}">
    <div class="who"><span>${turn.role === "user" ? "User" : "App"}</span><span>${seconds(turn.seconds)}</span></div>
    ${(turn.tool_calls || []).map((call) => html`<${Call} call=${call} />`)}
    <div class="what">${marked(turn.content, text) || html`<span class="soft">(empty)</span>`}</div>
    ${faults.length > 0 && html`<div class="fault">The simulated user's fault: ${faults.join(", ").replace(/_/g, " ")}</div>`}
    <${ModelCall} call=${call} />
  </div>`;
}

// A call to a model, as a server made it again from the stored conversation.
function ModelCall({ call }) {
  if (!call) return null;
  const took = [call.model, `about ${call.tokens[0].toLocaleString("en")} tokens read, ${call.tokens[1].toLocaleString("en")} written`, seconds(call.seconds)];
  return html`<details class="small call"><summary>Model call · ${took.filter(Boolean).join(" · ")}</summary>
    ${call.prompt.map((each) => html`<h4>${each.role}</h4><pre>${each.content}</pre>`)}
    <h4>Reply, as it is stored</h4><pre>${call.reply}</pre>
    <p class="soft">Made again from the stored conversation and the prompt ${call.version}, as at the first try.</p>
  </details>`;
}

function Call({ call }) {
  const inner = typeof call.function === "object" && call.function ? { ...call, ...call.function } : call;
  const name = [inner.name, inner.tool, inner.tool_name, call.function].find((each) => typeof each === "string" && each) || "tool call";
  return html`<details class="small"><summary>→ <b>${name}</b></summary><pre>${JSON.stringify(call, null, 1)}</pre></details>`;
}

const Transcript = ({ trial, text, calls = [] }) => html`<div>
  ${trial.turns.map((turn, place) => html`<${Turn} turn=${turn} text=${text} call=${calls.find((each) => each.place === place)} />`)}
  <${ModelCall} call=${calls.find((each) => each.place === trial.turns.length)} />
  ${!trial.turns.length && html`<p class="soft">Nothing was said.</p>`}
</div>`;

function Links({ links, going }) {
  if (!links || !links.length) return null;
  return html`<nav class="links" aria-label="Pages">
    ${links.map(([text, address]) => html`<a href=${address}>${text}</a>`)}
    ${going && html`<span class="soft small" role="status"><i class="pulse"></i>under way</span>`}
  </nav>`;
}

function holds(trial, text) {
  const wanted = text.toLowerCase();
  const has = (said) => said && String(said).toLowerCase().includes(wanted);
  return (
    trial.turns.some((turn) => has(turn.content) || (turn.tool_calls && has(JSON.stringify(turn.tool_calls)))) ||
    Object.values(trial.scores).some((score) => has(score.reasoning)) ||
    has(trial.reason) || trial.failures.some(has) || (trial.pair ? holds(trial.pair, text) : false)
  );
}

// Which conversations hold a text: a server says so at once; without one the page looks itself, scenario by scenario,
// so that it stays quick while it looks.
function useSearch(text, size, finds) {
  const [found, keep] = useState({ text: "", hits: null, done: size });
  useEffect(() => {
    let wanted = true;
    async function look() {
      if (finds) {
        const found = await asked(`find/${encodeURIComponent(text)}`);
        if (wanted) keep({ text, hits: new Map(found.hits.map((each, place) => [place, new Set(each)])), done: size });
        return;
      }
      const hits = new Map();
      for (let place = 0; place < size; place += 1) {
        const block = await load(place);
        if (!wanted) return;
        const trials = await wholeTrials(place, block);
        if (!wanted) return;
        hits.set(place, new Set(trials.filter((trial) => holds(trial, text)).map((trial) => trial.index)));
        if (place % 10 === 9) keep({ text, hits: new Map(hits), done: place + 1 });
      }
      keep({ text, hits, done: size });
    }
    if (!text) keep({ text: "", hits: null, done: size });
    const timer = text ? setTimeout(() => look().catch((error) => say(error.message)), 150) : 0;
    return () => { wanted = false; clearTimeout(timer); };
  }, [text]);
  return found;
}

function marked(said, text) {
  if (!text || !said) return said;
  const pieces = [];
  const lower = said.toLowerCase();
  const wanted = text.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    pieces.push(said.slice(from, at), html`<mark>${said.slice(at, at + wanted.length)}</mark>`);
    from = at + wanted.length;
  }
  return [...pieces, said.slice(from)];
}
