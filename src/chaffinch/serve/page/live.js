// Signals, and views that follow them: a component draws again when a signal that it read changes, or its properties do.
import { Component, h, render } from "./vendor/preact.mjs";
import htm from "./vendor/htm.mjs";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(/** @type {any} */ (h));
export { render };

/** @type {Follower | null} */
let running = null;
/** @type {Set<Follower> | null} effects that wait for the end of a batch */
let waiting = null;

/** A value that notifies its readers when it changes. @template T @param {T} value */
export function signal(value) {
	/** @type {Set<Follower>} */
	const readers = new Set();
	return {
		get value() {
			if (running) {
				readers.add(running);
				running.read.add(readers);
			}
			return value;
		},
		set value(next) {
			if (next === value) return;
			value = next;
			batch(() => readers.forEach((reader) => waiting?.add(reader)));
		},
	};
}

/** A value computed from signals at every read. @template T @param {() => T} make */
export const computed = (make) => ({
	get value() {
		return make();
	},
});

/** Run something now, and again whenever a signal that it read has changed; the answer ends that. */
export function effect(act) {
	const stop = () => {
		for (const readers of own.read) readers.delete(own);
		own.read.clear();
	};
	const own = /** @type {Follower} */ ({ read: new Set(), run });
	function run() {
		stop();
		const outer = running;
		running = own;
		try {
			act();
		} finally {
			running = outer;
		}
	}
	run();
	return stop;
}

/** Change several signals before readers are notified. */
export function batch(act) {
	if (waiting) return act();
	waiting = new Set();
	try {
		act();
	} finally {
		const told = waiting;
		waiting = null;
		for (const reader of told) if (reader.read.size) reader.run();
	}
}

/** A component made of a function of its properties. @template P @param {(props: P) => any} view @returns {any} */
export function live(view) {
	return class extends Component {
		/** @type {(() => void) | undefined} */
		stop;

		/** @param {any} props */
		render(props) {
			this.stop?.();
			/** @type {any} */
			let out;
			let drawn = false;
			this.stop = effect(() => {
				if (drawn) return this.forceUpdate(); // that render reads the signals anew
				drawn = true;
				out = view(props);
			});
			return out;
		}

		/** @param {any} next */
		shouldComponentUpdate(next) {
			const now = /** @type {any} */ (this.props);
			return Object.keys({ ...now, ...next }).some((key) => now[key] !== next[key]);
		}

		componentWillUnmount() {
			this.stop?.();
		}
	};
}

/** Run something when the changes made so far are in the document. */
export const afterDrawing = (act) => setTimeout(act);
