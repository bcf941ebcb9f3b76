// The time line's axis and zoom.

/** Distances between ticks that people find round. */
const STEPS = [
  SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND,
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
  DAY, 2 * DAY, 7 * DAY, 30 * DAY, 365 * DAY, 3650 * DAY, 365000 * DAY,
];
/** Room that a tick's text needs, in pixels. */
const TICK_ROOM = 74;
/** The shortest stretch of time that can be shown. */
const SHORTEST = SECOND;

function ticksBetween(from, to, width) {
  const step = STEPS.find((it) => ((to - from) / it) * TICK_ROOM <= width) ?? STEPS.at(-1);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const isDay = at % DAY === 0;
    const time = timeOfDay(at);
    const text = isDay ? dayOf(at) + (step >= 30 * DAY ? ` ${new Date(at).getUTCFullYear()}` : "") : step < MINUTE ? time : time.slice(0, 5);
    ticks.push({ at, text, isDay });
  }
  return ticks;
}

/** A round number above a height in cores, with room for what marks a bar. */
function niceTop(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15].map((it) => it * power).find((it) => it >= most * 1.08);
}

function trimmed(value) {
  return String(Number(value.toPrecision(3)));
}

/** All of the recording, with some air around it. */
function wholeWindow({ from, to }) {
  const air = Math.max((to - from) * 0.01, SECOND);
  return { from: from - air, to: to + air };
}

function zoomBy(factor, centre) {
  const middle = centre ?? (view.from + view.to) / 2;
  const share = (middle - view.from) / (view.to - view.from);
  const length = Math.max(SHORTEST, Math.min((view.to - view.from) * factor, 365000 * DAY));
  change({ from: middle - share * length, to: middle + (1 - share) * length });
}

function zoomToSelection(recording) {
  const chosen = [...view.base, ...(view.other ?? [])].map((index) => recording.captures[index]);
  if (chosen.length === 0) return;
  const from = chosen.reduce((least, { start }) => Math.min(least, start), Infinity);
  const to = chosen.reduce((most, { end }) => Math.max(most, end), -Infinity);
  const air = Math.max((to - from) * 0.05, SECOND);
  change({ from: from - air, to: to + air });
}

function wireZoom(recording, timeline) {
  const centre = () => recording.captures[timeline.cursor ?? -1]?.start;
  const tools = {
    "zoom-in": () => zoomBy(0.5, centre()),
    "zoom-out": () => zoomBy(2, centre()),
    "zoom-selection": () => zoomToSelection(recording),
    "zoom-all": () => change(wholeWindow(recording)),
  };
  for (const [id, act] of Object.entries(tools)) byId(id).addEventListener("click", act);
  return tools;
}
