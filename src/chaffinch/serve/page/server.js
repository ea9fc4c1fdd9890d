// Requests to the server that sent this page: JSON, the token in a header, errors as sentences.

const KEY = "chaffinch-token";

// The token is taken out of the address, so that it is neither seen nor shared with the link.
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
	sessionStorage.setItem(KEY, given);
	history.replaceState(null, "", location.pathname + location.search);
}
const token = sessionStorage.getItem(KEY);

/** @param {RequestInit} how @returns {Promise<Response>} one that is well */
async function request(path, how) {
	const headers = { ...how.headers, ...(token && { "X-Chaffinch-Token": token }) };
	const response = await fetch(path, { ...how, headers }).catch((error) => {
		if (error.name === "AbortError") throw error;
		throw new Error("The server does not answer. Is chaffinch serve still running?");
	});
	if (response.ok) return response;
	const { error } = await response.json().catch(() => ({}));
	throw new Error(error ?? `The server answered ${response.status} ${response.statusText}.`);
}

/** A function that starts a request over: the signal that stops it is sent when the next one starts. */
export function latest() {
	/** @type {AbortController | undefined} */
	let pending;
	return () => {
		pending?.abort();
		return (pending = new AbortController()).signal;
	};
}

/** A path with its query; entries that are empty or false are left out, true is 1. */
function queried(path, /** @type {Record<string, unknown>} */ query) {
	const entries = Object.entries(query).filter(([, value]) => value || value === 0);
	const asked = new URLSearchParams(entries.map(([key, value]) => [key, value === true ? "1" : String(value)]));
	return entries.length ? `${path}?${asked}` : path;
}

/** @param {Record<string, unknown>} [query] @param {AbortSignal} [signal] */
export async function get(path, query = {}, signal) {
	return (await request(queried(path, query), { signal })).json();
}

/** @param {unknown} body @param {AbortSignal} [signal] */
export async function post(path, body, signal) {
	const headers = { "Content-Type": "application/json" };
	return (await request(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

export async function remove(path) {
	return (await request(path, { method: "DELETE" })).json();
}

/** Fetch a file and let the browser keep it, since a plain link cannot carry the token; its name. @param {Record<string, unknown>} query */
export async function download(path, query) {
	const response = await request(queried(path, query), {});
	const link = document.createElement("a");
	link.download = /filename="?([^";]+)/u.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "export";
	link.href = URL.createObjectURL(await response.blob());
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
	return link.download;
}
