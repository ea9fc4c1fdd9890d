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

/** Whether a text is painted: not in browsers without the Custom Highlight API. @param {Model} model @param {Result[]} results */
export function long(model, results) {
	if (model.kind !== "tags" || !("highlights" in CSS)) return false;
	return results.reduce((sum, { tokens }) => sum + (tokens?.length ?? 0), 0) > ELEMENTS;
}

/** @param {Element} line */
function rangeOf(line, startOffset, endOffset) {
	const node = /** @type {ChildNode} */ (line.firstChild);
	return new StaticRange({ startContainer: node, startOffset, endContainer: node, endOffset });
}

/** Paint the spans of a line. @param {Element} line @param {Result} result @param {string | null} scheme */
function paint(line, result, scheme) {
	const { tokens = [], tags = [] } = result;
	return extents(tags, scheme).filter(({ label }) => label !== "O").map((span) => {
		const name = `hue${hueOf(span.label)}-shade${shadeOf(certaintyOf(result, span, tags))}`;
		const highlight = CSS.highlights.get(name) ?? new Highlight();
		const range = rangeOf(line, tokens[span.first][0], tokens[span.last][1]);
		CSS.highlights.set(name, highlight.add(range));
		return { highlight, range };
	});
}

/** Paint each line when it comes within a screen of the view. Gives a function that erases. @param {Result[]} results */
function paintNear(box, results, scheme) {
	const lines = [...box.children];
	/** @type {ReturnType<typeof paint>} */
	const painted = [];
	const observer = new IntersectionObserver((seen) => {
		for (const { isIntersecting, target } of seen) {
			if (!isIntersecting) continue;
			observer.unobserve(target);
			painted.push(...paint(target, results[lines.indexOf(target)], scheme));
		}
		box.dataset.spans = painted.length;
	}, { root: box, rootMargin: "100%" });
	for (const line of lines) observer.observe(line);
	return () => {
		observer.disconnect();
		for (const { highlight, range } of painted) highlight.delete(range);
	};
}

/** A long text: the arrows and the pointer choose a word, Enter or a click asks why. */
export const Painted = live((/** @type {Drawn} */ { id, model, version, results }) => {
	/** @type {HTMLElement[]} */
	let lines = [];
	let [line, word] = [0, -1];
	let erase = () => {};
	const draw = (box) => {
		erase();
		CSS.highlights.delete("word");
		if (!box) return;
		lines = [...box.children];
		erase = paintNear(box, results, model.scheme);
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
