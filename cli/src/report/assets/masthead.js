// Who was recorded, when and how: the top of the page.

function drawMasthead(recording) {
  const { directory, version } = recording;
  document.title = `${directory} · Tachograph`;
  fill(byId("directory"), make("bdi", { text: directory }));
  fill(byId("facts"), ...factsOf(recording).map(([name, value]) => make("div", {}, make("dt", { text: name }), make("dd", { text: value }))));
  byId("footer").textContent =
    `Made by tachograph ${version}. CPU time is what the samples stand for; the height of a bar is what the process used. All times are UTC.`;
}

function factsOf({ captures, deadline }) {
  if (captures.length === 0) return [];
  const sum = (of) => captures.reduce((total, capture) => total + of(capture), 0);
  const { start } = captures[0];
  const end = captures.reduce((latest, capture) => Math.max(latest, capture.end), start);
  const triggered = captures.filter((capture) => capture.triggered).length;
  const usedIsKnown = captures.every(({ used }) => used !== null);
  return [
    ["First capture", moment(start)],
    ["Deadline", deadline === null ? "not known" : moment(deadline)],
    ["Captures", `${whole(captures.length)}, ${whole(triggered)} triggered`],
    ["Sampled", `${stretch(sum(({ wall }) => wall) * SECOND)} in ${stretch(end - start)}`],
    ["CPU time sampled", `${cpuSeconds(sum(({ cpu }) => cpu))}${usedIsKnown ? ` of ${cpuBriefly(sum(({ used }) => used) * 1e9)} used` : ""}`],
    ["Samples", `${whole(sum(({ samples }) => samples))}, ${whole(sum(({ lost }) => lost))} lost`],
    ["Sampler", several(captures.map(({ sampler }) => sampler), "samplers")],
    ["Build id", several(captures.map(({ build }) => build && shortId(build)), "builds")],
    ["Rust", several(captures.map(({ rust }) => rust), "versions")],
  ];
}

/** Enough of a build id to tell it from others. */
function shortId(id) {
  return id.length > 14 ? `${id.slice(0, 12)}…` : id;
}

/** The one value there is, or how many and the last. */
function several(values, many) {
  const different = [...new Set(values.filter((value) => value !== null))];
  if (different.length === 0) return "not known";
  if (different.length === 1) return different[0];
  return `${different.at(-1)} (last of ${whole(different.length)} ${many})`;
}
