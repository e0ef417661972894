"use strict";
// What the page knows: its head, the conversations of one scenario at a time, and its state, which is in the address.
const { html, h, render, useState, useEffect, useLayoutEffect, useMemo, useRef } = htmPreact;

const MOST_LOADED = 60; // scenarios whose conversations are kept unpacked

async function unpack(id) {
  const text = document.getElementById(id).textContent.trim();
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const loaded = new Map();

// The one place where conversations come from: a server may answer it as well as a block of this file.
async function load(scenario) {
  const found = loaded.get(scenario) || unpack(`block-${scenario}`);
  loaded.delete(scenario);
  loaded.set(scenario, found);
  if (loaded.size > MOST_LOADED) loaded.delete(loaded.keys().next().value);
  return found;
}

function useScenario(scenario) {
  const [found, keep] = useState(null);
  useEffect(() => {
    let wanted = true;
    keep(null);
    if (scenario !== null) load(scenario).then((block) => wanted && keep(block));
    return () => { wanted = false; };
  }, [scenario]);
  return found;
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
const NAMES = { pass: "Pass", fail: "Fail", inconclusive: "Inconclusive", error: "Error" };
const many = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const seconds = (each) => (each === null || each === undefined ? "" : each < 1 ? `${Math.round(1000 * each)} ms` : `${each.toFixed(1)} s`);
const short = (value) => (Number.isInteger(value) ? `${value}` : Math.abs(value) < 0.001 ? "< 0.001" : `${Number(value.toPrecision(3))}`);

function holds(trial, text) {
  const wanted = text.toLowerCase();
  const has = (said) => said && String(said).toLowerCase().includes(wanted);
  return (
    trial.turns.some((turn) => has(turn.content) || (turn.tool_calls && has(JSON.stringify(turn.tool_calls)))) ||
    Object.values(trial.scores).some((score) => has(score.reasoning)) ||
    has(trial.reason) || trial.failures.some(has) || (trial.pair ? holds(trial.pair, text) : false)
  );
}

// Which conversations hold a text: scenario by scenario, so that the page stays quick while it looks.
function useSearch(text, size) {
  const [found, keep] = useState({ text: "", hits: null, done: size });
  useEffect(() => {
    let wanted = true;
    async function look() {
      const hits = new Map();
      for (let place = 0; place < size; place += 1) {
        const block = await load(place);
        if (!wanted) return;
        hits.set(place, new Set(block.trials.filter((trial) => holds(trial, text)).map((trial) => trial.index)));
        if (place % 10 === 9) keep({ text, hits: new Map(hits), done: place + 1 });
      }
      keep({ text, hits, done: size });
    }
    if (!text) keep({ text: "", hits: null, done: size });
    const timer = text ? setTimeout(look, 150) : 0;
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
