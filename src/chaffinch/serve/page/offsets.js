// The only conversion between the server's offsets (code points) and the browser's (UTF-16 units).

/** A function from code points to UTF-16 units of a text. @returns {(point: number) => number} */
export function unitsOf(text) {
	if (!/[\ud800-\udbff]/.test(text)) return (point) => point;
	const units = [];
	let at = 0;
	for (const character of text) {
		units.push(at);
		at += character.length;
	}
	units.push(at);
	return (point) => units[Math.max(0, Math.min(point, units.length - 1))];
}

/**
 * An answer of the server with its offsets in UTF-16 units. Nothing else on the page converts.
 * @template {Result} R
 * @param {R} result
 * @returns {R}
 */
export function received(result) {
	if (typeof result.text !== "string") return result;
	const unit = unitsOf(result.text);
	const turned = { ...result };
	if (result.tokens) turned.tokens = result.tokens.map(([start, end]) => [unit(start), unit(end)]);
	if (result.spans)
		turned.spans = result.spans.map((span) => ({ ...span, start: unit(span.start), end: unit(span.end) }));
	return turned;
}

/** An answer's own sentence or text, as a request gives it. @param {Model} model @param {Result} result */
export const inputOf = ({ kind }, result) => (kind === "tags" ? { tokens: wordsOf(result) } : { text: result.text });

/** The words of an answer, by its offsets in UTF-16 units. @param {Result} result */
export const wordsOf = (result) => (result.tokens ?? []).map(([start, end]) => (result.text ?? "").slice(start, end));
