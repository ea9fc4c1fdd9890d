// How good the model is on a corpus with known labels: scores, training curves, calibration, confusion.
import { Confusion, Curve, Reliability } from "./charts.js";
import { Choice, names } from "./choice.js";
import { html, live, signal } from "./live.js";
import { get, latest } from "./server.js";
import { files, model } from "./store.js";

const report = signal(/** @type {Measured | null} */ (null));
const failure = signal("");
const file = signal("");

const starting = latest();

export async function open() {
	const stop = starting();
	[report.value, failure.value] = [null, ""];
	try {
		report.value = await get("report", { model: model.value.name, data: (files().find(({ name }) => name === file.value) ?? files()[0])?.name }, stop);
	} catch (error) {
		if (!stop.aborted) failure.value = /** @type {Error} */ (error).message;
	}
}

export const Report = live(() => {
	const choose = (name) => {
		file.value = name;
		open();
	};
	return html`<section class="page">
		<h1>Report of ${model.value.name}</h1>
		${files().length > 1 && html`<p><label>Measured on <${Choice} value=${file.value} options=${names(files())} choose=${choose} /></label></p>`}
		${failure.value && html`<p class="wrong" role="alert">${failure.value}</p>`}
		${!failure.value && !report.value && html`<p class="hint" role="status">Measuring …</p>`}
		${report.value && html`<${Found} ...${report.value} />`}
	</section>`;
});

const Found = live((/** @type {Measured} */ { version, accuracy, f1, calibration, ece, confusion, curve }) => {
	const points = (of) => (curve ?? []).flatMap((one) => (one[of] == null ? [] : [[one.pass, one[of]]]));
	const [objective, dev] = [points("objective"), points("dev")];
	const score = (name, value, unit = "") => value != null && html`<div><dt>${name}</dt><dd class="number">${typeof value === "number" ? (100 * value).toFixed(1) : value}${unit}</dd></div>`;
	return html`<dl class="scores">
			${score("F1", f1)}${score(model.value.kind === "documents" ? "accuracy" : "rows all right", accuracy, " %")}${score("calibration error", ece, " points")}${score("version", version)}
		</dl>
		<div class="charts">
			${objective.length > 1 && html`<${Curve} title="Objective by pass" points=${objective} />`}
			${dev.length > 1 && html`<${Curve} title="Held-out score by pass" points=${dev} />`}
			${calibration?.length ? html`<${Reliability} bins=${calibration} />` : null}
		</div>
		${objective.length < 2 && dev.length < 2 && html`<p class="quiet">The model file has no training curve.</p>`}
		${confusion?.labels.length ? html`<h2>Confusion</h2><${Confusion} ...${confusion} />` : null}`;
});
