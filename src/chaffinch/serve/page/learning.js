// Learn from the journal, list the other rows that changed, take a version back.
import { html, live, signal } from "./live.js";
import { get, post, remove } from "./server.js";
import { attempt, many, model, refresh, say } from "./store.js";

export const learning = signal(false);
/** The outcome of the last learning, and the version before it. */
export const outcome = signal(/** @type {(Learnt & { before: string, model: string }) | null} */ (null));
export const corrections = signal(/** @type {Correction[]} */ ([]));

/** Ask for the journal of the model in use. */
export async function readJournal() {
	const answer = await attempt(() => get("corrections", { model: model.value.name }));
	if (answer) corrections.value = answer.corrections;
}

/** Request again everything that a new version changes. */
async function renew(then) {
	await attempt(refresh);
	await readJournal();
	await then?.();
}

/** Learn every correction that waits; then is what the view shows anew. */
export async function learn(then) {
	const { name, version: before } = model.value;
	if (learning.value) return;
	learning.value = true;
	say("Learning …");
	const done = await attempt(() => post("learn", { model: name }));
	learning.value = false;
	if (!done) return;
	const taught = corrections.value.map(({ text }) => text);
	const changed = done.changed.filter(({ text }) => !taught.includes(text));
	outcome.value = { ...done, changed, before, model: name };
	await renew(then);
	say(`${told(done)} ${counted(changed)}`);
	setTimeout(() => document.getElementById("outcome")?.focus());
}

/** Make another version answer. */
async function take(version, then) {
	const done = await attempt(() => post("versions", { model: model.value.name, version }));
	if (!done) return;
	outcome.value = null;
	await renew(then);
	say(`Version ${version} answers again. ${counted(done.changed ?? [])}`);
}

/** Take back one correction. */
async function forget(seq) {
	if (!(await attempt(() => remove(`corrections/${seq}`)))) return;
	await renew();
	say(`Correction ${seq} is taken back.`);
}

/** @param {Learnt} done */
function told({ learnt = 0, seconds, version }) {
	return `${many(learnt, "correction")} learnt${seconds == null ? "" : ` in ${seconds.toFixed(2)} s`}: version ${version}.`;
}

/** @param {Changed[]} changed */
function counted(changed) {
	if (!changed.length) return "No other row changed.";
	const count = (verdict) => changed.filter((one) => one.verdict === verdict).length;
	const said = ["fixed", "broken", "moved"].filter(count).map((verdict) => `${count(verdict)} ${verdict}`);
	return `${many(changed.length, "other row")} changed: ${said.join(", ")}.`;
}

/** Every other row that changed, fixed or broken, and a button to take the version back. */
export const Outcome = live(({ then, open, review }) => {
	const done = outcome.value;
	if (done?.model !== model.value.name) return null;
	const { changed, noise, before } = done;
	const close = () => {
		outcome.value = null;
		review.focus();
	};
	return html`<section class="outcome" aria-labelledby="outcome">
		<header>
			<h2 id="outcome" tabindex="-1" onKeyDown=${(event) => event.key === "Escape" && close()}>What changed</h2>
			<div><button onClick=${() => take(before, then)}>Take back to ${before}</button> <button class="quiet" onClick=${close}>Close</button></div>
		</header>
		<p>${told(done)} ${counted(changed)}</p>
		${noise && html`<p class="quiet">${noise}</p>`}
		${changed.length > 0 && html`<ul class="changes">
			${changed.map((row) => html`<li><button class="change" onClick=${() => open(row)}>
				<span class=${`state ${row.verdict}`}>${row.verdict}</span><span class="number">${Number(row.row) + 1}</span>
				<span class="told"><bdi class="excerpt">${row.text}</bdi> ${differences(row)}</span>
			</button></li>`)}
		</ul>`}
	</section>`;
});

/** The answers before and after, word by word if there are words. */
export function differences({ text, before, after }) {
	if (!Array.isArray(before) || !Array.isArray(after) || before.length !== after.length)
		return html`<span class="mini">${written(before)} → ${written(after)}</span>`;
	const cut = text.split(/\s+/u);
	const word = (i) => (cut.length === before.length ? html`<bdi>${cut[i]}</bdi>` : `word ${i + 1}`);
	return before.map((tag, i) => tag !== after[i] && html`<span class="mini">${word(i)} ${tag} → ${after[i]}</span> `);
}

const written = (answer) => String(answer ?? "").replaceAll(",", ", ") || "none";

/** How many corrections of the journal are learnt. */
export const Journal = live(() => {
	const count = (wanted) => corrections.value.filter(({ state }) => state === wanted).length;
	const [waiting, learnt] = [count("waiting"), count("learnt")];
	return html`<p class="journal"><span class=${`lamp${waiting ? " on" : ""}`} aria-hidden="true"></span>
		journal: ${waiting ? `${waiting} saved, not learnt` : "nothing waits"}${learnt ? `, ${learnt} learnt` : ""}</p>`;
});

/** Versions of the model in use, and its journal. */
export const Versions = live(() => {
	const { name, versions = [] } = model.value;
	return html`<section class="page">
		<h1>Versions of ${name}</h1>
		<p class="lead">A version never changes. Learning makes a new one, and any of them can be made to answer again.</p>
		<ol class="versions">
			${[...versions].reverse().map((one) => html`<li class=${one.active ? "active" : ""}>
				<div>
					<strong>${one.version}</strong> <span class="quiet">${date(one.made)}${one.corrections ? `, ${many(one.corrections, "correction")}` : ""}</span>
					${one.note && html`<p>${one.note}</p>`}
				</div>
				${
					one.active
						? html`<span class="state corrected">answers now</span>`
						: html`<button aria-label=${`Make it answer: version ${one.version}`} onClick=${() => take(one.version)}>Make it answer</button>`
				}
			</li>`)}
		</ol>
		<h2>Journal</h2>
		${
			corrections.value.length
				? html`<${Journal} /><div class="scroller" tabindex="0" role="group" aria-label="Corrections"><table class="numbers wide" aria-label="Corrections">
						<thead><tr>${["no.", "text", "answer", "state", "undo"].map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
						<tbody>
							${[...corrections.value].reverse().slice(0, 500).map(({ seq, text, tags, labels, label, state }) => html`<tr>
								<td>${seq}</td><td class="prose"><bdi>${text}</bdi></td><td class="prose">${tags?.join(" ") ?? written(labels ?? label)}</td>
								<td><span class=${`state ${state}`}>${state}</span></td>
								<td>${state !== "undone" && html`<button class="quiet" aria-label=${`Take back correction ${seq}`} onClick=${() => forget(seq)}>Take back</button>`}</td>
							</tr>`)}
						</tbody>
					</table></div>`
				: html`<p class="quiet">There is no correction yet. Each is written to disk before the server says that it is kept.</p>`
		}
	</section>`;
});

const date = (iso) => new Date(iso).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
