// Edits of the spans of a sentence by key, and undo. Spans are sorted and do not overlap.

export const between = (low, value, high) => Math.max(low, Math.min(value, high));

/** How far an arrow key moves; left and right are as seen, so they turn round in right-to-left text. */
export function stepOf(key, /** @type {Element} */ line) {
	const turned = getComputedStyle(line).direction === "rtl" ? -1 : 1;
	return { ArrowLeft: -turned, ArrowRight: turned }[key];
}

/** The index of the span over a word, or -1. @param {Extent[]} spans */
export const over = (spans, word) => spans.findIndex((span) => span.first <= word && word <= span.last);

/** Without the spans that touch the words first..last. @param {Extent[]} spans */
export const cleared = (spans, first, last) => spans.filter((span) => span.last < first || span.first > last);

/** The words first..last labelled; one word inside a span stands for the whole span. Others give way. @param {Extent[]} spans */
export function labelled(spans, first, last, label) {
	const here = first === last ? spans[over(spans, first)] : undefined;
	const added = { first, last, ...here, label };
	const kept = spans.flatMap((span) => {
		if (span.last < added.first || span.first > added.last) return [span];
		const left = { ...span, last: added.first - 1 };
		const right = { ...span, first: added.last + 1 };
		return [left, right].filter((rest) => rest.first <= rest.last);
	});
	return [...kept, added].sort((a, b) => a.first - b.first);
}

/**
 * A span with its first or last word moved by a step: never empty, never out of the sentence.
 * @param {Extent} span
 * @param {"first" | "last"} end
 * @returns {Extent}
 */
export function resized(span, end, step, length) {
	const moved = { ...span, [end]: span[end] + step };
	return moved.first > moved.last || moved.first < 0 || moved.last >= length ? span : moved;
}

/** Actions that can be undone and redone, in order. If undoing fails, the action stays done. */
export class History {
	/** @type {Deed[]} */
	done = [];
	/** @type {Deed[]} */
	undone = [];

	/** @param {Deed} deed */
	add(deed) {
		this.done.push(deed);
		this.undone = [];
	}

	undo() {
		return this.#move("undo", this.done, this.undone);
	}

	redo() {
		return this.#move("redo", this.undone, this.done);
	}

	/** @param {"undo" | "redo"} way @param {Deed[]} from @param {Deed[]} to */
	async #move(way, from, to) {
		const deed = from.at(-1);
		if (!deed) return null;
		await deed[way]();
		from.pop();
		to.push(deed);
		return deed.says;
	}
}
