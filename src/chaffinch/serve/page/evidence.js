// Why this answer: a waterfall of evidence, the probability of each label, the best readings, and "why not X".
import { colourOf } from "./colours.js";
import { html, live, signal } from "./live.js";
import { wordsOf } from "./offsets.js";
import { latest, post } from "./server.js";
import { Choice, many, model, percent, signed } from "./store.js";

/** What is asked about: a word of a sentence, or a whole document. */
export const subject = signal(/** @type {Subject | null} */ (null));
const answer = signal(/** @type {Explanation | null} */ (null));
const failure = signal("");
const grouping = signal(/** @type {"word" | "kind"} */ ("word"));
const opened = signal(/** @type {Set<string>} */ (new Set()));
const everything = signal(false);
const [SHOWN, TERMS, LABELS] = [10, 30, 8];

const starting = latest();

/** @param {Subject | null} asked */
export async function explain(asked) {
	const stop = starting();
	const before = subject.value;
	subject.value = asked;
	failure.value = "";
	if (before?.result !== asked?.result || before?.position !== asked?.position) {
		answer.value = null;
		opened.value = new Set();
		everything.value = false;
	}
	if (!asked) return;
	const { model, version, input, position, instead } = asked;
	try {
		answer.value = await post("explain", { model: model.name, version: version || undefined, ...input, position, instead }, stop);
	} catch (error) {
		if (!stop.aborted) failure.value = /** @type {Error} */ (error).message;
	}
}

/** A view with the evidence beside it; Control and Enter learn anywhere in it. */
export const Columns = live(({ title, focus, press, teach, single, children }) => html`<div class=${`columns${single ? " single" : ""}`}
	onKeyDown=${(event) => (event.key === "Enter" && (event.ctrlKey || event.metaKey) ? teach?.() : press?.(event))}>
	<section><h1 class="unseen">${title}</h1>${children}<${Rules} /></section>
	${!single && html`<${Evidence} close=${() => (explain(null), focus?.())} />`}
</div>`);

const Rules = live(() => {
	const { rules = [] } = model.value;
	return rules.length > 0 && html`<details><summary>${many(rules.length, "rule")} of the decoder</summary><p class="code">${rules.join(", ")}</p></details>`;
});

const Evidence = live(({ close }) => {
	const asked = subject.value;
	if (!asked) return html`<aside class="evidence empty" aria-label="Evidence"><p>Choose a word, or press ?, to see why it got its label.</p></aside>`;
	const given = answer.value;
	return html`<aside class="evidence" aria-label="Evidence">
		<header>
			<h2><bdi>${asked.position == null ? "This text" : wordsOf(asked.result)[asked.position]}</bdi></h2>
			<button class="quiet" onClick=${close}>Close</button>
		</header>
		${failure.value && html`<p class="wrong" role="alert">${failure.value}</p>`}
		${!given && !failure.value && html`<p class="waiting" role="status">Asking the model …</p>`}
		${given && html`<${Told} given=${given} asked=${asked} />`}
	</aside>`;
});

const Told = live((/** @type {{ given: Explanation, asked: Subject }} */ { given, asked }) => {
	const { answer: said, instead, margin, marginals, kbest, turns } = given;
	const rivals = marginals ? Object.keys(marginals) : asked.model.labels;
	return html`<p class="verdict">
			<span class=${`chip ${colourOf(said)}`}>${said}</span> <span class="number">${percent(marginals?.[said])}</span>
		</p>
		${instead != null && html`<p class="why">
			<label>Why not <${Choice} value=${instead} options=${rivals.filter((label) => label !== said).map((label) => [label])}
				choose=${(label) => explain({ ...asked, instead: label })} /></label>? <span>${said} ${margin < 0 ? "trails" : "leads"} by <span class="number">${Math.abs(margin).toFixed(2)}</span>.</span>
		</p>`}
		${turns && html`<p class="turns">${turns}</p>`}
		<${Waterfall} given=${given} />
		${marginals && html`<${Shares} shares=${marginals} />`}
		${kbest?.length ? html`<${Readings} words=${wordsOf(asked.result)} readings=${kbest} />` : null}`;
});

/** Each bar starts where the one before ended; the last is their sum. */
const Waterfall = live((/** @type {{ given: Explanation }} */ { given }) => {
	const steps = summed(given.groups, grouping.value);
	const shown = everything.value ? steps : steps.slice(0, SHOWN);
	const folded = steps.slice(shown.length);
	const rest = given.others + folded.reduce((sum, { value }) => sum + value, 0);
	let at = 0;
	const bars = [...shown.map(({ value }) => value), rest].map((value) => ({ from: at, to: (at += value) }));
	const reach = [0, given.margin, ...bars.map(({ to }) => to)];
	const [low, high] = [Math.min(...reach), Math.max(...reach)];
	const place = (value) => (100 * (value - low)) / (high - low || 1);
	const row = (name, { from, to }, kind = "") => html`<tr class=${kind}>
		<th scope="row">${name}</th>
		<td><svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
			<line class="axis" x1=${place(0)} x2=${place(0)} y1="0" y2="10" />
			<rect class=${to < from ? "against" : "for"} x=${place(Math.min(from, to))} y="1.5" height="7" width=${Math.max(0.6, Math.abs(place(to) - place(from)))} />
		</svg></td>
		<td class="number">${signed(to - from)}</td>
	</tr>`;
	return html`<section class="part">
		<header>
			<h3>Evidence</h3>
			<div role="group" aria-label="Group evidence" class="switch">
				${/** @type {const} */ (["word", "kind"]).map((by) => html`<button aria-pressed=${grouping.value === by} onClick=${() => (grouping.value = by)}>by ${by}</button>`)}
			</div>
		</header>
		<table class="waterfall" aria-label=${`Evidence for ${given.answer} against ${given.instead}: the scores add up to the lead`}>
			<tbody>
				${shown.map((step, n) => {
					const open = opened.value.has(step.key);
					const name = html`<button class="fold" aria-expanded=${open} onClick=${() => toggle(step.key)}><bdi>${step.key}</bdi></button>`;
					return [row(name, bars[n]), open && step.terms.slice(0, TERMS).map((term) => html`<tr class="term"><td colspan="2"><bdi>${term.name}</bdi></td><td class="number">${signed(term.value)}</td></tr>`)];
				})}
				${folded.length > 0 && row(html`<button class="fold" onClick=${() => (everything.value = true)}>${folded.length} more</button>`, bars[shown.length])}
				${!folded.length && Math.abs(rest) >= 0.005 && row("not listed", bars[shown.length], "rest")}
				${row("lead", { from: 0, to: given.margin }, "total")}
			</tbody>
		</table>
	</section>`;
});

function toggle(key) {
	const next = new Set(opened.value);
	if (!next.delete(key)) next.add(key);
	opened.value = next;
}

/** Groups of the same word, or of the same kind, the strongest first. @param {Group[]} groups @param {"word" | "kind"} by */
export function summed(groups, by) {
	/** @type {Map<string, { key: string, value: number, terms: Term[] }>} */
	const steps = new Map();
	const seen = new Map();
	for (const { word, at, kind, value, terms } of groups) {
		const name = by === "kind" ? kind : (word ?? "the whole text");
		const id = by === "kind" ? kind : `${at} ${name}`;
		let step = steps.get(id);
		if (!step) {
			const times = (seen.get(name) ?? 0) + 1; // two words may look alike
			seen.set(name, times);
			steps.set(id, (step = { key: times > 1 ? `${name} (${times})` : name, value: 0, terms: [] }));
		}
		step.value += value;
		step.terms.push(...(terms?.length ? terms : [{ name: kind, value }]));
	}
	const strongest = (a, b) => Math.abs(b.value) - Math.abs(a.value);
	for (const step of steps.values()) step.terms.sort(strongest);
	return [...steps.values()].sort(strongest);
}

const Shares = live(({ shares }) => {
	const ranked = Object.entries(shares).sort((a, b) => b[1] - a[1]).slice(0, LABELS);
	return html`<section class="part">
		<h3>Probability of each label</h3>
		<table class="shares" aria-label="Probability of each label"><tbody>
			${ranked.map(([label, p]) => html`<tr>
				<th scope="row"><bdi>${label}</bdi></th>
				<td><svg class=${`bar ${colourOf(label)}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
					<rect class="track" y="1.5" height="7" width="100" /><rect class="share" y="1.5" height="7" width=${100 * p} />
				</svg></td>
				<td class="number">${percent(p)}</td>
			</tr>`)}
		</tbody></table>
	</section>`;
});

/** The best labellings of a sentence, each shown by its differences from the best. */
const Readings = live((/** @type {{ words: string[], readings: Reading[] }} */ { words, readings }) => {
	const best = readings[0].tags;
	const told = (/** @type {Reading} */ { tags, label }) => {
		if (!tags || !best) return label;
		const apart = tags.flatMap((tag, i) => (tag === best[i] ? [] : html`<span><bdi>${words[i]}</bdi> <span class="mini">${tag}</span></span> `));
		return apart.length ? apart : "the answer";
	};
	return html`<section class="part">
		<h3>Best readings</h3>
		<ol class="readings">${readings.map((one) => html`<li><span class="number">${percent(one.p)}</span><span>${told(one)}</span></li>`)}</ol>
	</section>`;
});
