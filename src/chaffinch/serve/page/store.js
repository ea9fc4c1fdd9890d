// State shared by all views: the models, the one in use, the current view, the theme, the last message.
import { computed, effect, html, live, signal } from "./live.js";
import { get } from "./server.js";

export const VIEWS = ["read", "compare", "corpus", "versions", "report"];
const front = () => VIEWS.find((name) => `#${name}` === location.hash) ?? "read";

export const models = signal(/** @type {Model[]} */ ([]));
const data = signal(/** @type {Data[]} */ ([]));
export const chosen = signal("");
export const view = signal(front());
export const notice = signal({ text: "", wrong: false });
addEventListener("hashchange", () => (view.value = front()));

/** The model in use. */
export const model = computed(() => models.value.find(({ name }) => name === chosen.value) ?? models.value[0]);

/** The data files that the model in use reads. */
export const files = () => data.value.filter(({ name }) => model.value.data?.includes(name) ?? true);

/** Request models and data files: at the start, and after every new version. */
export async function refresh() {
	const answer = await get("models");
	models.value = answer.models;
	data.value = answer.data ?? [];
}

/** Show a message, and send it to screen readers. */
export function say(text, wrong = false) {
	const said = (notice.value = { text, wrong });
	if (!wrong) setTimeout(() => notice.value === said && (notice.value = { text: "", wrong }), 6000);
}

/** Do something that can fail, and say why if it does. @template T @param {() => Promise<T>} act @returns {Promise<T | undefined>} */
export async function attempt(act) {
	try {
		return await act();
	} catch (error) {
		const { name, message } = /** @type {Error} */ (error);
		if (name !== "AbortError") say(message, true);
		return undefined;
	}
}

const KEY = "chaffinch-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);
system.addEventListener("change", () => (systemDark.value = system.matches));
/** light, dark, or empty: as the system has it. */
export const theme = signal(localStorage.getItem(KEY) ?? "");
export const dark = computed(() => (theme.value ? theme.value === "dark" : systemDark.value));
effect(() => {
	document.documentElement.dataset.theme = dark.value ? "dark" : "light";
	localStorage.setItem(KEY, theme.value);
});

/** A share as a percentage; a value just below 1 is not shown as 100 %. */
export function percent(p) {
	if (p == null) return "";
	if (p > 0.995 && p < 1) return "> 99 %";
	return p < 0.005 && p > 0 ? "< 1 %" : `${Math.round(p * 100)} %`;
}

/** A score with its sign, a true minus. */
export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);

/** A number of things. */
export const many = (n, thing) => `${n.toLocaleString("en")} ${thing}${n === 1 ? "" : "s"}`;

/** A list to choose one thing from; options are [value, text], or [value] alone. */
export const Choice = live((/** @type {Choosing} */ { name, value, options, choose }) => html`<select aria-label=${name} onChange=${(event) => choose(event.target.value)}>
	${options.map(([one, text = one]) => html`<option value=${one} selected=${one === value}>${text}</option>`)}
</select>`);

/** Each name as an option. @param {{ name: string }[]} named */
export const names = (named) => named.map(({ name }) => [name]);
