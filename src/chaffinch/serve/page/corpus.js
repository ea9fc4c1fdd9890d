// A corpus under review: page through it, sort it, filter it, correct it, learn, export.
import { Columns, explain } from "./evidence.js";
import { Journal, learn, learning, Outcome, readJournal } from "./learning.js";
import { html, live, signal } from "./live.js";
import { received } from "./offsets.js";
import { Review } from "./review.js";
import { Palette, Rows } from "./rows.js";
import { choices } from "./schemes.js";
import { download, get, latest } from "./server.js";
import { attempt, Choice, files, many, model, names, say } from "./store.js";

const COUNT = 50;
const FILTERS = { changed: "changed", suspect: "suspects", corrected: "corrected" };
const FORMATS = ["conll", "conllu", "jsonl", "csv", "label-studio", "doccano", "prodigy"];
const ALL = { search: "", label: "", sort: "order", changed: false, suspect: false, corrected: false };

const wanted = signal({ ...ALL, data: "", from: 0 });
const total = signal(0);
const busy = signal(false);
/** The file that is open. */
const file = () => (files().find(({ name }) => name === wanted.value.data) ?? files()[0])?.name ?? "";
const review = new Review("row", { data: file, saved: readJournal });

const starting = latest();

/** Request the chosen page of rows; the cursor goes to a row, or stays. */
export async function open(row = review.cursor.value.row) {
	const stop = starting();
	if (!file()) return undefined;
	const used = model.value;
	busy.value = true;
	const answer = await attempt(() => get("rows", { ...wanted.value, model: used.name, data: file(), count: COUNT }, stop));
	if (stop.aborted) return undefined;
	busy.value = answer?.suspects === "looking"; // the doctor takes a while
	if (busy.value) setTimeout(() => !stop.aborted && open(row), 1000);
	total.value = answer?.total ?? 0;
	review.show(used, (answer?.rows ?? []).map(received), row);
	return answer;
}

/** @param {Partial<typeof wanted.value>} change */
async function want(change) {
	wanted.value = { ...wanted.value, from: 0, ...change };
	explain(null);
	if (await open(0)) say(`${many(total.value, "row")}${wanted.value.sort === "doubt" ? ", the most doubtful first" : ""}.`);
}

/** Turn the page. */
async function turn(step) {
	const from = wanted.value.sort === "next" ? 0 : wanted.value.from + step * COUNT; // a queue has no second page
	if (from < 0 || from >= total.value) return;
	review.go(0); // before the rows arrive: afterwards it could steal the focus
	await want({ from });
}

/** Show a row that learning changed. */
async function find(/** @type {Changed} */ { row }) {
	await want({ ...ALL, changed: true });
	review.go(review.rows.value.findIndex((one) => String(one.row) === String(row)));
}

/** Keys of the whole view. */
function press(/** @type {KeyboardEvent} */ event) {
	const typing = /** @type {Element} */ (event.target).matches("input, select, textarea");
	if (event.key === "PageDown" && !typing) turn(1);
	else if (event.key === "PageUp" && !typing) turn(-1);
	else if (event.key === "/" && !typing) document.getElementById("search")?.focus();
	else return;
	event.preventDefault();
}

export const Corpus = live(() => {
	if (!file())
		return html`<section class="page"><h1>Corpus</h1>
			<p class="lead">No corpus is open for this model. Start the server with one: <code>chaffinch serve MODEL --data FILE</code></p></section>`;
	const rows = review.rows.value;
	const { from } = wanted.value;
	const teach = model.value.learns ? () => learn(() => open()) : undefined;
	return html`<${Columns} title="Corpus" press=${press} teach=${teach} focus=${() => review.focus()}>
		<${Filters} used=${model.value} />
		<${Outcome} then=${open} open=${find} review=${review} />
		<div class="reading" aria-busy=${busy.value}>
			${rows.length ? html`<${Rows} review=${review} />` : html`<p class="hint">${busy.value ? "Reading the rows …" : "There is no such row."}</p>`}
		</div>
		${rows.length > 0 && html`<nav class="pager" aria-label="Pages of rows">
			<button class="quiet" disabled=${from === 0} onClick=${() => turn(-1)}>Earlier</button>
			<span class="number">${from + 1}–${from + rows.length} of ${total.value.toLocaleString("en")}</span>
			<button class="quiet" disabled=${from + rows.length >= total.value} onClick=${() => turn(1)}>Later</button>
		</nav>`}
		<${Palette} review=${review} learn=${teach} learning=${learning.value} />
	<//>`;
});

const Filters = live((/** @type {{ used: Model }} */ { used }) => {
	const now = wanted.value;
	const choice = (name, field, options, value = now[field]) => html`<${Choice} ...${{ name, value, options }} choose=${(chosen) => want({ [field]: chosen })} />`;
	const save = async (event) => {
		const format = event.target.value;
		event.target.value = "";
		const name = await attempt(() => download("export", { model: used.name, data: file(), format }));
		if (name) say(`${name} is downloaded.`);
	};
	return html`<div class="filters" role="search" aria-label="Rows">
		${files().length > 1 && choice("File", "data", names(files()), file())}
		<input id="search" type="search" aria-label="Search" placeholder="search ( / )" value=${now.search}
			onChange=${(event) => want({ search: event.target.value })} onKeyDown=${(event) => event.key === "Escape" && review.focus()} />
		${choice("Order", "sort", [["order", "in order"], ["doubt", "doubtful first"], ["next", "label next"]])}
		${used.labels.length > 0 && choice("Label", "label", [["", "any label"], ...choices(used).map((label) => [label])])}
		<div class="switch" role="group" aria-label="Only these rows">
			${Object.entries(FILTERS).map(([filter, name]) => html`<button aria-pressed=${now[filter]} onClick=${() => want({ [filter]: !now[filter] })}>${name}</button>`)}
		</div>
		${used.learns && html`<${Journal} />`}
		<select aria-label="Export" onChange=${save}>
			<option value="">export …</option>${FORMATS.map((format) => html`<option>${format}</option>`)}
		</select>
	</div>`;
});
