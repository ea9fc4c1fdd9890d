// The rows of a review, drawn: the sentence or the document, its state, and the bar of labels and keys.
import { hueOf, shadeOf } from "./colours.js";
import { differences } from "./learning.js";
import { html, live, signal } from "./live.js";
import { wordsOf } from "./offsets.js";
import { keysOf } from "./review.js";
import { choices } from "./schemes.js";
import { percent } from "./store.js";
import { Links, Tree } from "./structures.js";
import { Words } from "./words.js";

export const Rows = live((/** @type {Reviewed} */ { review, differs }) => {
	const { row: here, word, anchor } = review.cursor.value;
	return html`<ol class="rows">
		${review.rows.value.map((row, index) => {
			const active = index === here;
			const draft = review.drafts.value.get(review.key(row));
			return html`<${One} ...${{ review, row, index, draft, active, differs: differs?.[index] }}
				word=${active ? word : 0} anchor=${active ? anchor : null} />`;
		})}
	</ol>`;
});

/** Any other kind is shown as its text and its answer as JSON. */
const Plain = live(({ text, answer }) => html`<p>${text}</p><p class="gold">${JSON.stringify(answer)}</p>`);

const One = live((/** @type {Shown} */ shown) => {
	const { review, row, index, draft, active } = shown;
	const Line = { tags: Sentence, documents: Document }[review.model.kind];
	const Structure = { trees: Tree, links: Links }[review.model.kind] ?? Plain;
	const number = row.row == null ? index + 1 : Number(row.row) + 1;
	const name = `Row ${number}${row.certainty == null ? "" : `, ${percent(row.certainty)} certain`}`;
	const states = [
		draft && ["draft", "changed, not saved"],
		row.correction && !draft && ["corrected", `corrected, journal ${row.correction.seq}`],
		row.changed && [row.changed, `${row.changed} by learning`],
	].flatMap((state) => (state ? [state] : []));
	return html`<li class=${`row${active ? " active" : ""}`}>
		<div class="gutter number" aria-hidden="true"><span>${number}</span><span title="certainty of the whole answer">${percent(row.certainty)}</span></div>
		<div>
			${
				Line ? html`<${Line} ...${shown} name=${name} />` :
				html`<div id=${`${review.name}-${index}`} tabindex=${active ? 0 : -1} role="group" aria-label=${name} onKeyDown=${(event) => review.press(event)}>
					<${Structure} ...${row} name=${name} />
				</div>`
			}
			${row.suspect && html`<p class="suspect">${row.suspect}</p>`}
			${row.why && html`<p class="gold">${row.why}</p>`}
			${row.ruled && html`<p class="gold">${row.ruled.rules.join(", ")}: ${differences({ text: wordsOf(row).join(" "), before: row.ruled.tags, after: row.tags })}</p>`}
			${states.length > 0 && html`<p class="states">${states.map(([state, text]) => html`<span class=${`state ${state}`}>${text}</span> `)}</p>`}
		</div>
	</li>`;
});

const Sentence = live((/** @type {Shown} */ { review, row, index, active, word, anchor, name, differs }) => {
	const { tags = [] } = review.answer(row);
	const gold = row.correction ? undefined : row.gold?.tags;
	const wrong = active && gold && gold[word] !== tags[word];
	const pick = (i) => {
		review.go(index, i);
		review.why();
	};
	return html`<${Words} id=${`${review.name}-${index}`} result=${row} tags=${tags} scheme=${review.model.scheme} name=${name}
			active=${active} at=${word} anchor=${anchor} differs=${differs ?? gold?.map((tag, i) => tag !== tags[i])}
			pick=${pick} press=${(event) => review.press(event)} />
		${wrong && html`<p class="gold">The file says <strong>${gold[word]}</strong> for <bdi>${wordsOf(row)[word]}</bdi>.</p>`}`;
});

const Document = live((/** @type {Shown} */ { review, row, index, active, word, name }) => {
	const listed = (/** @type {Answer} */ { labels, label }) => labels ?? (label == null ? [] : [label]);
	const own = listed(review.answer(row));
	const gold = row.gold && !row.correction && listed(row.gold);
	const id = `${review.name}-${index}`;
	const choose = (i, label) => {
		review.go(index, i);
		review.label(label);
	};
	return html`${!review.reading && html`<p class="text" dir="auto">${row.text}</p>`}
		<div id=${id} class="options" role="listbox" aria-label=${`Label: ${name}`} aria-orientation="horizontal" tabindex=${active ? 0 : -1}
			aria-multiselectable=${review.model.many ? "true" : undefined} aria-activedescendant=${active ? `${id}-${word}` : undefined}
			onKeyDown=${(event) => review.press(event)}>
			${review.options(row).map((label, i) => {
				const p = row.probabilities?.[label] ?? (own.includes(label) && label === row.label ? row.certainty : null);
				const look = own.includes(label) ? `hue${hueOf(label)} shade${shadeOf(p)}` : "faint";
				return html`<span id=${`${id}-${i}`} role="option" aria-selected=${own.includes(label)} class=${`chip ${look}${active && i === word ? " at" : ""}`}
					onClick=${() => choose(i, label)}><bdi>${label}</bdi> <span class="number">${percent(p)}</span></span>`;
			})}
			</div>
		${gold && gold.join() !== own.join() && html`<p class="gold">The file says <strong>${gold.join(", ") || "none"}</strong>.</p>`}`;
});

const sought = signal("");

/** Labels with their keys, and every command as a button: a phone has no keys. */
export const Palette = live((/** @type {Reviewed} */ { review, learn, learning }) => {
	if (!review.rows.value.length || !review.editable) return null;
	const { kind, scheme } = review.model;
	const all = choices(review.model);
	const labels = keysOf(all).map((key, i) => ({ label: all[i], key }));
	const found = labels.filter(({ label }) => label.toLowerCase().includes(sought.value.toLowerCase()));
	const act = (deed) => () => {
		deed();
		review.focus();
	};
	const command = (keys, name, deed, kind = "quiet", off = false) => html`<button class=${kind} disabled=${off} onClick=${act(deed)}>
		<kbd aria-hidden="true">${keys}</kbd>${name}</button>`;
	const find = (event) => {
		if (event.key === "Enter" && found.length) review.label(found[0].label);
		if (event.key !== "Enter" && event.key !== "Escape") return;
		sought.value = "";
		review.focus();
	};
	return html`<div class="palette" role="group" aria-label="Labels and commands">
		<div class="labels" role="group" aria-label="Labels">
			${found.map(({ label, key }) => html`<button class=${`hue${hueOf(label)}`} aria-keyshortcuts=${key} onClick=${act(() => review.label(label))}>
				${key && html`<kbd aria-hidden="true">${key}</kbd>`}<bdi>${label || "span"}</bdi></button>`)}
			${labels.length > 12 && html`<input id="find-label" type="search" placeholder="find a label ( . )" aria-label="Find a label" value=${sought.value}
				onInput=${(event) => (sought.value = event.target.value)} onKeyDown=${find} />`}
		</div>
		<div class="deeds" role="group" aria-label="Save and learn">
			${command("↵", "save, next", () => review.save(), "strong")}
			${learn && command("Ctrl ↵", learning ? "learning …" : "learn", learn, "strong", learning)}
		</div>
		<div class="commands" role="group" aria-label="Commands">
			${kind === "tags" && command("⇧ →", "extend", () => review.resize("last", 1))}
			${kind === "tags" && command("⇧ ←", "shrink", () => review.resize("last", -1))}
			${scheme && command("Ctrl ⇧ ←", "start earlier", () => review.resize("first", -1))}
			${scheme && command("Ctrl ⇧ →", "start later", () => review.resize("first", 1))}
			${command("⌫", "no label", () => review.clear())}
			${command("Ctrl Z", "undo", () => review.turn("undo"))}
			${command("Ctrl Y", "redo", () => review.turn("redo"))}
			${command("?", "why", () => review.why())}
		</div>
	</div>`;
});
