// Puts the page together.

function drawLegend({ captures, gaps }) {
  const items = [["periodic", "periodic"]];
  if (captures.some(({ triggered }) => triggered)) items.push(["triggered", "triggered"]);
  if (captures.some(({ warnings }) => warnings.length > 0)) items.push(["unsampled", "used, not sampled"]);
  if (gaps.some(({ cores: used }) => used !== null)) items.push(["between", "between captures"]);
  fill(byId("legend"), ...items.map(([kind, text]) => make("li", {}, make("i", { class: `swatch ${kind}` }), text)));
}

const THEMES = ["system", "light", "dark"];

function wireTheme() {
  let at = 0;
  byId("theme").addEventListener("click", () => {
    at = (at + 1) % THEMES.length;
    document.documentElement.dataset.theme = THEMES[at];
    byId("theme").textContent = `Theme: ${THEMES[at]}`;
  });
}

function wireChoices() {
  choice(byId("by"), "by", [["none", "Functions"], ["task", "By task"], ["thread", "By thread"]], view.by, (by) => change({ by, zoom: null }));
  choice(byId("unit"), "unit", [["cores", "CPU s per s"], ["share", "Shares"]], view.unit, (unit) => change({ unit }));
  byId("search").addEventListener("input", () => change({ search: byId("search").value, listed: 40 }));
}

/** What the search found, in words. */
function wireMatched(recording, derived) {
  watch(["search", "base", "other", "task", "thread", "unit", "own"], () => {
    const { matches, measure, base, other } = derived;
    const said = byId("matched");
    if (matches === null || derived.whyEmpty() !== null) {
      said.textContent = "";
      return;
    }
    const functions = matches.reduce((sum, it) => sum + it, 0);
    if (functions === 0) {
      said.textContent = `No function has “${view.search.trim()}” in its name.`;
      return;
    }
    const inBase = matchedCpu(recording, base.self, matches);
    const found = `${plural(functions, "function")} found, on the stack in `;
    if (!measure.compares) {
      said.textContent = `${found}${percent(measure.share(inBase))} of the CPU time shown (${cpuSeconds(inBase)}).`;
      return;
    }
    const inOther = matchedCpu(recording, other.self, matches);
    said.textContent =
      `${found}${measure.text(measure.ofBase(inBase))} of the base and ${measure.text(measure.ofOther(inOther))} of the other` +
      ` (${signed(measure.change(inBase, inOther), measure.text)}${measure.suffix}).`;
  });
}

function drawKey() {
  const steps = ["faster-4", "faster-3", "faster-2", "faster-1", "same", "slower-1", "slower-2", "slower-3", "slower-4"];
  fill(byId("flame-key"), make("span", { text: "− less" }), ...steps.map((step) => make("i", { class: step })), make("span", { text: "+ more in the other; width: mean of both" }));
}

async function start() {
  const loading = byId("loading");
  let recording;
  try {
    recording = await readRecording(byId("recording"));
  } catch (error) {
    loading.textContent = `This page cannot show its recording: ${error.message}. It needs a browser of 2023 or later, and must be whole.`;
    return;
  }
  byId("report").hidden = false;
  loading.remove();
  Object.assign(view, wholeWindow(recording), { base: new Set(recording.captures.keys()) });
  drawMasthead(recording);
  drawLegend(recording);
  drawNotes(recording);
  drawKey();
  wireTheme();
  wireChoices();
  const toggleOwn = wireScope(recording);
  const derived = new Derived(recording);
  const timeline = new Timeline(recording);
  const slots = new Slots(recording, derived);
  new Facet(recording, derived, "task");
  new Facet(recording, derived, "thread");
  const flame = new Flame(recording, derived);
  new Functions(recording, derived);
  wireMatched(recording, derived);
  wireKeys({ ...wireZoom(recording, timeline), own: toggleOwn }, slots, timeline, flame);
  drawAll();
  let width = document.documentElement.clientWidth;
  new ResizeObserver(() => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    change({ width });
  }).observe(document.documentElement);
}

start();
