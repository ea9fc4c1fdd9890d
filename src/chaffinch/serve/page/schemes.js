// Spans of words and tags in a scheme, both ways. Without a scheme every word has a tag of its own.

/** The letter of a tag in the spelling of BIOES, and its type; null outside of spans. */
function parts(tag) {
	const found = /^([BIESLU])(?:-(.*))?$/su.exec(tag);
	return found && { letter: { L: "E", U: "S" }[found[1]] ?? found[1], type: found[2] ?? "" };
}

/** The type of a tag, or the label itself. */
export const typeOf = (label) => (/^[BIESLU]-/u.test(label) ? label.slice(2) : label);

/**
 * Spans that tags mark: a word joins the one before if the first is B or I, the second I or E, the type the same.
 * @param {string[]} tags
 * @param {string | null} scheme
 */
export function extents(tags, scheme) {
	if (!scheme) return tags.map((label, i) => ({ first: i, last: i, label }));
	/** @type {Extent[]} */
	const found = [];
	/** @type {ReturnType<typeof parts>} */
	let before = null;
	tags.forEach((tag, i) => {
		const here = parts(tag);
		const joined = before && here && "BI".includes(before.letter) && "IE".includes(here.letter) && here.type === before.type;
		if (joined) found[found.length - 1].last = i;
		else if (here) found.push({ first: i, last: i, label: here.type });
		before = here;
	});
	return found;
}

/**
 * How a word of a span is written: begins and ends say where it stands, after and before whether a span of the same
 * type touches this one.
 * @type {Record<string, (at: { begins: boolean, ends: boolean, after: boolean, before: boolean }) => string>}
 */
const LETTERS = {
	IO: () => "I",
	IOB1: ({ begins, after }) => (begins && after ? "B" : "I"),
	IOE1: ({ ends, before }) => (ends && before ? "E" : "I"),
	IOE2: ({ ends }) => (ends ? "E" : "I"),
	BIO: ({ begins }) => (begins ? "B" : "I"),
	BIOES: ({ begins, ends }) => (begins && ends ? "S" : begins ? "B" : ends ? "E" : "I"),
	BILOU: ({ begins, ends }) => (begins && ends ? "U" : begins ? "B" : ends ? "L" : "I"),
};

/** Tags that mark these spans, which are sorted and do not overlap. @param {Extent[]} spans */
export function tagsOf(spans, length, scheme) {
	const tags = Array(length).fill("O");
	spans.forEach(({ first, last, label }, n) => {
		const after = spans[n - 1]?.label === label && spans[n - 1].last === first - 1;
		const before = spans[n + 1]?.label === label && spans[n + 1].first === last + 1;
		for (let i = first; i <= last; i++) {
			const letter = LETTERS[scheme]({ begins: i === first, ends: i === last, after, before });
			tags[i] = label ? `${letter}-${label}` : letter;
		}
	});
	return tags;
}

/** The labels a person chooses from: types of spans, or the labels as they are. @param {Model} model */
export function choices({ scheme, labels }) {
	return scheme ? [...new Set(labels.filter((label) => label !== "O").map((label) => parts(label)?.type ?? label))] : labels;
}
