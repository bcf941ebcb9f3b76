// What is looked at, and who draws it again when that changes.

/** Colour, position and text never depend on anything but this and the recording. */
const view = {
  /** Indices of the captures looked at; in a comparison, of its base. */
  base: new Set(),
  /** Indices of the captures compared with the base; null if nothing is compared. */
  other: null,
  /** Which of the two a pick on the time line goes to. */
  active: "base",
  /** Number of the only task or thread to count; null for all. */
  task: null,
  thread: null,
  /** What stands at the flame graph's root: "none", "task" or "thread". */
  by: "none",
  /** Whether frames of runtimes and standard libraries are left out. */
  own: false,
  /** What a comparison is in: "cores" or "share". */
  unit: "cores",
  search: "",
  /** The frame that fills the flame graph: its group and stack; null for all. */
  zoom: null,
  /** The stretch of time on the time line, in milliseconds. */
  from: 0,
  to: 1,
  /** Sorting of the functions: a column's key, and whether largest first. */
  sort: { key: "self", down: true },
  /** How many functions are listed. */
  listed: 40,
};

const watchers = [];

/** Draws when one of `keys` changes, in the order of these calls. */
function watch(keys, draw) {
  watchers.push({ keys, draw });
}

function change(patch) {
  Object.assign(view, patch);
  for (const { keys, draw } of watchers) {
    if (keys.some((key) => key in patch)) draw();
  }
}

function drawAll() {
  for (const { draw } of watchers) draw();
}
