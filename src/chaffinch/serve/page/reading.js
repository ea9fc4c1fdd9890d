// Text that a person pastes or types, read by one model, or by two side by side.
import { Columns, explain } from "./evidence.js";
import { learn, learning, Outcome, readJournal } from "./learning.js";
import { html, live, signal } from "./live.js";
import { received } from "./offsets.js";
import { long, Painted } from "./painted.js";
import { explains, Review } from "./review.js";
import { Palette, Rows } from "./rows.js";
import { latest, post } from "./server.js";
import { attempt, Choice, model, models, names } from "./store.js";

const KEY = "chaffinch-text";
const text = signal(sessionStorage.getItem(KEY) ?? "");
const busy = signal(false);
const review = new Review("read", { reading: true, saved: readJournal });
const sideReviews = [new Review("first", { reading: true }), new Review("second", { reading: true })];

/**
 * Answers of a model to a text. One line is one sentence; a document is all lines.
 * @param {Model} used
 * @param {AbortSignal} stop
 * @returns {Promise<Row[]>}
 */
async function answers({ name, kind }, stop, version = "") {
	const lines = text.value.split(/\r?\n/u).filter((line) => line.trim());
	const ask = async (input) => (await post("predict", { model: name, version: version || undefined, ...input }, stop)).results.map(received);
	if (!lines.length) return [];
	if (kind === "documents") return ask({ text: text.value, probabilities: true });
	if (kind !== "links") return ask({ texts: lines });
	const pairs = lines.map((line) => line.split(/\t|\|\|\|/u).map((side) => side.match(/\S+/gu) ?? []));
	if (pairs.some(({ length }) => length !== 2)) throw new Error("Write a pair on each line: the house ||| la maison");
	return (await Promise.all(pairs.map(([source, target]) => ask({ source, target })))).flat();
}

const starting = latest();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Read the text after a pause in typing. */
function soon(act) {
	clearTimeout(timer);
	timer = setTimeout(act, 200);
}

/** Ask for answers and cancel an earlier request; undefined if a later one replaced it. */
async function asked(/** @type {(stop: AbortSignal) => Promise<Row[][]>} */ act) {
	const stop = starting();
	busy.value = true;
	const given = await attempt(() => act(stop));
	if (stop.aborted) return undefined;
	busy.value = false;
	explain(null);
	return given;
}

/** Read the text with the model in use. */
export async function read() {
	const used = model.value;
	const given = await asked(async (stop) => [await answers(used, stop)]);
	if (given) review.show(used, given[0]);
}

const HINTS = { documents: "Paste or type a text.", links: "Paste or type pairs, one on a line: the house ||| la maison" };

const Field = live(({ kind, change }) => {
	const input = (event) => {
		text.value = event.target.value;
		sessionStorage.setItem(KEY, text.value);
		soon(change);
	};
	return html`<label><span class="unseen">Text</span>
		<textarea id="text" dir="auto" rows="4" spellcheck="false" value=${text.value} onInput=${input}
			placeholder=${HINTS[kind] ?? "Paste or type sentences, one on a line."}></textarea></label>`;
});

/** The answers of a review, painted if they are long. */
const Answers = live((/** @type {Reviewed} */ { review: shown, differs }) => {
	const rows = shown.rows.value;
	if (!long(shown.model, rows)) return html`<${Rows} review=${shown} differs=${differs} />`;
	return html`<${Painted} id=${`${shown.name}-long`} model=${shown.model} version=${shown.version} results=${rows} />`;
});

/** Paste or type text, see its answer, ask why, correct it. */
export const Reading = live(() => {
	const { name, kind, learns } = model.value;
	const all = review.rows.value;
	const rows = review.model.name === name ? all : [];
	const explained = explains(model.value);
	const teach = learns ? () => learn(read) : undefined;
	return html`<${Columns} title="Read a text" teach=${teach} single=${!explained} focus=${() => review.focus()}>
		<${Field} kind=${kind} change=${read} />
		<${Outcome} then=${read} open=${() => (location.hash = "#corpus")} review=${review} />
		<div class="reading" aria-busy=${busy.value}>
			${
				rows.length
					? html`<${Answers} review=${review} />`
					: html`<p class="hint">The answer of <strong>${name}</strong> appears here${explained ? "; the paler its colour, the less certain it is" : ""}.</p>`
			}
		</div>
		${learns && !long(model.value, rows) && html`<${Palette} review=${review} learn=${teach} learning=${learning.value} />`}
	<//>`;
});

// --- two models

/** The model and the version on each side; at first two models, or two versions of one. */
const sides = signal(/** @type {Side[]} */ ([]));

function bothSides() {
	const known = sides.value.filter(({ name }) => models.value.some((one) => one.name === name));
	if (known.length === 2) return known;
	const [one, two = one] = models.value;
	const older = one === two && (one.versions ?? []).filter(({ active }) => !active).at(-1);
	return [
		{ name: one.name, version: older ? older.version : "" },
		{ name: two.name, version: "" },
	];
}

export async function compare() {
	const both = bothSides().map(({ name, version }) => ({ version, used: /** @type {Model} */ (models.value.find((one) => one.name === name)) }));
	const given = await asked((stop) => Promise.all(both.map(({ used, version }) => answers(used, stop, version))));
	given?.forEach((rows, n) => sideReviews[n].show(both[n].used, rows, 0, both[n].version || both[n].used.version));
}

/** Which words the two label differently; null if the answers are not comparable word by word. @param {Row[][]} both @returns {boolean[][] | null} */
function apart([one, two]) {
	if (one.length !== two.length || one.some(({ tags }, n) => !tags || tags.length !== two[n].tags?.length)) return null;
	return one.map(({ tags }, n) => (tags ?? []).map((tag, i) => tag !== two[n].tags?.[i]));
}

/** @param {Row[][]} both @param {boolean[][] | null} differs */
function summary(both, differs) {
	if (!both.every(({ length }) => length)) return "";
	if (differs) return `${differs.flat().filter(Boolean).length} of ${differs.flat().length} words differ.`;
	const [one, two] = both.map((rows) => JSON.stringify(rows.map(({ label, labels, tree, links }) => [label, labels, tree, links])));
	return one === two ? "Both give the same answer." : "The answers differ.";
}

export const Comparing = live(() => {
	const both = bothSides();
	const rows = sideReviews.map((side) => side.rows.value);
	const differs = apart(rows);
	const { kind } = models.value.find(({ name }) => name === both[0].name) ?? {};
	return html`<${Columns} title="Compare two models">
		<${Field} kind=${kind} change=${compare} />
		<p class="summary" role="status">${summary(rows, differs)}</p>
		<div class="sides">${both.map((side, n) => html`<${OneSide} side=${side} n=${n} differs=${differs ?? undefined} />`)}</div>
	<//>`;
});

const OneSide = live((/** @type {Sided} */ { side, n, differs }) => {
	const { versions = [] } = models.value.find(({ name }) => name === side.name) ?? {};
	const choose = (next) => {
		sides.value = bothSides().map((other, i) => (i === n ? next : other));
		compare();
	};
	return html`<section class="side" aria-label=${n ? "Second model" : "First model"}>
		<header>
			<${Choice} name="Model" value=${side.name} options=${names(models.value)} choose=${(name) => choose({ name, version: "" })} />
			<${Choice} name="Version" value=${side.version} options=${[["", "version in use"], ...versions.map(({ version }) => [version])]}
				choose=${(version) => choose({ ...side, version })} />
		</header>
		<${Answers} review=${sideReviews[n]} differs=${differs} />
	</section>`;
});
