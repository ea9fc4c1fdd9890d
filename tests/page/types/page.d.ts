// Types of the page that no file of it needs to ship.
type Review = import("../../../src/chaffinch/serve/page/review.js").Review;
interface Follower { run: () => void; read: Set<Set<Follower>> }
interface Choosing { name?: string; value?: string; options: string[][]; choose: (value: string) => void }
interface Deed { says: string; undo: () => unknown; redo: () => unknown }
/** What is asked about: a word of a sentence, or a whole document. */
interface Subject { model: Model; version?: string; result: Result; input: object; position?: number; instead?: string }
interface Branch { label: string; children: Branch[]; x: number; depth: number; height: number }
interface Line {
  id: string; result: Result; scheme: string | null; tags: string[]; name: string; active: boolean; at: number;
  anchor: number | null; differs?: boolean[]; pick: (word: number) => void; press: (event: KeyboardEvent) => void;
}
interface Reviewed { review: Review; differs?: boolean[][]; learn?: () => void; learning?: boolean }
interface Shown {
  review: Review; row: Row; index: number; draft?: Answer; active: boolean; word: number; anchor: number | null;
  differs?: boolean[]; name: string;
}
interface Drawn { id: string; model: Model; version?: string; results: Result[] }
interface Side { name: string; version: string }
interface Sided { side: Side; n: number; differs?: boolean[][] }
interface Around { data?: () => string; saved?: () => void; reading?: boolean }
