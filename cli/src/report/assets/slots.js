// What is selected, in words, and the two sides of a comparison.

class Slots {
  constructor(recording, derived) {
    this.recording = recording;
    this.derived = derived;
    this.usual = usualComparison(recording.captures);
    this.actions = {
      "pick-all": () => pick(recording.captures.map(({ index }) => index), "only"),
      "pick-none": () => pick([], "only"),
      compare: () => (view.other === null ? change({ other: new Set(), active: "other", zoom: null }) : change({ other: null, active: "base", zoom: null })),
      "compare-usual": () => change({ base: new Set([this.usual[0]]), other: new Set([this.usual[1]]), active: "other", zoom: null }),
      swap: () => change({ base: view.other, other: view.base }),
    };
    for (const [id, act] of Object.entries(this.actions)) byId(id).addEventListener("click", act);
    watch(["base", "other", "active", "task", "thread", "unit"], () => this.draw());
  }

  draw() {
    const compares = view.other !== null;
    byId("compare").textContent = compares ? "Stop comparing" : "Compare…";
    byId("compare").setAttribute("aria-pressed", String(compares));
    byId("swap").hidden = !compares;
    byId("compare-usual").hidden = this.usual === null;
    byId("unit").hidden = !compares;
    const slots = compares ? ["base", "other"] : ["base"];
    const hadFocus = byId("slots").contains(document.activeElement);
    fill(byId("slots"), ...slots.map((slot) => this.slot(slot, compares)));
    if (hadFocus) byId(`slot-${view.active}`)?.focus();
    this.drawOne();
  }

  slot(slot, compares) {
    const sums = this.derived[slot];
    const text = make("span", { class: "slot-text" }, ...this.words(view[slot], sums));
    if (!compares) return make("p", { class: "slot", id: "slot-base" }, text);
    return make(
      "button",
      {
        type: "button",
        class: `slot ${slot}`,
        id: `slot-${slot}`,
        "aria-pressed": String(view.active === slot),
        title: "Picks on the time line go here",
        onclick: () => change({ active: slot }),
      },
      make("strong", { text: slot === "base" ? "Base" : "Other" }),
      text,
    );
  }

  words(chosen, sums) {
    if (chosen.size === 0) return ["no capture selected"];
    const [first] = chosen;
    const what = chosen.size === 1 ? oneInWords(this.recording.captures[first]) : plural(chosen.size, "capture");
    const cpu = make("b", { class: "cpu", text: `${cpuSeconds(sums.cpu)} of CPU` });
    const rate = sums.wall > 0 ? ` · ${cores(sums.cpu / 1e9 / sums.wall)}${NBSP}cores` : "";
    if (view.other !== null) return [make("span", { text: `${what} · ` }), cpu, rate];
    return [make("b", { text: what }), ` · ${stretch(sums.wall * SECOND)} sampled · `, cpu, `${rate} · ${plural(sums.count, "sample")}`];
  }

  /** All that is known of a capture that stands alone. */
  drawOne() {
    const chosen = view[view.active] ?? view.base;
    const one = byId("one");
    one.hidden = chosen.size !== 1;
    if (one.hidden) return;
    const [index] = chosen;
    const capture = this.recording.captures[index];
    fill(
      one,
      make("summary", { text: "Sidecar of this capture" }),
      make(
        "div",
        { class: "scroll" },
        make(
          "table",
          { class: "sidecar" },
          make("tbody", {}, ...capture.details.map(([name, ...values]) => make("tr", {}, make("th", { scope: "row", text: name }), ...values.map((text) => make("td", { colspan: values.length === 1 ? 2 : undefined, text: text ?? "" }))))),
        ),
      ),
    );
  }
}

function oneInWords({ reason, start }) {
  return `${reason ?? "(reason not known)"}, ${dayOf(start)} ${timeOfDay(start)}`;
}

/** The last periodic capture before the newest triggered one, and that one. */
function usualComparison(captures) {
  const triggered = captures.findLast((it) => it.triggered);
  if (triggered === undefined) return null;
  const periodic = captures.findLast((it) => !it.triggered && it.reason !== null);
  return periodic === undefined ? null : [periodic.index, triggered.index];
}
