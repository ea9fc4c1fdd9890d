// Rows under review: the cursor, unsaved changes, saved corrections, and undo.
import { between, cleared, History, labelled, over, resized, stepOf } from "./editing.js";
import { explain, subject } from "./evidence.js";
import { afterDrawing, batch, signal } from "./live.js";
import { inputOf, wordsOf } from "./offsets.js";
import { choices, extents, tagsOf } from "./schemes.js";
import { post, remove } from "./server.js";
import { attempt, say } from "./store.js";

/** Keys of labels: one that is a letter or digit is its own key, others follow. Other commands use no letters or
digits. */
export function keysOf(labels) {
	const own = labels.map((label) => label.toLowerCase()).filter((name) => /^[0-9a-z]$/u.test(name));
	const free = [..."123456789abcdefghijklmnopqrstuvwxyz"].filter((key) => !own.includes(key));
	return labels.map((label) => (own.includes(label.toLowerCase()) ? label.toLowerCase() : free.shift()));
}

const FEW = 12;
const DRAFTS = "chaffinch-drafts";

// Closing the tab loses unsaved changes.
addEventListener("beforeunload", (event) => {
	if (Object.entries(sessionStorage).some(([key, value]) => key.startsWith(DRAFTS) && value !== "[]")) event.preventDefault();
});

export const explains = ({ kind }) => kind === "tags" || kind === "documents";

export class Review {
	/** Its elements are called by its name; reading: Enter on a word asks why. */
	constructor(name, /** @type {Around} */ { data, saved, reading = false } = {}) {
		this.name = name;
		this.data = data;
		this.saved = saved;
		this.reading = reading;
		this.rows = signal(/** @type {Row[]} */ ([]));
		/** The row of the cursor, its word (or label), and the other end of a selection. */
		this.cursor = signal({ row: 0, word: 0, anchor: /** @type {number | null} */ (null) });
		this.drafts = signal(/** @type {Map<string, Answer>} */ (new Map()));
		this.history = new History();
		this.model = /** @type {Model} */ ({});
		this.version = "";
	}

	/** Other rows to review; changes that are not saved are kept. @param {Model} model @param {Row[]} rows */
	show(model, rows, row = 0, version = "") {
		batch(() => {
			const other = this.model.name !== model.name;
			[this.model, this.version] = [model, version];
			if (other) {
				this.drafts.value = new Map(JSON.parse(sessionStorage.getItem(this.shelf) ?? "[]"));
				this.history = new History();
			}
			this.rows.value = rows;
			this.cursor.value = { row: between(0, row, rows.length - 1), word: 0, anchor: null };
		});
	}

	get row() {
		return this.rows.value[this.cursor.value.row];
	}

	/** Whether its answers are explained, and whether people can correct them. */
	get explained() {
		return this.row && explains(this.model);
	}

	get editable() {
		return this.explained && !this.version;
	}

	/** @param {Row} row */
	key(row) {
		return `${this.data?.()} ${row.row} ${row.text}`;
	}

	/** The answer as it stands: changed, corrected, or the model's. @param {Row} row @returns {Answer} */
	answer(row) {
		const { tags, labels, label } = this.drafts.value.get(this.key(row)) ?? { ...row, ...row.correction };
		return tags ? { tags } : labels ? { labels } : { label };
	}

	/** The labels a document is offered: all if they are few, else its own and the likeliest. @param {Row} row */
	options(row) {
		const all = choices(this.model);
		if (all.length <= FEW) return all;
		const { labels, label = "" } = this.answer(row);
		const likely = Object.entries(row.probabilities ?? {}).sort((a, b) => b[1] - a[1]);
		return [...new Set([...(labels ?? [label]), ...likely.slice(0, FEW / 2).map(([name]) => name)])];
	}

	/** The row as a request names it. @param {Row} row */
	input(row) {
		return row.row == null ? inputOf(this.model, row) : { data: this.data?.(), row: row.row };
	}

	/** Move the cursor to a word of a row. */
	go(row, word = 0) {
		this.cursor.value = { row: between(0, row, this.rows.value.length - 1), word, anchor: null };
		this.focus();
		if (subject.value) this.why();
	}

	/** Give the keyboard to the row of the cursor. */
	focus() {
		afterDrawing(() => {
			this.line?.focus({ preventScroll: true });
			this.line?.scrollIntoView({ block: "nearest" });
		});
	}

	get line() {
		return document.getElementById(`${this.name}-${this.cursor.value.row}`);
	}

	why() {
		const { row, model, version } = this;
		if (!this.explained) return;
		const position = model.kind === "tags" ? this.cursor.value.word : undefined;
		explain({ model, version, result: row, input: this.input(row), position });
	}

	// --- changes

	/** @param {Row} row @param {Answer | undefined} answer */
	draft(row, answer) {
		const drafts = new Map(this.drafts.value);
		if (answer) drafts.set(this.key(row), answer);
		else drafts.delete(this.key(row));
		this.drafts.value = drafts;
		sessionStorage.setItem(this.shelf, JSON.stringify([...drafts]));
	}

	/** The storage key of changes that survive a reload. */
	get shelf() {
		return `${DRAFTS} ${this.name} ${this.model.name}`;
	}

	/** Change the answer of the row of the cursor, so that it can be undone. */
	change(says, /** @type {Answer | undefined} */ after) {
		const { row } = this;
		const before = this.drafts.value.get(this.key(row));
		if (after && JSON.stringify(after) === JSON.stringify(this.answer(row))) return;
		const at = this.cursor.value;
		const put = (answer) => () => {
			this.draft(row, answer);
			this.cursor.value = at;
		};
		this.draft(row, after);
		this.history.add({ says, undo: put(before), redo: put(after) });
		say(says);
	}

	/** The words first..last that are selected: at least the one of the cursor. */
	get selection() {
		const { word, anchor } = this.cursor.value;
		return [Math.min(word, anchor ?? word), Math.max(word, anchor ?? word)];
	}

	/** The tags of the row after its spans were changed; of plain tags, those of the selected words. */
	turned(/** @type {(spans: Extent[], first: number, last: number) => Extent[]} */ turn) {
		const { tags = [] } = this.answer(this.row);
		const { scheme, labels } = this.model;
		const [first, last] = this.selection;
		if (scheme) return tagsOf(turn(extents(tags, scheme), first, last), tags.length, scheme);
		const put = turn([], first, last)[0]?.label ?? (labels.includes("O") ? "O" : undefined);
		return tags.map((tag, i) => (i >= first && i <= last ? (put ?? tag) : tag));
	}

	/** Label the word, the span or the document at the cursor. */
	label(label) {
		if (!this.editable) return;
		const had = this.answer(this.row).labels ?? [];
		if (this.model.kind === "documents" && !this.model.many) return this.change(`Label ${label}`, { label });
		if (this.model.kind === "documents") {
			const labels = had.includes(label) ? had.filter((other) => other !== label) : [...had, label].sort();
			return this.change(`Labels ${labels.join(", ") || "none"}`, { labels });
		}
		const tags = this.turned((spans, first, last) => labelled(spans, first, last, label));
		this.change(`${label || "span"} on ${this.selected()}`, { tags });
		this.unselect();
	}

	/** No label for the words, the span or the document at the cursor. */
	clear() {
		if (!this.editable) return;
		if (this.model.kind === "tags") this.change(`no label on ${this.selected()}`, { tags: this.turned(cleared) });
		else if (this.model.many) this.change("no label", { labels: [] });
		this.unselect();
	}

	/** Move an end of the span at the cursor, or select words if there is no span. @param {"first" | "last"} end */
	resize(end, step) {
		if (!this.editable || this.model.kind !== "tags") return;
		const { scheme } = this.model;
		const at = this.cursor.value;
		const { tags = [] } = this.answer(this.row);
		const spans = scheme ? extents(tags, scheme) : [];
		const index = over(spans, at.word);
		if (!scheme || at.anchor !== null || index < 0) {
			this.cursor.value = { ...at, word: between(0, at.word + step, tags.length - 1), anchor: at.anchor ?? at.word };
			return;
		}
		const span = resized(spans[index], end, step, tags.length);
		const others = cleared(spans, spans[index].first, spans[index].last);
		this.change("another end of the span", { tags: tagsOf(labelled(others, span.first, span.last, span.label), tags.length, scheme) });
		this.cursor.value = { ...at, word: between(span.first, at.word, span.last) };
	}

	unselect() {
		this.cursor.value = { ...this.cursor.value, anchor: null };
	}

	selected() {
		const [first, last] = this.selection;
		return wordsOf(this.row).slice(first, last + 1).join(" ");
	}

	// --- the journal

	/** Save the row of the cursor as corrected (or as right), then go on to the next. */
	async save() {
		if (!this.editable) return;
		const { row, model } = this;
		const at = this.cursor.value.row;
		const answer = this.answer(row);
		const draft = this.drafts.value.get(this.key(row));
		const mark = (correction, left) => {
			const key = this.key(row);
			this.rows.value = this.rows.value.map((other) => (this.key(other) === key ? { ...other, correction } : other));
			this.draft(row, left);
			this.saved?.();
		};
		let seq = 0;
		const redo = async () => {
			({ seq } = await post("corrections", { model: model.name, ...this.input(row), ...answer }));
			batch(() => mark({ ...answer, seq }, undefined));
		};
		const undo = async () => {
			await remove(`corrections/${seq}`);
			batch(() => mark(row.correction, draft));
		};
		await attempt(redo);
		if (!seq) return;
		this.history.add({ says: "the saved correction", undo, redo });
		say(`Saved in the journal as number ${seq}.`);
		this.go(at + 1);
	}

	/** @param {"undo" | "redo"} way */
	async turn(way) {
		const says = await attempt(() => this.history[way]());
		if (says !== undefined) say(says ? `${way === "undo" ? "Undone" : "Done again"}: ${says}` : `There is nothing to ${way}.`);
	}

	// --- keys

	/** @param {KeyboardEvent} event */
	press(event) {
		if (this.row && this.pressed(event) !== false) event.preventDefault();
	}

	/** Run the command of a key; false if it has none here. @param {KeyboardEvent} event */
	pressed(event) {
		const { row, model } = this;
		const { key, shiftKey: shift } = event;
		const control = event.ctrlKey || event.metaKey;
		const at = this.cursor.value;
		const tags = model.kind === "tags";
		const last = (tags ? (row.tokens?.length ?? 0) : this.options(row).length) - 1;
		const step = stepOf(key, /** @type {Element} */ (this.line));
		const to = (word) => (this.cursor.value = { ...at, word: between(0, word, last), anchor: null });
		if (step && shift && tags) return this.resize(control ? "first" : "last", step);
		if (step && !control && !event.altKey) return to(at.word + step);
		if (control && key.toLowerCase() === "z") return this.turn(shift ? "redo" : "undo");
		if (control && key.toLowerCase() === "y") return this.turn("redo");
		if (control || event.altKey) return false;
		const labels = choices(model);
		const index = keysOf(labels).indexOf(letterOf(event));
		if (index >= 0 && this.editable) return this.label(labels[index]);
		const draft = this.drafts.value.has(this.key(row));
		switch (key) {
			case "ArrowUp": return this.go(at.row - 1);
			case "ArrowDown": return this.go(at.row + 1);
			case "Home": return to(0);
			case "End": return to(last);
			case "Enter": return this.reading && !draft ? this.why() : this.save();
			case " ": return tags ? this.why() : this.label(this.options(row)[at.word]);
			case "?": return this.why();
			case "Delete":
			case "Backspace":
			case "0": return this.clear();
			case "Escape": return subject.value ? explain(null) : draft && this.change("the change is dropped", undefined);
			case ".": return document.getElementById("find-label")?.focus() ?? undefined;
		}
		return false;
	}
}

/** The letter of a key; on keyboards of other alphabets the Latin letter at its position. */
function letterOf(/** @type {KeyboardEvent} */ { key, code }) {
	if (/^[!-~]$/u.test(key)) return key.toLowerCase();
	return /^Key[A-Z]$/u.test(code) ? code[3].toLowerCase() : "none";
}
