"use strict";
const FEW = 5; // conversations of a group that are listed at once
const MORE = 50; // scenarios, and conversations, that are added on demand
const GLANCED = 6; // requirements that are named at the top
const OPENED = 6; // scenarios that are open at once
const NARROW = 760; // pixels: a telephone
const ORDER = ["error", "fail", "inconclusive", "pass"];

const openTrial = (scenario, trial) => go({ scenario_of_trial: scenario, trial });

function Hero({ report, mark }) {
  return html`<header class="card pad hero ${kindOf(report.outcome)}">
    <span class="badge big ${kindOf(report.outcome)}" data-outcome=${report.outcome}>${mark}</span>
    <h1>${report.headline}</h1>
    ${report.stopped && html`<p class="stopped">${report.stopped}</p>`}
    <${Glance} report=${report} />
    <ul>${report.meaning.map((said) => html`<li>${said}</li>`)}</ul>
    ${report.sure.length > 0 && html`<details class="sure"><summary>How sure is this?</summary><ul>${report.sure.map((said) => html`<li>${said}</li>`)}</ul></details>`}
    ${report.scenarios.length > 1 && html`<${Tally} counts=${report.counts} />`}
    <details class="about" open=${innerWidth > NARROW}><summary>About this ${report.kind === "suite" ? "run" : report.kind}</summary>
      <dl class="facts">${report.facts.map(([name, said]) => html`<div><dt>${name}</dt><dd>${said}</dd></div>`)}</dl></details>
  </header>`;
}

// What is not proven, the worst first: each a way to its scenario.
function Glance({ report }) {
  const rows = report.scenarios.flatMap((scenario, place) => scenario.expectations.flatMap((each) => each.verdicts
    .filter((verdict) => verdict.outcome !== "pass").map((verdict) => ({ verdict, scenario, place }))));
  if (!rows.length) return null;
  rows.sort((one, other) => ORDER.indexOf(one.verdict.outcome) - ORDER.indexOf(other.verdict.outcome));
  const show = (event, place) => {
    event.preventDefault();
    go({ scenario: place });
    scrollTo({ top: document.querySelector(".bar-of-filters").offsetTop });
  };
  return html`<ul class="glance">
    ${rows.slice(0, GLANCED).map(({ verdict, scenario, place }) => html`<li><${Sign} of=${verdict.outcome} />
      <a href=${addressOf({ scenario: place })} title=${scenario.title} onClick=${(event) => show(event, place)}>${beginning(scenario.title)}</a> <span>${verdict.said}</span></li>`)}
    ${rows.length > GLANCED && html`<li class="soft">and ${many(rows.length - GLANCED, "more requirement")} below</li>`}
  </ul>`;
}

function Tally({ counts }) {
  const all = Object.values(counts).reduce((sum, each) => sum + each, 0);
  let from = 0;
  const bars = ORDER.filter((each) => counts[each]).map((each) => {
    const wide = (100 * counts[each]) / all;
    const bar = html`<rect class=${each} x="${from}%" y="0" width="${wide}%" height="10"><title>${counts[each]} ${each}</title></rect>`;
    from += wide;
    return bar;
  });
  return bars.length ? html`<div class="tally" aria-hidden="true"><svg>${bars}</svg></div>` : null;
}

function Filters({ report, state, done, total }) {
  const counts = report.counts;
  const kinds = [...ORDER, "worse", "unclear", "not worse", "better", "changed", "unchanged"].filter((each) => counts[each]);
  const all = Object.values(counts).reduce((sum, each) => sum + each, 0);
  return html`<nav class="bar-of-filters" aria-label="Filters">
    ${kinds.length > 1 && html`<div class="chips">
      ${["", ...kinds].map((each) => html`<button class="chip" aria-pressed=${(state.outcome || "") === each}
        onClick=${() => go({ outcome: each })}>${each ? NAMES[each] || each : "All"} <b>${each ? counts[each] : all}</b></button>`)}
    </div>`}
    ${report.scenarios.length > 1 && html`<select aria-label="Scenario" value=${state.scenario || ""} onChange=${(event) => go({ scenario: event.target.value })}>
      <option value="">Every scenario</option>
      ${report.scenarios.map((each, place) => html`<option value=${place}>${beginning(each.title)}</option>`)}
    </select>`}
    <input type="search" id="search" aria-label="Search conversations" placeholder="Search what was said, reasons, tools…  ( / )"
      value=${state.text || ""} onInput=${(event) => go({ text: event.target.value }, { silent: true })} />
    ${done < total && html`<span class="soft small" role="status">searched ${done} of ${total}</span>`}
  </nav>`;
}

function Worst({ expectation, block, place }) {
  const trial = useTrial(place, block, block && block.trials.find((each) => each.index === expectation.worst));
  if (!trial) return null;
  const said = trial.failures[0] || (trial.scores[expectation.label] || {}).reasoning || trial.reason;
  return html`<p class="worst-of">Most against it: <${TrialLink} place=${place} trial=${trial.index}>conversation #${trial.index}<//>${said && html` · ${said}`}</p>`;
}

const TrialLink = ({ place, trial, children, ...more }) => html`<a ...${more} href=${addressOf({ ...stateOf(), scenario_of_trial: place, trial })}
  onClick=${(event) => { if (!event.metaKey && !event.ctrlKey) { event.preventDefault(); openTrial(place, trial); } }}>${children}</a>`;

function Requirement({ expectation, verdict, chart, rubric, block, place, isFirst }) {
  const [low, high] = verdict.numbers.confidence_interval || [null, null];
  const { outcome } = verdict;
  const misses = expectation.kinds.reduce((sum, each) => sum + each.n, 0);
  return html`<div class="requirement" data-verdict=${outcome} data-label=${expectation.label} data-n=${verdict.numbers.n}
      data-estimate=${verdict.numbers.estimate} data-low=${low} data-high=${high}>
    <div>
      <h3><${Sign} of=${outcome} />${verdict.said}</h3>
      ${verdict.why && html`<p class="why ${outcome}">Why: ${verdict.why}</p>`}
      ${isFirst && [...expectation.warnings, ...expectation.described].map((said) => html`<p class="soft small">${said}</p>`)}
      ${isFirst && (expectation.cases || []).length > 0 && html`<${Cases} rows=${expectation.cases} />`}
      ${isFirst && misses > 1 && html`<${Kinds} kinds=${expectation.kinds} misses=${misses} place=${place} />`}
      ${isFirst && outcome !== "pass" && html`<${Worst} expectation=${expectation} block=${block} place=${place} />`}
    </div>
    <div class="picture">${chart && chart.interval && draw(chart.interval)}</div>
    ${chart && (chart.region || chart.scores) && html`<${Pictures} chart=${chart} outcome=${outcome} place=${place} />`}
    <details class="small wide"><summary>How sure is this?</summary>
      <p>${verdict.meaning}</p>
      <p class="soft">${verdict.proof}</p>
      ${expectation.behaviour && html`<p><span class="soft">Expected:</span> ${expectation.behaviour}</p>`}
      <${Rubric} expectation=${expectation} rubric=${rubric} />
    </details>
  </div>`;
}

// The kinds of misses, the most frequent first, each with the share of all misses it has and a way to its first conversation.
function Kinds({ kinds, misses, place }) {
  const head = kinds.length === 1 ? `${misses} misses of one kind (${kinds[0].range} of all misses, with 95% confidence)` : `${misses} misses of ${kinds.length} kinds`;
  return html`<div class="kinds"><h4>${head}</h4>
    ${kinds.length > 1 && html`<ul>${kinds.slice(0, FEW).map((each) => html`<li><b>${each.n}</b> <span class="soft nowrap">${each.range}</span>
      <${TrialLink} place=${place} trial=${each.first}>${each.name}<//></li>`)}
      ${kinds.length > FEW && html`<li class="soft">and ${many(kinds.length - FEW, "more kind")} below</li>`}</ul>
      <p class="soft small">Beside the count of each kind: its share of all misses, with 95% confidence.</p>`}
  </div>`;
}

// The rows of a table of cases, those that fail most first.
function Cases({ rows }) {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row.values)))];
  const shown = (value) => (value === true ? "yes" : value === false ? "no" : value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
  return html`<details class="small"><summary>${rows.length} cases</summary>
    <div class="scroll"><table class="cases"><thead><tr><th>met</th>${columns.map((name) => html`<th>${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr><td class="nowrap"><${Sign} of=${row.met < row.n ? "fail" : "pass"} />${row.met} of ${row.n}</td>${columns.map((name) => html`<td>${shown(row.values[name])}</td>`)}</tr>`)}</tbody></table></div>
  </details>`;
}

function Pictures({ chart, outcome, place }) {
  const click = (event) => event.target.dataset && event.target.dataset.trial && openTrial(place, event.target.dataset.trial);
  return html`<div class="wide" onClick=${click} onKeyDown=${(event) => onDot(event, () => click(event))}>
    <details open=${outcome === "inconclusive"}>
      <summary>${chart.said || "How its scores are spread"}</summary>
      <div class="pictures">
        ${chart.region && html`<figure>${draw(chart.region)}
          <div class="key">${chart.key.map(([mark, said]) => html`<span><i class=${mark}></i>${said}</span>`)}<span>each dot is a conversation: choose it to read it (keys: ← → Enter)</span></div>
        </figure>`}
        ${chart.scores && html`<figure class="narrow"><figcaption class="small soft">Scores: how often each was given</figcaption>${draw(chart.scores)}</figure>`}
      </div>
    </details>
  </div>`;
}

// The dots of a picture are one stop of the Tab key; arrows go from one to the next, Enter opens its conversation.
function onDot(event, open) {
  const dot = event.target;
  if (!dot.dataset || !dot.dataset.trial) return;
  const dots = [...dot.parentNode.querySelectorAll("[data-trial]")];
  const at = dots.indexOf(dot);
  const next = { ArrowRight: dots[at + 1], ArrowUp: dots[at + 1], ArrowLeft: dots[at - 1], ArrowDown: dots[at - 1], Home: dots[0], End: dots[dots.length - 1] }[event.key];
  if (event.key === "Enter" || event.key === " ") open();
  else if (next) { dot.setAttribute("tabindex", -1); next.setAttribute("tabindex", 0); next.focus(); }
  else return;
  event.preventDefault();
}

function Rubric({ expectation, rubric, given }) {
  const levels = Object.entries(rubric || {});
  if (!levels.length) return expectation.rubric_by ? html`<p class="soft">Rubric ${expectation.rubric_by}</p>` : null;
  return html`<p class="soft">Rubric (${expectation.rubric_by})</p>
    <ol class="levels">${levels.map(([level, text]) => html`<li class=${Number(level) === given ? "given" : ""}><b>${level}</b> ${text}</li>`)}</ol>`;
}

function Scenario({ report, scenario, place, kept, isOpen, isGoing, toggle, text, hits }) {
  const requirements = scenario.expectations.flatMap((each) => each.verdicts.map((verdict, nth) => [each, verdict, nth]))
    .sort(([, one], [, other]) => ORDER.indexOf(one.outcome) - ORDER.indexOf(other.outcome));
  const proven = requirements.filter(([, verdict]) => verdict.outcome === "pass").length;
  const early = scenario.trials < scenario.sample_size ? ` of at most ${scenario.sample_size}` : "";
  return html`<section class="card scenario" id="scenario-${place}">
    <button class="top" aria-expanded=${isOpen} onClick=${toggle}>
      <${Badge} outcome=${scenario.outcome}>${NAMES[scenario.outcome] || "Measured"}<//>
      <span><h2>${marked(scenario.title, text)}</h2>
        <span class="soft small">${requirements.length ? `${proven} of ${many(requirements.length, "requirement")} proven · ` : ""}${scenario.trials.toLocaleString("en")}${early} conversations</span>
        ${isGoing && html`<progress value=${scenario.trials} max=${scenario.sample_size} aria-label="Conversations held, of those it may take"></progress>`}</span>
      <span class="turnstile" aria-hidden="true">${isOpen ? "▲" : "▼"}</span>
    </button>
    ${isOpen && html`<${Inside} report=${report} scenario=${scenario} place=${place} kept=${kept} requirements=${requirements} text=${text} hits=${hits} />`}
  </section>`;
}

function Inside({ report, scenario, place, kept, requirements, text, hits }) {
  const block = useScenario(place);
  return html`<div class="inside">
    ${(scenario.given || scenario.when) && html`<dl class="pairs pad">
      ${scenario.given && html`<dt>Given</dt><dd>${scenario.given}</dd>`}${scenario.when && html`<dt>When</dt><dd>${scenario.when}</dd>`}
    </dl>`}
    ${requirements.map(([each, verdict, nth]) => html`<${Requirement} expectation=${each} verdict=${verdict} place=${place} block=${block} isFirst=${nth === 0}
      chart=${block && block.charts[scenario.expectations.indexOf(each)][nth]} rubric=${block && block.rubrics[scenario.expectations.indexOf(each)]} />`)}
    ${scenario.users.map((said) => html`<p class="cut">${said}</p>`)}
    <${Table} isInside title="What was measured" headers=${["Metric", "Value", report.interval, "Examples", "Missing", "App failed", ""]} rows=${report.metrics} />
    <${Table} isInside title="From experiment to experiment" headers=${["Metric", "This one", "Over experiments on this dataset, this one on the right"]} rows=${report.courses} />
    ${block ? html`<${Conversations} block=${block} place=${place} text=${text} hits=${hits} />` : html`<p class="cut">Reading the conversations…</p>`}
    ${kept < scenario.trials && html`<p class="cut">${kept.toLocaleString("en")} of ${scenario.trials.toLocaleString("en")} conversations shown, the worst of each requirement first.</p>`}
  </div>`;
}

function Conversations({ block, place, text, hits }) {
  const trials = hits ? block.trials.filter((trial) => hits.has(trial.index)) : block.trials;
  const groups = new Map();
  for (const trial of trials) {
    const names = trial.groups.length ? trial.groups : [trial.states.some((each) => each === "met") ? "Nothing speaks against these" : "What was said"];
    for (const name of names) {
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(trial);
    }
  }
  const sorted = [...groups].sort(([, one], [, other]) => other[0].worst - one[0].worst);
  return html`<div class="conversations">
    ${sorted.map(([name, found]) => html`<${Group} key=${name} name=${name} trials=${found} place=${place} block=${block} text=${text} />`)}
  </div>`;
}

function showMore(left, what = "") {
  return left > MORE ? `Show ${MORE} more of ${left.toLocaleString("en")}${what}` : `Show the other ${left}${what}`;
}

function Group({ name, trials, place, block, text }) {
  const [shown, show] = useState(FEW);
  return html`<section class="group">
    <h3><${Sign} of=${trials[0].worst ? "missed" : trials[0].states.some((each) => each === "met") ? "met" : "measured"} /> ${name} <span class="soft">· ${many(trials.length, "conversation")}</span></h3>
    ${trials.slice(0, shown).map((trial) => html`<${Row} key=${trial.index} trial=${trial} block=${block} place=${place} text=${text} />`)}
    ${shown < trials.length && html`<button class="more" onClick=${() => show(shown + MORE)}>${showMore(trials.length - shown)}</button>`}
  </section>`;
}

function Row({ trial: known, block, place, text }) {
  const trial = useTrial(place, block, known);
  const { labels } = block;
  if (!trial) return html`<${TrialLink} class="talk" place=${place} trial=${known.index}><span class="soft mono">#${known.index}</span><span class="soft small">…</span><//>`;
  const missed = labels.filter((_, nth) => trial.states[nth] === "missed" || trial.states[nth] === "missing").map((label) => trial.scores[label] || {});
  const given = Object.values(trial.scores).filter((score) => score.score !== null);
  const slowest = Math.max(0, ...trial.turns.filter((turn) => turn.role === "assistant").map((turn) => turn.seconds || 0));
  const said = trial.failures[0] || ([...missed, ...given].find((score) => score.reasoning) || {}).reasoning || (trial.turns[0] || {}).content || "nothing was said";
  return html`<${TrialLink} class="talk" place=${place} trial=${trial.index}>
    <span class="soft mono">#${trial.index}</span>
    <span class="small">${given.slice(0, 3).map((score) => short(score.score)).join(" · ") || "no score"}</span>
    <span class="said">${marked(said, text)}</span>
    <span class="soft small extent">${many(trial.turns.length, "message")}${slowest > 0 ? ` · ${seconds(slowest)}` : ""}</span>
  <//>`;
}

function Judged({ trial, block, expectations, text, calls = [] }) {
  const { labels, rubrics } = block;
  return html`<div>
    ${trial.failures.map((said) => html`<div class="judged"><${Sign} of="missed" /> ${marked(said, text)}</div>`)}
    ${labels.map((label, place) => {
      const score = trial.scores[label];
      if (!score || labels.indexOf(label) !== place) return null;
      const expectation = expectations.find((each) => each.label === label);
      const rubric = rubrics[expectations.indexOf(expectation)] || {};
      return html`<div class="judged">
        <h3><${Sign} of=${trial.states[place]} /> ${label}</h3>
        <p><span class="score">${score.score === null ? "–" : short(score.score)}</span></p>
        ${score.reasoning && html`<p>${marked(score.reasoning, text)}</p>`}
        ${(score.ratings || []).map((each) => html`<p class="small"><b>${short(each.score)}</b> <span class="soft">${each.judge}</span> ${marked(each.reasoning, text)}</p>`)}
        ${expectation && expectation.behaviour && html`<p class="small"><span class="soft">Expected:</span> ${expectation.behaviour}</p>`}
        ${Object.keys(rubric).length > 0 && html`<details class="small"><summary>Rubric</summary><${Rubric} expectation=${expectation} rubric=${rubric} given=${Math.round(score.score)} /></details>`}
        ${calls.filter((each) => each.label === label).map((call) => html`<${ModelCall} call=${call} />`)}
      </div>`;
    })}
    <dl class="pairs">
      <dt>Ended</dt><dd>${trial.ended}</dd>
      ${trial.seed && html`<dt>Seed</dt><dd class="mono">${trial.seed}</dd>`}
      ${Object.entries(trial.style).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}
    </dl>
  </div>`;
}

function Drawer({ report, kept, state, hits, text, isServed }) {
  const place = Number(state.scenario_of_trial);
  const scenario = report.scenarios[place];
  const block = useScenario(scenario ? place : null);
  const dialog = useRef(null);
  useEffect(() => { if (dialog.current && !dialog.current.open) dialog.current.showModal(); });
  const trials = !block ? [] : hits ? block.trials.filter((each) => hits.has(each.index)) : block.trials;
  const placeOf = (index) => trials.findIndex((each) => String(each.index) === index);
  const at = placeOf(state.trial);
  const known = at >= 0 ? trials[at] : block && block.trials.find((each) => String(each.index) === state.trial);
  const trial = useTrial(place, block, known);
  const again = useLater(isServed && known ? `calls ${place} ${state.trial}` : null, () => asked(`${place}-calls-${state.trial}.json`));
  const { calls, unknown } = again || { calls: [], unknown: [] };
  const step = (by) => { const next = trials[placeOf(stateOf().trial) + by]; if (next) go({ trial: next.index }, { silent: true }); };
  useLayoutEffect(() => {
    const press = (event) => {
      if (event.target.matches("input, select")) return;
      if (event.key === "j" || event.key === "ArrowRight") step(1);
      if (event.key === "k" || event.key === "ArrowLeft") step(-1);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
  const close = () => go({ trial: "", scenario_of_trial: "" });
  if (!scenario) return null;
  return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="drawer-title" onClick=${(event) => event.target === dialog.current && close()}>
    <div class="drawer-top">
      <h2 id="drawer-title">Conversation ${state.trial} <span class="soft">· ${scenario.title}</span></h2>
      <button class="tool" disabled=${at < 1} onClick=${() => step(-1)} aria-label="Previous conversation">↑ Previous</button>
      <button class="tool" disabled=${at < 0 || at + 1 >= trials.length} onClick=${() => step(1)} aria-label="Next conversation">↓ Next</button>
      <button class="tool" onClick=${close} aria-label="Close">✕</button>
    </div>
    ${(!block || (known && !trial)) && html`<p class="empty">Reading…</p>`}
    ${block && !known && html`<p class="empty">What was said here is not on this page.
      ${report.kind === "suite" && html`<br />Read it with <code class="mono">simeval show ${report.name} --trial ${state.trial}</code>`}</p>`}
    ${trial && (trial.pair
      ? html`<div class="two pair">
          <section><h3>Before</h3><${Transcript} trial=${trial.pair} text=${text} /><${Judged} trial=${trial.pair} block=${block} expectations=${scenario.expectations} text=${text} /></section>
          <section><h3>Now</h3><${Transcript} trial=${trial} text=${text} /><${Judged} trial=${trial} block=${block} expectations=${scenario.expectations} text=${text} /></section>
        </div>`
      : html`<div class="two">
          <section aria-label="Transcript"><${Transcript} trial=${trial} text=${text} calls=${calls} />
            ${unknown.map((said) => html`<p class="soft small">${said}</p>`)}</section>
          <section aria-label="How it was judged">${trial.reason && html`<p class="worst-of">${trial.reason}</p>`}
            <${Judged} trial=${trial} block=${block} expectations=${scenario.expectations} text=${text} calls=${calls} /></section>
        </div>`)}
  </dialog>`;
}

// A table without the columns in which nothing was counted.
function Table({ title, headers, rows, isInside }) {
  if (!rows.length) return null;
  const shown = headers.map((_, place) => rows.some((row) => ![0, "0", "-", "", null].includes(row[place])));
  return html`<section class=${isInside ? "cut ink" : "card pad"}><h2>${title}</h2><div class="scroll"><table>
    <thead><tr>${headers.filter((_, place) => shown[place]).map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.filter((_, place) => shown[place]).map((cell) => html`<td>${Array.isArray(cell) ? draw(cell) : cell}</td>`)}</tr>`)}</tbody>
  </table></div></section>`;
}

function Change({ change, text }) {
  const [low, high] = change.numbers.interval || [null, null];
  const jumps = (title, kind, trials) => trials.length > 0 && html`<div class="jumps"><span class="small soft">${title} in ${many(trials.length, "pair")}:</span>
    ${trials.slice(0, MORE).map((trial) => html`<button class="jump ${kind}" onClick=${() => openTrial(change.scenario, trial)}>#${trial}</button>`)}
    ${trials.length > MORE && html`<span class="small soft">and ${trials.length - MORE} more</span>`}</div>`;
  return html`<section class="card"><div class="requirement" data-verdict=${change.finding} data-label=${change.name} data-n=${change.numbers.n}
      data-estimate=${change.numbers.difference} data-low=${low} data-high=${high}>
    <div>
      <p class="small soft">${change.title}</p>
      <h2><${Badge} outcome=${change.finding}>${change.finding}<//> ${marked(change.name, text)}</h2>
      <p>${change.said}</p>
      ${jumps("Got worse", "worse", change.worse)}${jumps("Got better", "better", change.better)}
    </div>
    <div class="picture">${change.picture && draw(change.picture)}</div>
  </div></section>`;
}

function App({ report, kept, mark, links, going, finds }) {
  const state = useAddress();
  const text = (state.text || "").trim();
  const search = useSearch(text, report.scenarios.length, finds);
  const hits = text && search.text === text ? search.hits : null;
  const [toggled, toggle] = useState({});
  const [shown, show] = useState(MORE);
  const [printing, print] = useState(false);
  const order = useMemo(() => report.scenarios.map((_, place) => place)
    .sort((one, other) => ORDER.indexOf(report.scenarios[one].outcome) - ORDER.indexOf(report.scenarios[other].outcome) || one - other), []);
  useEffect(() => { document.title = `${mark} · ${report.name} · simeval`; }, [mark]);
  useEffect(() => {
    const press = (event) => { if (event.key === "/" && !event.target.matches("input, select")) { event.preventDefault(); document.getElementById("search").focus(); } };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  useEffect(() => {
    const begin = () => print(true);
    const end = () => print(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => { removeEventListener("beforeprint", begin); removeEventListener("afterprint", end); };
  }, []);
  const wanted = text.toLowerCase();
  const named = (place) => report.scenarios[place].title.toLowerCase().includes(wanted);
  const isIn = (place) => (!state.scenario || Number(state.scenario) === place) && (!text || named(place) || (hits && hits.has(place) && hits.get(place).size > 0));
  const isComparison = report.kind === "comparison";
  const places = isComparison ? [] : order.filter((place) => isIn(place) && (!state.outcome || report.scenarios[place].outcome === state.outcome));
  const changes = report.changes.filter((each) => (!state.outcome || each.finding === state.outcome) && (!state.scenario || Number(state.scenario) === each.scenario) && (!text || isIn(each.scenario) || each.name.toLowerCase().includes(wanted)));
  const opened = new Set(order.filter((place) => report.scenarios[place].outcome !== "pass").slice(0, OPENED));
  const isOpen = (place) => printing || (toggled[place] ?? (opened.has(place) || places.length === 1 || (text !== "" && places.length <= OPENED)));
  const held = report.scenarios.reduce((sum, each) => sum + each.trials, 0);
  const requires = isComparison || report.scenarios.some((each) => each.expectations.some((one) => one.verdicts.length));
  const inside = kept.reduce((sum, each) => sum + each, 0);
  return html`<main>
    <${Links} links=${links} going=${going} />
    <${Hero} report=${report} mark=${mark} />
    <${Table} title="Kinds of misses that changed" headers=${["", "Requirement", "Kind", "Before", "Now", "p (approximate)"]} rows=${report.kinds} />
    <${Filters} report=${report} state=${state} done=${text ? search.done : 0} total=${text ? report.scenarios.length : 0} />
    <p class="soft small"><span class="legend">${draw(LEGEND)}</span> ● what was seen · band: where the true value lies${requires && " · | what is required"}</p>
    ${!isComparison && inside < held && html`<p class="soft small">${inside.toLocaleString("en")} of ${held.toLocaleString("en")} conversations shown, the worst of each requirement first.</p>`}
    ${places.slice(0, shown).map((place) => html`<${Scenario} key=${place} report=${report} scenario=${report.scenarios[place]} place=${place} kept=${kept[place]}
      isOpen=${isOpen(place)} isGoing=${going} toggle=${() => toggle({ ...toggled, [place]: !isOpen(place) })} text=${text} hits=${hits && hits.get(place)} />`)}
    ${shown < places.length && html`<button class="more" onClick=${() => show(shown + MORE)}>${showMore(places.length - shown, " scenarios")}</button>`}
    ${changes.map((each) => html`<${Change} change=${each} text=${text} />`)}
    ${!places.length && !changes.length && html`<p class="empty">${text && search.done < report.scenarios.length ? "Searching…" : "Nothing matches these filters."}</p>`}
    <${Table} title="What went wrong in single conversations" headers=${["What", "How often"]} rows=${report.causes} />
    <${Table} title="What it took" headers=${["Role", "Calls", "Failed", "Tokens read", "Tokens written", "Cost"]} rows=${report.usage} />
    ${report.notes.length > 0 && html`<section class="card pad"><h2>Notes</h2>${report.notes.map((said) => html`<p>${said}</p>`)}</section>`}
    <p class="soft small">Keys: / searches, j and k go to the next and the previous conversation, Esc closes it. The address keeps filters and conversation: it can be sent.</p>
    ${state.trial !== undefined && state.trial !== "" && html`<${Drawer} report=${report} kept=${kept} state=${state} hits=${hits && hits.get(Number(state.scenario_of_trial))} text=${text} isServed=${finds} />`}
  </main>`;
}

const LEGEND = ["svg", { viewBox: "0 0 300 28", class: "interval", "aria-hidden": "true" }, ["line", { class: "scale", x1: 8, y1: 14, x2: 292, y2: 14 }],
  ["rect", { class: "range", x: 150, y: 10.5, width: 110, height: 7, rx: 3.5 }], ["circle", { class: "seen", cx: 210, cy: 14, r: 5 }], ["line", { class: "bar", x1: 120, y1: 3, x2: 120, y2: 25 }]];

start(App, "head.json");
