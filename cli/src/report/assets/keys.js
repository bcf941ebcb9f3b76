// The keyboard, where no part of the page has its own use for a key.

const KEYS = [
  ["On the time line", [
    ["← →", "go to the capture before or after"],
    ["Enter", "select it alone; with Ctrl, add it or take it out"],
    ["Shift ← →", "select up to there"],
    ["Ctrl A, Esc", "select all, or none"],
    ["Page Up, Page Down, Home, End", "go further"],
  ]],
  ["In the flame graph", [
    ["↑ ↓", "go to the caller, or to its largest callee"],
    ["← →", "go to the next callee of the same caller"],
    ["Enter, Esc", "zoom in, or all the way out"],
  ]],
  ["Anywhere", [
    ["t, f", "go to the time line, to the flame graph"],
    ["/", "search"],
    ["c", "compare, or stop comparing"],
    ["o", "leave out runtimes and standard libraries, or show them"],
    ["+ −", "show a shorter or a longer stretch of time"],
    ["z, 0", "zoom the time line to the selection, or show all of it"],
    ["?", "show this"],
  ]],
];

function wireKeys(tools, slots, timeline, flame) {
  const keys = {
    t: () => timeline.plot.focus(),
    f: () => flame.element.focus(),
    "/": () => byId("search").focus(),
    c: slots.actions.compare,
    "+": tools["zoom-in"],
    "=": tools["zoom-in"],
    "-": tools["zoom-out"],
    z: tools["zoom-selection"],
    0: tools["zoom-all"],
    o: tools.own,
    "?": openHelp,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const isTyping = event.target.matches?.("input[type=search], textarea");
    if (isTyping) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const act = keys[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
  byId("help-open").addEventListener("click", openHelp);
}

function openHelp() {
  fill(
    byId("help-keys"),
    ...KEYS.map(([where, keys]) =>
      make("section", {}, make("h3", { text: where }), make("dl", {}, ...keys.flatMap(([key, does]) => [make("dt", {}, ...key.split(", ").map((one) => make("kbd", { text: one }))), make("dd", { text: does })]))),
    ),
  );
  byId("help").showModal();
}
