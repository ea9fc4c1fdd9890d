// A sentence with its answer drawn over it: every word an option of a list, spans as coloured groups with their label.
import { hueOf, shadeOf } from "./colours.js";
import { html, live } from "./live.js";
import { extents } from "./schemes.js";
import { percent } from "./store.js";

export const Words = live((/** @type {Line} */ line) => {
	const { id, result, scheme, tags, active, at, anchor } = line;
	const { text = "", tokens = [], token_certainty: sure } = result;
	const [from, to] = active ? [Math.min(at, anchor ?? at), Math.max(at, anchor ?? at)] : [-1, -1];

	const word = (i, label) => {
		const chosen = i >= from && i <= to;
		const [start, end] = tokens[i];
		const about = [label, percent(sure?.[i])].filter(Boolean).join(", ");
		return html`<span id=${`${id}-${i}`} role="option" aria-selected=${chosen} data-word=${i} title=${about || undefined}
			aria-label=${`${text.slice(start, end)}${about && `, ${about}`}`}
			class=${`word${chosen ? " chosen" : ""}${active && i === at ? " at" : ""}${line.differs?.[i] ? " differs" : ""}`}>${text.slice(start, end)}</span>`;
	};

	const parts = [];
	let drawn = 0;
	const between = (i) => parts.push(text.slice(drawn, tokens[i][0]));
	const plain = (i) => {
		between(i);
		parts.push(word(i));
		drawn = tokens[i][1];
	};
	let next = 0;
	for (const span of extents(tags, scheme)) {
		while (next < span.first) plain(next++);
		between(next);
		const label = span.label || (scheme ? "span" : "");
		const inside = [];
		for (; next <= span.last; next++) {
			if (next > span.first) inside.push(text.slice(tokens[next - 1][1], tokens[next][0]));
			inside.push(word(next, label));
		}
		drawn = tokens[span.last][1];
		const colour = label === "O" || !label ? " outside" : ` hue${hueOf(span.label)} shade${shadeOf(certaintyOf(result, span, tags))}`;
		parts.push(html`<span role=${scheme ? "group" : "presentation"} aria-label=${scheme ? label : undefined}
			class=${(scheme ? "span" : "stack") + colour}>${inside}<span class="tag" aria-hidden="true">${label}</span></span>`);
	}
	while (next < tokens.length) plain(next++);
	parts.push(text.slice(drawn));

	const click = (event) => {
		const hit = event.target.closest("[data-word]");
		if (hit) line.pick(Number(hit.dataset.word));
	};
	return html`<p id=${id} class=${`line${scheme ? "" : " tagged"}`} dir="auto" role="listbox" aria-label=${line.name}
		aria-orientation="horizontal" aria-activedescendant=${active && tokens.length ? `${id}-${at}` : undefined}
		tabindex=${active ? 0 : -1} onKeyDown=${line.press} onClick=${click}>${parts}</p>`;
});

/** @type {WeakMap<Result, Map<number, Span>>} */
const scores = new WeakMap();

/**
 * The certainty of a span: the server's score of it, else that of its least certain word; none if a person set it.
 * @param {Result} result
 * @param {Extent} span
 * @param {string[]} tags
 */
export function certaintyOf(result, { first, last, label }, tags) {
	for (let i = first; i <= last; i++) if (result.tags?.[i] !== tags[i]) return null;
	let known = scores.get(result);
	if (!known) scores.set(result, (known = new Map((result.spans ?? []).map((span) => [span.start, span]))));
	const scored = known.get(result.tokens?.[first][0] ?? -1);
	if (scored?.score != null && scored.label === label) return scored.score;
	const each = (result.token_certainty ?? []).slice(first, last + 1).flatMap((p) => p ?? []);
	return each.length ? Math.min(...each) : null;
}
