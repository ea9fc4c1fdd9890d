// The report on a corpus with known labels: scores, training curves, calibration, confusion.
import { html, live, signal } from "./live.js";
import { get, latest } from "./server.js";
import { Choice, files, model, names, percent } from "./store.js";

const report = signal(/** @type {Measured | null} */ (null));
const failure = signal("");
const file = signal("");

const starting = latest();

export async function open() {
	const stop = starting();
	[report.value, failure.value] = [null, ""];
	try {
		report.value = await get("report", { model: model.value.name, data: (files().find(({ name }) => name === file.value) ?? files()[0])?.name }, stop);
	} catch (error) {
		if (!stop.aborted) failure.value = /** @type {Error} */ (error).message;
	}
}

export const Report = live(() => {
	const choose = (name) => {
		file.value = name;
		open();
	};
	return html`<section class="page">
		<h1>Report of ${model.value.name}</h1>
		${files().length > 1 && html`<p><label>Measured on <${Choice} value=${file.value} options=${names(files())} choose=${choose} /></label></p>`}
		${failure.value && html`<p class="wrong" role="alert">${failure.value}</p>`}
		${!failure.value && !report.value && html`<p class="hint" role="status">Measuring …</p>`}
		${report.value && html`<${Found} ...${report.value} />`}
	</section>`;
});

const Found = live((/** @type {Measured} */ { version, accuracy, f1, calibration, ece, confusion, curve }) => {
	const points = (of) => (curve ?? []).flatMap((one) => (one[of] == null ? [] : [[one.pass, one[of]]]));
	const [objective, dev] = [points("objective"), points("dev")];
	const score = (name, value, unit = "") => value != null && html`<div><dt>${name}</dt><dd class="number">${typeof value === "number" ? (100 * value).toFixed(1) : value}${unit}</dd></div>`;
	return html`<dl class="scores">
			${score("F1", f1)}${score(model.value.kind === "documents" ? "accuracy" : "rows all right", accuracy, " %")}${score("calibration error", ece, " points")}${score("version", version)}
		</dl>
		<div class="charts">
			${objective.length > 1 && html`<${Curve} title="Objective by pass" points=${objective} />`}
			${dev.length > 1 && html`<${Curve} title="Held-out score by pass" points=${dev} />`}
			${calibration?.length ? html`<${Reliability} bins=${calibration} />` : null}
		</div>
		${objective.length < 2 && dev.length < 2 && html`<p class="quiet">The model file has no training curve.</p>`}
		${confusion?.labels.length ? html`<h2>Confusion</h2><${Confusion} ...${confusion} />` : null}`;
});

// --- charts, each with its numbers beside it

const [LEFT, RIGHT, TOP, BOTTOM] = [46, 286, 14, 206];

/** A function from values to pixels; equal values lie in the middle. */
function scaled(/** @type {number[]} */ values, from, to) {
	const [low, high] = [Math.min(...values), Math.max(...values)];
	return (value) => (high === low ? (from + to) / 2 : from + ((to - from) * (value - low)) / (high - low));
}

const tick = (text, x, y, kind = "") => html`<text class=${`tick ${kind}`} x=${x} y=${y}>${text}</text>`;

/** A chart with its data as a table. */
const Chart = live(({ title, told, head, rows, children }) => html`<figure class="chart">
	<figcaption>${title}</figcaption>
	<svg viewBox="0 0 300 240" role="img" aria-label=${told}>${children}</svg>
	<details><summary>As a table</summary><table class="numbers" aria-label=${title}>
		<thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
		<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
	</table></details>
</figure>`);

/** One curve over the passes of training. */
const Curve = live((/** @type {{ title: string, points: [number, number][] }} */ { title, points }) => {
	const values = points.map(([, value]) => value);
	const [first, last] = [points[0], points[points.length - 1]];
	const x = scaled(points.map(([pass]) => pass), LEFT + 6, RIGHT);
	const y = scaled(values, BOTTOM - 6, TOP);
	const write = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
	const told = `${title}: from ${write(first[1])} to ${write(last[1])} in ${points.length} passes`;
	return html`<${Chart} title=${title} told=${told} head=${["pass", "value"]} rows=${points.map(([pass, value]) => [pass, write(value)])}>
		<line class="axis" x1=${LEFT} x2=${RIGHT} y1=${BOTTOM} y2=${BOTTOM} />
		${[...new Set([Math.min(...values), Math.max(...values)])].map((value) => tick(write(value), LEFT - 4, y(value) + 4, "end"))}
		${[first[0], last[0]].map((pass) => tick(pass, x(pass), BOTTOM + 18))}
		<polyline class="curve" points=${points.map(([pass, value]) => `${x(pass).toFixed(1)},${y(value).toFixed(1)}`).join(" ")} />
	<//>`;
});

/** The reliability diagram: calibrated answers lie on the diagonal. */
const Reliability = live((/** @type {{ bins: NonNullable<Measured["calibration"]> }} */ { bins }) => {
	const filled = bins.filter(({ count }) => count > 0);
	const most = Math.max(...filled.map(({ count }) => count));
	const [x, y] = [(p) => LEFT + (RIGHT - LEFT) * p, (p) => BOTTOM + (TOP - BOTTOM) * p];
	const rows = filled.map(({ from, to, mean, right, count }) => [`${percent(from)} to ${percent(to)}`, percent(mean), percent(right), count]);
	return html`<${Chart} title="Share of right answers by certainty" told="Share of right answers by certainty" head=${["certainty", "mean", "right", "answers"]} rows=${rows}>
		<rect class="axis" x=${LEFT} y=${TOP} width=${RIGHT - LEFT} height=${BOTTOM - TOP} />
		<line class="diagonal" x1=${LEFT} y1=${BOTTOM} x2=${RIGHT} y2=${TOP} />
		${filled.map(({ mean, right, count }) => html`<circle class="dot" cx=${x(mean)} cy=${y(right)} r=${3 + 5 * Math.sqrt(count / most)} />`)}
		${[0, 0.5, 1].map((p) => [tick(percent(p), x(p) - 4 * p, BOTTOM + 18), tick(100 * p, LEFT - 6, y(p) + 4, "end")])}
	<//>`;
});

/** Gold labels in rows, answers in columns; shade is the share of the row. */
const Confusion = live((/** @type {NonNullable<Measured["confusion"]>} */ { labels, counts }) => {
	const cell = (count, i, j) => {
		const share = count / counts[i].reduce((sum, other) => sum + other, 0);
		return html`<td class=${count && (i === j ? "same" : share > 0.25 ? "often" : "other")}>${count || ""}</td>`;
	};
	return html`<p class="quiet">Gold labels down, answers across.</p>
		<div class="scroller" tabindex="0" role="group" aria-label="Confusion table"><table class="confusion" aria-label="Confusion">
			<thead><tr><td></td>${labels.map((label) => html`<th scope="col"><bdi>${label}</bdi></th>`)}</tr></thead>
			<tbody>${labels.map((label, i) => html`<tr><th scope="row"><bdi>${label}</bdi></th>${counts[i].map((count, j) => cell(count, i, j))}</tr>`)}</tbody>
		</table></div>`;
});
