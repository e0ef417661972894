"use strict";
const ROWS = 8; // requirements of a suite that are shown at once
const RUNS = 5; // runs of a suite that are listed at once
const STATUS_OPEN = ["running", "interrupted"]; // of a run that has no result to compare

const Outcome = ({ run }) => STATUS_OPEN.includes(run.status)
  ? html`<span class="badge ${run.status}">${run.status === "running" && html`<i class="pulse"></i>`}${NAMES[run.status]}</span>`
  : html`<${Badge} outcome=${run.outcome}>${NAMES[run.outcome] || "Measured"}<//>`;

function Course({ row }) {
  return html`<tr data-outcome=${row.outcome}>
    <td><${Sign} of=${row.outcome} /></td>
    <td><b>${row.label}</b> <span class="soft small" title=${row.scenario}>${beginning(row.scenario)}</span><br /><span class="soft small">${row.evaluator}</span></td>
    <td class="small measured">${row.said}</td>
    <td class="course">${draw(row.picture)}</td>
  </tr>`;
}

function Courses({ suite }) {
  const [all, show] = useState(false);
  if (!suite.rows.length) return null;
  const rows = all ? suite.rows : suite.rows.slice(0, ROWS);
  const more = suite.rows.length - rows.length;
  return html`<div class="scroll"><table class="courses">
    <thead><tr><th scope="col"><span class="hidden">Outcome</span></th><th scope="col">${suite.is_of_examples ? "Requirement or metric" : "Requirement"}</th><th scope="col">Last run</th><th scope="col" class="nowrap">Run by run →</th></tr></thead>
    <tbody>${rows.map((row) => html`<${Course} key=${`${row.scenario} ${row.label} ${row.evaluator}`} row=${row} />`)}</tbody>
  </table></div>
  ${more > 0 && html`<button class="more" onClick=${() => show(true)}>Show ${more} more</button>`}
  ${(all || more <= 0) && suite.left_out > 0 && html`<p class="soft small">${many(suite.left_out, suite.is_of_examples ? "more metric" : "more requirement")} of the last run are on its page.</p>`}`;
}

function Runs({ suite, hasLabels }) {
  const [shown, show] = useState(RUNS);
  const [chosen, choose] = useState([]);
  const mark = (id) => choose(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-2));
  const inOrder = suite.runs.map((run) => run.run_id).filter((id) => chosen.includes(id)).reverse();
  return html`<div class="scroll"><table class="runs">
    <thead><tr><th scope="col"><span class="hidden">Compare</span></th><th scope="col">Run</th><th scope="col">Outcome</th><th scope="col">Started (UTC)</th><th scope="col">App</th><th scope="col">Conversations</th><th scope="col">Cost</th><th scope="col">Time</th><th></th></tr></thead>
    <tbody>${suite.runs.slice(0, shown).map((run) => html`<tr key=${run.run_id} data-run=${run.run_id}>
      <td>${!STATUS_OPEN.includes(run.status) && html`<input type="checkbox" aria-label="Compare ${run.run_id}" checked=${chosen.includes(run.run_id)} onChange=${() => mark(run.run_id)} />`}</td>
      <td><a class="mono" href="run/${encodeURIComponent(run.run_id)}/">${run.run_id}</a></td>
      <td><${Outcome} run=${run} />${run.baseline_met === false && html` <span class="soft small">baseline not met</span>`}</td>
      <td class="nowrap">${run.started}</td>
      <td>${run.app}${Object.entries(run.metadata).map(([name, value]) => html` <span class="soft small">${name}=${value}</span>`)}</td>
      <td>${run.trials.toLocaleString("en")}</td><td>${run.cost}</td><td class="nowrap">${seconds(run.seconds)}</td>
      <td>${hasLabels && run.outcome && !suite.is_of_examples && html`<a class="small" href="label/${encodeURIComponent(run.run_id)}/">label</a>`}</td>
    </tr>`)}</tbody>
  </table></div>
  <div class="row">
    ${shown < suite.runs.length && html`<button class="more" onClick=${() => show(shown + MORE_RUNS)}>Show ${Math.min(MORE_RUNS, suite.runs.length - shown)} more</button>`}
    ${inOrder.length === 2 && html`<a class="more" href="compare/${inOrder.map(encodeURIComponent).join("/")}/">Compare the two chosen runs</a>`}
    ${inOrder.length === 1 && html`<span class="soft small">choose another to compare it with</span>`}
  </div>`;
}
const MORE_RUNS = 50;

function Suite({ suite, hasLabels }) {
  const [newest] = suite.runs;
  return html`<section class="card pad suite">
    <header><${Outcome} run=${newest} /><h2>${beginning(suite.name)}</h2>
      <span class="soft small">${[suite.size, many(suite.runs.length, "run"), `last ${newest.started} UTC`].filter(Boolean).join(" · ")}</span></header>
    <${Courses} suite=${suite} />
    <${Runs} suite=${suite} hasLabels=${hasLabels} />
  </section>`;
}

function List({ store, suites, has_labels, going, most }) {
  const runs = suites.reduce((sum, each) => sum + each.runs.length, 0);
  return html`<main>
    <header class="top-of-list"><h1>Runs</h1><span class="soft small mono">${store}</span>${going && html`<span class="soft small" role="status"><i class="pulse"></i>under way</span>`}</header>
    ${!runs && html`<p class="empty">No run is in this store yet: see <code class="mono">simeval run</code>.</p>`}
    ${runs > 0 && html`<p class="soft small">Each point is a run: a dot for what was seen, a band for where the true value lies, a line for what is required, if anything is. Choose one to open its run.</p>`}
    ${suites.map((suite) => html`<${Suite} key=${suite.runs[suite.runs.length - 1].run_id} suite=${suite} hasLabels=${has_labels} />`)}
    ${runs >= most && html`<p class="soft small">The newest ${most} runs are shown; <code class="mono">simeval runs</code> has the others.</p>`}
  </main>`;
}

start(List, "list.json");
