// Charts of the report: curves over passes, a reliability diagram, a confusion table. Numbers stand beside each.
import { html, live } from "./live.js";
import { percent } from "./store.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [46, 286, 14, 206];

/** A function from values to pixels; equal values lie in the middle. */
function scaled(/** @type {number[]} */ values, from, to) {
	const [low, high] = [Math.min(...values), Math.max(...values)];
	return (value) => (high === low ? (from + to) / 2 : from + ((to - from) * (value - low)) / (high - low));
}

const tick = (text, x, y, kind = "") => html`<text class=${`tick ${kind}`} x=${x} y=${y}>${text}</text>`;

/** A chart with the same as a table. */
const Chart = live(({ title, told, head, rows, children }) => html`<figure class="chart">
	<figcaption>${title}</figcaption>
	<svg viewBox="0 0 300 240" role="img" aria-label=${told}>${children}</svg>
	<details><summary>As a table</summary><table class="numbers" aria-label=${title}>
		<thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
		<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
	</table></details>
</figure>`);

/** One curve over the passes of training. */
export const Curve = live((/** @type {{ title: string, points: [number, number][] }} */ { title, points }) => {
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

/** How often answers are right by how certain they were: honest ones lie on the diagonal. */
export const Reliability = live((/** @type {{ bins: NonNullable<Measured["calibration"]> }} */ { bins }) => {
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
export const Confusion = live((/** @type {NonNullable<Measured["confusion"]>} */ { labels, counts }) => {
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
