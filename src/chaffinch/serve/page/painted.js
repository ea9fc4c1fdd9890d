// Long texts: one text node for each line, spans painted by the CSS Custom Highlight API without an element for each.
import { hueOf, shadeOf } from "./colours.js";
import { between, stepOf } from "./editing.js";
import { explain } from "./evidence.js";
import { html, live } from "./live.js";
import { inputOf } from "./offsets.js";
import { choices, extents } from "./schemes.js";
import { percent, say } from "./store.js";
import { certaintyOf } from "./words.js";

/** As many words are drawn as elements; more are painted. */
const ELEMENTS = 1500;

/**
 * Whether a text is painted. Browsers without the Custom Highlight API build every text of elements.
 * @param {Model} model
 * @param {Result[]} results
 */
export function long(model, results) {
	if (model.kind !== "tags" || !("highlights" in CSS)) return false;
	return results.reduce((sum, { tokens }) => sum + (tokens?.length ?? 0), 0) > ELEMENTS;
}

/** @type {Map<string, Map<string, StaticRange[]>>} the ranges of every drawing by the name of their highlight */
const drawings = new Map();

/** @param {Map<string, StaticRange[]>} [ranges] none: the drawing is gone */
function show(id, ranges) {
	drawings.delete(id);
	if (ranges) drawings.set(id, ranges);
	CSS.highlights.clear();
	for (const painted of drawings.values())
		for (const [name, own] of painted) {
			const highlight = CSS.highlights.get(name) ?? new Highlight();
			for (const range of own) highlight.add(range);
			CSS.highlights.set(name, highlight);
		}
}

/** @param {HTMLElement} line */
function rangeOf(line, startOffset, endOffset) {
	const node = /** @type {ChildNode} */ (line.firstChild);
	return new StaticRange({ startContainer: node, startOffset, endContainer: node, endOffset });
}

/**
 * The spans of lines as ranges, whose elements hold their text and nothing else.
 * @param {HTMLElement[]} lines
 * @param {Result[]} results
 * @param {string | null} scheme
 */
function rangesOf(lines, results, scheme) {
	/** @type {Map<string, StaticRange[]>} */
	const painted = new Map();
	results.forEach((result, n) => {
		const { tokens = [], tags = [] } = result;
		for (const span of extents(tags, scheme)) {
			if (span.label === "O") continue;
			const name = `hue${hueOf(span.label)}-shade${shadeOf(certaintyOf(result, span, tags))}`;
			if (!painted.has(name)) painted.set(name, []);
			painted.get(name)?.push(rangeOf(lines[n], tokens[span.first][0], tokens[span.last][1]));
		}
	});
	return painted;
}

/** A long text: the arrows and the pointer choose a word, Enter or a click asks why. */
export const Painted = live((/** @type {Drawn} */ { id, model, version, results }) => {
	/** @type {HTMLElement[]} */
	let lines = [];
	let [line, word] = [0, -1];
	const draw = (box) => {
		if (!box) return show(id);
		lines = [...box.children];
		const ranges = rangesOf(lines, results, model.scheme);
		show(id, ranges);
		box.dataset.spans = [...ranges.values()].reduce((sum, { length }) => sum + length, 0);
	};
	const go = (toLine, toWord, ask) => {
		[line, word] = [toLine, toWord];
		const result = results[line];
		const token = result.tokens?.[word];
		if (!token) return;
		const mark = new Highlight(rangeOf(lines[line], ...token));
		mark.priority = 1;
		CSS.highlights.set("word", mark);
		lines[line].scrollIntoView({ block: "nearest" });
		say([result.text?.slice(...token), result.tags?.[word], percent(result.token_certainty?.[word])].filter(Boolean).join(", "));
		if (ask) explain({ model, version, result, input: inputOf(model, result), position: word });
	};
	const press = (event) => {
		const last = (results[line].tokens?.length ?? 0) - 1;
		const step = stepOf(event.key, lines[line]);
		if (step) go(line, between(0, word + step, last));
		else if (event.key === "ArrowDown") go(between(0, line + 1, results.length - 1), 0);
		else if (event.key === "ArrowUp") go(between(0, line - 1, results.length - 1), 0);
		else if (event.key === "Enter") go(line, Math.max(word, 0), true);
		else return;
		event.preventDefault();
	};
	const click = (event) => {
		const n = lines.indexOf(event.target);
		if (n < 0) return;
		const at = offsetAt(event.clientX, event.clientY);
		const hit = (results[n].tokens ?? []).findIndex(([start, end]) => start <= at && at <= end);
		if (hit >= 0) go(n, hit, true);
	};
	return html`<div id=${id} class="painted" role="group" tabindex="0" ref=${draw} onKeyDown=${press} onClick=${click}
			aria-label="A long text: arrows choose a word, Enter asks why">
			${results.map(({ text }) => html`<p class="line" dir="auto">${text}</p>`)}
		</div>
		<ul class="legend" aria-label="Colours of labels">
			${choices(model).slice(0, 40).map((label) => html`<li class=${`chip hue${hueOf(label)}`}>${label || "span"}</li>`)}
		</ul>`;
});

/** The offset in its line of the character at a place of the window. */
function offsetAt(x, y) {
	const browser = /** @type {any} */ (document);
	if (browser.caretPositionFromPoint) return browser.caretPositionFromPoint(x, y)?.offset ?? -1;
	return browser.caretRangeFromPoint(x, y)?.startOffset ?? -1;
}
