"use strict";
// Labels by people: the queue of one person, a key for each label. Nothing a judge said is asked for before its end.
const TOKEN = location.pathname.split("/")[1];
const RATINGS = { ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((each) => [`${each}`, each])), 0: 10 };
const CHOICES = { by: "", label: "", sample: "60", overlap: "", ratings: "", stratified: "", seed: "" };

// The choices stand in the address, so that it leads back to where a person was.
function choicesOf(state, page) {
  const chosen = Object.fromEntries(Object.entries({ ...CHOICES, ...state }).filter(([name, value]) => name in CHOICES && value !== ""));
  return page.labels.length === 1 ? { label: page.labels[0], ...chosen } : chosen;
}

function asJson(chosen) {
  const whole = ["sample", "overlap", "seed"].filter((name) => chosen[name]).map((name) => [name, Number(chosen[name])]);
  const yes = ["ratings", "stratified"].map((name) => [name, Boolean(chosen[name])]);
  return { ...chosen, ...Object.fromEntries([...whole, ...yes]) };
}

const change = (said) => asked("queue.json", {
  method: "POST", headers: { "Content-Type": "application/json", "X-Simeval-Token": TOKEN }, body: JSON.stringify(said),
});

function Form({ page, begin }) {
  const [chosen, choose] = useState({ ...CHOICES, by: page.by, label: page.labels[0] || "" });
  const set = (name) => (event) => choose({ ...chosen, [name]: event.target.type === "checkbox" ? (event.target.checked ? "1" : "") : event.target.value });
  const submit = (event) => { event.preventDefault(); begin(chosen); };
  return html`<form class="card pad label-form" onSubmit=${submit}>
    <h1>Label conversations</h1>
    <p>You read conversations of run <span class="mono">${page.run}</span> and say of each whether the app did what is expected. What the judge
      said is shown at the end, so that it does not sway you; each label is kept at once.</p>
    <label>Who labels <input required value=${chosen.by} onInput=${set("by")} autofocus /></label>
    <label>Expectation <select value=${chosen.label} onChange=${set("label")}>${page.labels.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
    <label>Conversations <input type="number" min="1" required value=${chosen.sample} onInput=${set("sample")} /> <span class="soft small">of ${page.trials.toLocaleString("en")}, drawn at random</span></label>
    <label>Labels of each, at most <input type="number" min="1" placeholder="everybody's" value=${chosen.overlap} onInput=${set("overlap")} /> <span class="soft small">where several people share them</span></label>
    <label class="check"><input type="checkbox" checked=${chosen.ratings} disabled=${chosen.stratified} onChange=${set("ratings")} /> Give ratings from 1 to 10, not yes or no</label>
    <label class="check"><input type="checkbox" checked=${chosen.stratified} disabled=${chosen.ratings} onChange=${set("stratified")} /> As many that the judge fails as it passes, in random order: says more of how often it fails what is good</label>
    <button class="primary">Begin</button>
  </form>`;
}

function Guideline({ levels }) {
  const found = Object.entries(levels);
  if (!found.length) return null;
  return html`<h4>Guideline, from 1 (worst) to 10; from 6 on it does</h4>
    <ol class="levels">${found.map(([level, text]) => html`<li><b>${level}</b> ${text}</li>`)}</ol>`;
}

// The field for a reason is there before it is needed, so that no key is lost that is typed after the one that opens it.
function Keys({ ratings, act, input }) {
  const skip = (event) => { event.preventDefault(); act({ do: "skip", reason: input.current.value }); input.current.value = ""; input.current.blur(); };
  return html`<div>
    <div class="keys">
      ${ratings
        ? Object.entries(RATINGS).sort(([, one], [, other]) => one - other).map(([key, value]) => html`<button class="tool" onClick=${() => act({ do: "label", value })}>${value}${value === 10 && html` <kbd>${key}</kbd>`}</button>`)
        : html`<button class="tool yes" onClick=${() => act({ do: "label", value: true })}>It does <kbd>y</kbd></button><button class="tool no" onClick=${() => act({ do: "label", value: false })}>It does not <kbd>n</kbd></button>`}
      <button class="tool" onClick=${() => act({ do: "undo" })}>Undo <kbd>u</kbd></button>
      <button class="tool" onClick=${() => input.current.focus()}>Skip <kbd>s</kbd></button>
    </div>
    <form class="keys skip" onSubmit=${skip}>
      <label>Skip, because <input ref=${input} required onKeyDown=${(event) => event.key === "Escape" && event.target.blur()} /></label>
      <span class="soft small"><kbd>Enter</kbd> skips, <kbd>Esc</kbd> goes back</span>
    </form>
  </div>`;
}

function Item({ item, ratings, act }) {
  const reason = useRef(null);
  const sheet = useRef(null);
  useEffect(() => { if (sheet.current) sheet.current.scrollTop = 0; }, [item.scenario, item.index]);
  useLayoutEffect(() => { // at once: a key that is pressed when a trial is seen is meant for it
    const press = (event) => {
      if (event.target.matches("input, select, textarea") || event.metaKey || event.ctrlKey || event.altKey || event.repeat) return;
      if (ratings && event.key in RATINGS) act({ do: "label", value: RATINGS[event.key] });
      else if (!ratings && event.key === "y") act({ do: "label", value: true });
      else if (!ratings && event.key === "n") act({ do: "label", value: false });
      else if (event.key === "u") act({ do: "undo" });
      else if (event.key === "s") { event.preventDefault(); reason.current.focus(); }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  return html`<div class="card two labelled" data-scenario=${item.scenario} data-index=${item.index}>
    <section aria-label="Conversation" class="sheet" ref=${sheet} tabindex="0">
      <${Transcript} trial=${item} text="" />
      ${item.crashed && html`<p class="fault">Here the app failed.</p>`}
    </section>
    <section aria-label="What to say of it">
      <h4>Does the app do this?</h4>
      <p class="asked">${item.expected_behavior}</p>
      <${Keys} ratings=${ratings} act=${act} input=${reason} />
      <dl class="pairs">${item.given && html`<dt>Given</dt><dd>${item.given}</dd>`}${item.when && html`<dt>When</dt><dd>${item.when}</dd>`}</dl>
      <${Guideline} levels=${item.guideline} />
    </section>
  </div>`;
}

const share = (each) => (each === null ? "–" : `${Math.round(1000 * each) / 10}%`);
const rate = (each, weighted) => html`<b>${share(each.value)}</b> <span class="soft">[${share(each.low)} to ${share(each.high)}] · ${weighted ? "weighted" : `${each.successes} of ${each.n}`}</span>`;
const coefficient = (each) => html`<b>${each.estimate === null ? "–" : each.estimate.toFixed(2)}</b> ${each.low !== null && html`<span class="soft">[${each.low.toFixed(2)} to ${each.high.toFixed(2)}]</span>`}`;

function Entry({ entry }) {
  const { confusion: table, rate: corrected } = entry;
  return html`<section class="card pad" data-entry=${entry.scenario} data-kappa=${entry.kappa.estimate} data-sensitivity=${table.sensitivity.value}
      data-specificity=${table.specificity.value} data-corrected=${corrected.estimate}>
    <h2>${entry.expectation}</h2><p class="soft small">${entry.scenario} · ${entry.evaluator}</p>
    <div class="two even"><dl class="pairs wide">
      <dt>Of what people pass, the judge passes</dt><dd>${rate(table.sensitivity, entry.stratified)}</dd>
      <dt>Of what people fail, the judge fails</dt><dd>${rate(table.specificity, entry.stratified)}</dd>
      <dt>Cohen's kappa</dt><dd>${coefficient(entry.kappa)}</dd>
      <dt>The judge finds good</dt><dd><b>${share(corrected.judge_rate)}</b> <span class="soft">of ${entry.trials} conversations</span></dd>
      <dt>People would find good</dt><dd><b>${share(corrected.estimate)}</b> <span class="soft">[${share(corrected.lower)} to ${share(corrected.upper)}] · ${corrected.method}, ${entry.exact ? "exact" : "approximate"}</span></dd>
    </dl>
    <table class="grid"><thead><tr><th></th><th scope="col">people pass</th><th scope="col">people fail</th></tr></thead><tbody>
      <tr><th scope="row">judge passes</th><td class="agree">${table.true_pass}</td><td class="differ">${table.false_pass}</td></tr>
      <tr><th scope="row">judge fails</th><td class="differ">${table.false_fail}</td><td class="agree">${table.true_fail}</td></tr>
    </tbody></table></div>
  </section>`;
}

function Result({ found, run, back }) {
  if (!found) return html`<p class="empty">Reading what follows…</p>`;
  const undo = html`<button class="more" onClick=${back}>Take the last one back <kbd>u</kbd></button>`;
  if (!found.report) return html`<div class="card pad"><p>All were skipped: nothing follows from that.</p>${undo}</div>`;
  return html`<div data-done="yes">
    ${found.skipped > 0 && html`<p class="soft">What follows holds for conversations that can be labelled: ${found.skipped} skipped ones are not among them.</p>`}
    ${found.report.entries.map((entry) => html`<${Entry} entry=${entry} />`)}
    <p class="soft small">In brackets: intervals with ${share(1 - 2 * found.report.significance_level)} confidence.</p>
    <section class="card pad"><h2>${found.disagreements.length ? `People and the judge disagree on ${found.disagreements.length}` : "People and the judge agree on every label"}</h2>
      ${found.disagreements.map((each) => html`<div class="judged"><p><a href="../../run/${encodeURIComponent(run)}/#scenario_of_trial=${each.place}&trial=${each.index}">conversation #${each.index}</a> <span class="soft">${each.scenario}</span></p>
        <p><b>${each.rater || "the label"}</b> says ${each.passes ? "pass" : "fail"}, the judge ${each.passes ? "fail" : "pass"}${each.score !== null && ` with ${short(each.score)}`}${each.reasoning && `: ${each.reasoning}`}</p></div>`)}
    </section>
    <details class="card pad small"><summary>In full, as simeval people agree prints it</summary><pre>${found.text}</pre></details>
    ${undo}
  </div>`;
}

function Queue({ page, chosen }) {
  const [state, keep] = useState(null);
  const [found, reveal] = useState(null);
  const busy = useRef(false);
  const sent = asJson(chosen);
  const query = new URLSearchParams(chosen);
  const read = async () => keep(await asked(`queue.json?${query}`));
  const failed = (error) => { say(error.message); return read().catch(() => null); };
  useEffect(() => { read().catch((error) => say(error.message)); }, []);
  useEffect(() => {
    if (state && !state.item) asked(`result.json?${query}`).then(reveal, (error) => say(error.message));
    else reveal(null);
  }, [state]);
  // One at a time: a key that is pressed twice must not label what has not been seen.
  const act = async (said) => {
    if (busy.current) return;
    busy.current = true;
    say("");
    const about = state.item ? { scenario: state.item.scenario, index: state.item.index } : {};
    try { keep(await change({ asked: sent, ...about, ...said })); } catch (error) { await failed(error); } finally { busy.current = false; }
  };
  const isDone = state && !state.item;
  useLayoutEffect(() => {
    const press = (event) => { if (isDone && event.key === "u" && !event.repeat) act({ do: "undo" }); };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  if (!state) return html`<p class="empty">Drawing conversations…</p>`;
  const all = state.labelled + state.skipped + state.left;
  const others = Object.entries(state.people).filter(([name]) => name !== chosen.by);
  return html`<div>
    <header class="progress"><h1>${chosen.label}</h1>
      <progress value=${all - state.left} max=${all} aria-label="Labelled and skipped, of all"></progress>
      <span role="status" data-labelled=${state.labelled} data-left=${state.left}>${state.labelled} labelled, ${state.skipped} skipped, ${state.left} to go</span>
      <span class="soft small">by ${chosen.by}${others.map(([name, number]) => ` · ${name} ${number}`)}</span></header>
    ${isDone ? html`<${Result} found=${found} run=${page.run} back=${() => act({ do: "undo" })} />`
      : html`<${Item} item=${state.item} ratings=${Boolean(chosen.ratings)} act=${act} />`}
  </div>`;
}

function Labels(page) {
  const state = useAddress();
  const chosen = choicesOf(state, page);
  return html`<main class="labels">
    <${Links} links=${page.links} />
    ${state.by ? html`<${Queue} key=${JSON.stringify(chosen)} page=${page} chosen=${chosen} />`
      : page.labels.length ? html`<${Form} page=${page} begin=${(each) => go(each)} />`
        : html`<p class="empty">No conversation of this run was judged, so there is nothing to label.</p>`}
    <p id="said" class="small" role="alert"></p>
  </main>`;
}

start(Labels, "");
