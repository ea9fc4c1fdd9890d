// Trees and word alignments, drawn read-only, each with the same in words.
import { html, live } from "./live.js";

const [LETTER, GAP, LEVEL, HIGH] = [8.4, 18, 46, 110];
const widthOf = (word) => [...word].length * LETTER + GAP;

/** The tree that brackets spell: (S (NP the dog) (VP barks)). @returns {Branch | null} */
export function parsed(text) {
	const pieces = text.match(/[()]|[^\s()]+/gu) ?? [];
	let at = 0;
	const branch = () => {
		/** @type {Branch} */
		const made = { label: "", children: [], x: 0, depth: 0, height: 0 };
		if (pieces[at] !== "(") return { ...made, label: pieces[at++] };
		at += 1;
		if (pieces[at] !== "(" && pieces[at] !== ")") made.label = pieces[at++];
		while (at < pieces.length && pieces[at] !== ")") made.children.push(branch());
		at += 1;
		return made;
	};
	return pieces.length ? branch() : null;
}

/** Give every branch its place, words side by side, a parent over the middle of its children; the right edge. @param {Branch} branch */
function arrange(branch, left, depth) {
	const { children, label } = branch;
	const own = widthOf(label);
	let right = left;
	for (const child of children) right = arrange(child, right, depth + 1);
	const spare = (own - (right - left)) / 2;
	if (children.length && spare > 0) for (const below of walk(branch).slice(1)) below.x += spare;
	branch.depth = depth;
	branch.height = children.length && 1 + Math.max(...children.map(({ height }) => height));
	branch.x = children.length ? (children[0].x + children[children.length - 1].x) / 2 : left + own / 2;
	return Math.max(right, left + own);
}

/** @param {Branch} branch @returns {Branch[]} */
const walk = (branch) => [branch, ...branch.children.flatMap(walk)];

export const Tree = live((/** @type {Result} */ { tree = "", text }) => {
	const root = parsed(tree ?? "");
	if (!root) return html`<p class="quiet">The model finds no tree for this sentence.</p>`;
	const width = arrange(root, 0, 0);
	const bottom = root.height * LEVEL;
	const y = ({ children, depth }) => 18 + (children.length ? depth * LEVEL : bottom);
	const edges = walk(root).flatMap((one) => one.children.map((child) => [one.x, y(one) + 7, child.x, y(child) - 15]));
	return html`<${Drawing} name=${`Tree of ${text}`} told=${tree} width=${width} height=${bottom + 34} edges=${edges}
		words=${walk(root).map((one) => [one.label, one.x, y(one), one.children.length ? "category" : "leaf"])}
		summary="As brackets"><p class="code" dir="auto">${tree}</p><//>`;
});

export const Links = live((/** @type {Result & { name: string }} */ { source = [], target = [], links = [], name }) => {
	const long = (words) => words.reduce((sum, word) => sum + widthOf(word), 0);
	const width = Math.max(long(source), long(target));
	const middles = (words) => {
		let at = (width - long(words)) / 2;
		return words.map((word) => (at += widthOf(word)) - widthOf(word) / 2);
	};
	const [above, below] = [middles(source), middles(target)];
	return html`<${Drawing} name=${`Links of ${name}`} told=${`${source.join(" ")} – ${target.join(" ")}`} width=${width} height=${HIGH}
		edges=${links.map(([i, j]) => [above[i], 26, below[j], HIGH - 28])}
		words=${[...source.map((word, i) => [word, above[i], 18, "leaf"]), ...target.map((word, j) => [word, below[j], HIGH - 12, "leaf"])]}
		summary="As a list"><ul class="pairs">${links.map(([i, j]) => html`<li><bdi>${source[i]}</bdi> – <bdi>${target[j]}</bdi></li>`)}</ul><//>`;
});

const Drawing = live(({ name, told, width, height, edges, words, summary, children }) => html`<figure class="drawing">
	<div class="scroller" tabindex="0" role="group" aria-label=${name}>
		<svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${told}>
			${edges.map(([x1, y1, x2, y2]) => html`<line class="edge" ...${{ x1, y1, x2, y2 }} />`)}
			${words.map(([text, x, y, kind]) => html`<text class=${kind} x=${x} y=${y}>${text}</text>`)}
		</svg>
	</div>
	<details><summary>${summary}</summary>${children}</details>
</figure>`);
