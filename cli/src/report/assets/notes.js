// Words for captures, for the gaps between them, and for what could not be read.

/** What stands on the time line, by kind. */
const SIGNS = { restarted: "↻", rebuilt: "↻", reopened: "↻", long: "", dropped: "▾", exhausted: "■", recording: "", silent: "", unfinished: "✕", bad: "!" };

/** Why nothing was captured in a gap, or what fell into it. */
const REASONS = {
  restarted: () => "The process was restarted: its CPU time began anew.",
  rebuilt: ({ before, after }) => `Another build was started: ${visible(before)} before, ${visible(after)} after.`,
  reopened: () => "The deadline was set anew.",
  long: ({ usualMs }) => `Longer than usual; periodic captures are ${stretch(usualMs)} apart.`,
  dropped: ({ cooldown, busy, pending }) => {
    const parts = [
      [cooldown, "in the cooldown after a capture"],
      [busy, "while somebody else was profiling"],
      [pending, "behind one that was waiting"],
    ];
    const told = parts.filter(([count]) => count > 0);
    const all = `${plural(cooldown + busy + pending, "request")} dropped`;
    if (told.length === 1) return `${all} ${told[0][1]}.`;
    return `${all}: ${told.map(([count, when]) => `${whole(count)} ${when}`).join(", ")}.`;
  },
  exhausted: ({ text }) => `Recording ended for its budget: ${text} (by default).`,
  recording: () => "The recorder was still at work when this page was made.",
  silent: () =>
    "No capture until the deadline, and nothing here says why: the service was stopped, or it ended recording, and then its log says so.",
};

function reasonOf(why) {
  return REASONS[why.kind](why);
}

/** What a capture's tip says. */
function captureLines(capture) {
  const lines = [
    `${capture.reason ?? "(reason not known)"}${capture.triggered ? ", triggered" : ""}`,
    moment(capture.start),
    `${stretch(capture.wall * SECOND)} sampled, ${plural(capture.samples, "sample")}, ${whole(capture.lost)} lost`,
  ];
  if (capture.cores !== null) lines.push(`${cores(capture.cores)} cores, ${cpuSeconds(capture.used * 1e9)} of CPU used`);
  return [...lines, ...capture.warnings];
}

/** What a gap's tip says. */
function gapLines({ from, to, cores: used, why }) {
  const lines = [`${stretch(to - from)} without a capture`];
  if (used !== null) lines.push(`${cores(used)} cores on average, by the process’s own counter`);
  return [...lines, ...why.map(reasonOf)];
}

/** The lists under the time line. */
function drawNotes({ gaps, notes }) {
  const told = gaps.filter(({ why }) => why.length > 0);
  const parts = [];
  if (notes.length > 0) {
    const rows = notes.map(({ entry, text, kind, at }) =>
      make("tr", {}, make("td", { text: SIGNS[kind] }), make("td", { text: moment(at) }), make("td", { class: "entry" }, make("bdi", { text: entry })), make("td", { text })),
    );
    parts.push(foldable(plural(notes.length, "entry that is not a whole capture", "entries that are not whole captures"), ["", "When", "Entry", "What is wrong"], rows, "bad-entries"));
  }
  if (told.length > 0) {
    const rows = told.map(({ from, to, why }) =>
      make("tr", {}, make("td", { text: SIGNS[why[0].kind] }), make("td", { text: moment(from) }), make("td", { text: stretch(to - from) }), make("td", {}, ...why.map((it) => make("div", { text: reasonOf(it) })))),
    );
    parts.push(foldable(`${plural(told.length, "gap")} with something to tell`, ["", "From", "Length", "Why"], rows, "gaps"));
  }
  fill(byId("notes"), ...parts);
}

function foldable(summary, headings, rows, id) {
  return make(
    "details",
    { id },
    make("summary", { text: summary }),
    make(
      "div",
      { class: "scroll" },
      make("table", {}, make("thead", {}, make("tr", {}, ...headings.map((text) => make("th", { scope: "col", text })))), make("tbody", {}, ...rows)),
    ),
  );
}
