// What the server answers, as the page reads it. Offsets are UTF-16 units once `received` has passed them.
interface Span { start: number; end: number; label: string; score?: number | null }
interface Result {
  text?: string; tokens?: [number, number][]; tags?: string[]; spans?: Span[]; certainty?: number | null;
  token_certainty?: (number | null)[]; pinned?: boolean; kbest?: Reading[]; marginals?: Record<string, number>[];
  label?: string; labels?: string[]; probabilities?: Record<string, number>;
  tree?: string; nodes?: { start: number; end: number; label: string }[];
  answer?: unknown; pieces?: { start: number; end: number; label: string }[];
  source?: string[]; target?: string[]; links?: [number, number][]; ruled?: { tags: string[]; rules: string[] };
}
interface Reading { label?: string; tags?: string[]; tree?: string; p: number | null }
interface Answer { tags?: string[]; label?: string; labels?: string[] }
type Verdict = "fixed" | "broken" | "moved";
interface Row extends Result {
  row: number | string; gold?: Answer; correction?: Answer & { seq: number; state?: string };
  changed?: Verdict; suspect?: string; why?: string;
}
interface Version { version: string; made: string; note?: string; corrections?: number; active?: boolean }
interface Model {
  name: string; kind: "tags" | "documents" | "trees" | "links" | (string & {}); recipe?: string; labels: string[];
  scheme: string | null; many?: boolean; probabilities?: boolean; learns?: boolean; version: string; versions?: Version[];
  data?: string[]; rules?: string[];
}
interface Data { name: string; rows: number; kind?: string }
interface Term { name: string; value: number }
interface Group { word: string | null; at: number | null; kind: string; value: number; terms: Term[] }
interface Explanation {
  version: string; answer: string; instead: string; margin: number; groups: Group[]; others: number;
  marginals?: Record<string, number>; kbest?: Reading[]; turns?: string | null;
}
interface Changed {
  row: number | string; data?: string; text: string; before: string | string[]; after: string | string[];
  gold?: string | string[]; verdict: Verdict; words?: string[];
}
interface Learnt { version: string; seconds?: number; learnt?: number; gap?: number; changed: Changed[]; noise?: string }
interface Correction { seq: number; made: string; text: string; tags?: string[]; label?: string; labels?: string[];
  state: "waiting" | "learnt" | "undone" }
interface Measured {
  version: string; accuracy?: number; f1?: number; rows?: number; ece?: number | null;
  confusion?: { labels: string[]; counts: number[][] };
  calibration?: { from: number; to: number; mean: number; right: number; count: number }[];
  curve?: { pass: number; objective?: number | null; dev?: number | null }[];
}
interface Extent { first: number; last: number; label: string }
