// A list to choose one thing from.
import { html, live } from "./live.js";

/** Options are [value, text], or [value] alone. */
export const Choice = live((/** @type {Choosing} */ { name, value, options, choose }) => html`<select aria-label=${name} onChange=${(event) => choose(event.target.value)}>
	${options.map(([one, text = one]) => html`<option value=${one} selected=${one === value}>${text}</option>`)}
</select>`);

/** Each name as an option. @param {{ name: string }[]} named */
export const names = (named) => named.map(({ name }) => [name]);
