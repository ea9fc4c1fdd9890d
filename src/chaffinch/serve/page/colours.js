// One colour for each label, the same in every view: hues in the order of the model's labels, certainty as shade.
import { typeOf } from "./schemes.js";

/** Degrees, neighbours far apart. */
const ANGLES = [55, 245, 145, 350, 95, 290, 195, 25, 120, 270, 320, 170];
/** Opacity of the shades, faint to full. */
const OPACITY = [0.26, 0.5, 0.76, 1];

/** Rules of every hue and shade, for elements and for highlights; the theme sets lightness and chroma. */
function addRules() {
	const sheet = new CSSStyleSheet();
	OPACITY.forEach((opacity, shade) => sheet.insertRule(`.shade${shade + 1} { --shade: ${opacity}; }`));
	ANGLES.forEach((angle, hue) => {
		sheet.insertRule(`.hue${hue} { --hue: ${angle}; }`);
		OPACITY.forEach((opacity, shade) => {
			const colour = `oklch(var(--label-l) var(--label-c) ${angle} / ${opacity})`;
			sheet.insertRule(`::highlight(hue${hue}-shade${shade + 1}) { background-color: ${colour}; }`);
		});
	});
	document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

addRules();

/** @type {Map<string, number>} */
const given = new Map();

/** The number of a label's colour. */
export function hueOf(label) {
	let hue = given.get(label);
	if (hue === undefined) {
		hue = given.size % ANGLES.length;
		given.set(label, hue);
	}
	return hue;
}

/** Give the labels of a model their colours before any of them is drawn. @param {string[]} labels */
export const colourAll = (labels) => labels.forEach(hueOf);

/** The class of a tag or label: a tag has the colour of its span, O has none. */
export const colourOf = (label) => (label === "O" ? "" : `hue${hueOf(typeOf(label))}`);

/**
 * How strongly a span is shaded, 1 faint to 4 full; 0.5 is about the least certain that an answer can be.
 * @param {number | null | undefined} certainty
 */
export function shadeOf(certainty) {
	if (certainty == null) return OPACITY.length;
	return certainty < 0.5 ? 1 : certainty < 0.75 ? 2 : certainty < 0.9 ? 3 : 4;
}
