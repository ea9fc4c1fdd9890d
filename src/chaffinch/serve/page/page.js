// The page: its head, the view in front, and what it says.
import { colourAll } from "./colours.js";
import { Corpus, open as openCorpus } from "./corpus.js";
import { explain } from "./evidence.js";
import { readJournal, Versions } from "./learning.js";
import { effect, html, live, render } from "./live.js";
import { compare, Comparing, read, Reading } from "./reading.js";
import { open as openReport, Report } from "./report.js";
import { choices } from "./schemes.js";
import { attempt, Choice, chosen, dark, model, models, names, notice, refresh, theme, view, VIEWS } from "./store.js";

const PAGES = { read: Reading, compare: Comparing, corpus: Corpus, versions: Versions, report: Report };
const OPENING = { read, compare, corpus: () => openCorpus(0), report: openReport };
const titled = (name) => name[0].toUpperCase() + name.slice(1);

const Head = live(() => {
	const used = model.value;
	return html`<header class="head">
		<a class="brand" href="#read"><img src="page/icon.svg" alt="" width="28" height="28" />Chaffinch</a>
		<nav aria-label="Views">${VIEWS.map((name) => html`<a href=${`#${name}`} aria-current=${view.value === name ? "page" : undefined}>${titled(name)}</a>`)}</nav>
		<div class="tools">
			${used && html`<${Choice} name="Model" value=${used.name} options=${names(models.value)} choose=${(name) => (chosen.value = name)} /><span class="version" title="the version that answers">${used.version}</span>`}
			<button class="quiet theme" aria-label=${dark.value ? "Light colours" : "Dark colours"} onClick=${() => (theme.value = dark.value ? "light" : "dark")}>
				<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true"><circle cx="10" cy="10" r="7" class="ring" /><path d="M10 3a7 7 0 0 1 0 14z" class="half" /></svg>
			</button>
		</div>
	</header>`;
});

const Said = live(() => {
	const { text, wrong } = notice.value;
	return html`<p class=${`said${wrong ? " wrong" : ""}${text ? "" : " unseen"}`} role=${wrong ? "alert" : "status"}>
		<span>${text}</span>${text && html`<button class="quiet" aria-label="Dismiss" onClick=${() => (notice.value = { text: "", wrong: false })}>×</button>`}
	</p>`;
});

const skip = (event) => {
	event.preventDefault();
	document.getElementById("content")?.focus();
};

const Page = live(() => html`<a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
	<${Head} />
	<main id="content" tabindex="-1">${model.value ? html`<${PAGES[view.value]} />` : html`<p class="hint">Asking the server …</p>`}</main>
	<${Said} />`);

// A view asks for what it shows when it comes to the front, and again for another model.
let before = "";
effect(() => {
	const used = model.value;
	const now = `${view.value} ${used?.name}`;
	if (!used || now === before) return;
	before = now;
	const opening = OPENING[view.value];
	colourAll(choices(used));
	document.title = `${titled(view.value)} · ${used.name} · Chaffinch`;
	queueMicrotask(() => {
		explain(null);
		readJournal();
		opening?.();
	});
});

render(html`<${Page} />`, /** @type {HTMLElement} */ (document.getElementById("page")));
await attempt(refresh);
