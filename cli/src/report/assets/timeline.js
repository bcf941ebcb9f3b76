// The window as a time line: a bar for each capture, what lay between, and why.

/** A capture is drawn at least this wide, in pixels, as the style has it. */
const THINNEST = 3;
/** How near a pointer must come to a capture, in pixels. */
const NEAR = 8;
/** A pointer that moved less than this many pixels was clicked, not dragged. */
const STILL = 4;

class Timeline {
  constructor(recording) {
    this.recording = recording;
    this.cursor = null;
    this.anchor = null;
    this.drag = null;
    this.top = niceTop(Math.max(...recording.captures.map(({ cores: it }) => it ?? 0), ...recording.gaps.map(({ cores: it }) => it ?? 0), 0));
    this.plot = make("div", {
      class: "plot",
      role: "listbox",
      tabindex: "0",
      "aria-multiselectable": "true",
      "aria-label": "Captures: arrow keys move, Enter selects, Shift with arrow keys selects several",
      onkeydown: (event) => this.key(event),
      onfocus: () => this.point(this.cursor ?? 0),
      onblur: hideTip,
      onpointerdown: (event) => this.press(event),
      onpointermove: (event) => this.move(event),
      onpointerup: (event) => this.release(event),
      onpointercancel: () => this.endDrag(),
      onpointerleave: hideTip,
    });
    this.axis = make("div", { class: "axis", "aria-hidden": "true" });
    this.marks = make("div", { class: "marks", "aria-hidden": "true", onpointermove: (event) => this.move(event), onpointerleave: hideTip });
    this.scale = make("div", { class: "scale", "aria-hidden": "true" });
    const isEmpty = recording.captures.length + recording.notes.length === 0;
    fill(byId("timeline"), ...(isEmpty ? [empty("Nothing was recorded in this directory.")] : [this.scale, this.plot, this.marks, this.axis]));
    byId("window-tools").hidden = isEmpty;
    this.drawScale();
    watch(["from", "to", "width"], () => this.draw());
    watch(["base", "other"], () => this.select());
  }

  /** Where a moment lies, as a share of the plot's width. */
  place(millis) {
    return (millis - view.from) / (view.to - view.from);
  }

  span(from, to) {
    const left = Math.max(0, this.place(from));
    const right = Math.min(1, this.place(to));
    return { left: `${left * 100}%`, width: `${Math.max(0, right - left) * 100}%` };
  }

  isInView(from, to) {
    return to >= view.from && from <= view.to;
  }

  drawScale() {
    const ticks = [0, this.top / 2, this.top];
    fill(
      this.scale,
      ...ticks.map((value) => make("span", { text: trimmed(value), style: { bottom: `${(value / this.top) * 100}%` } })),
      make("em", { text: "cores" }),
    );
  }

  draw() {
    const { captures, gaps, notes, deadline } = this.recording;
    const height = (cores) => `${Math.min(1, cores / this.top) * 100}%`;
    const between = gaps
      .filter(({ cores, from, to }) => cores !== null && this.isInView(from, to))
      .map((gap) => make("i", { class: "between", style: { ...this.span(gap.from, gap.to), height: height(gap.cores) } }));
    this.bars = captures.map((capture) => this.isInView(capture.start, capture.end) ? this.bar(capture, height) : null);
    const lines = [0.5, 1].map((share) => make("i", { class: "line", style: { bottom: `${share * 100}%` } }));
    const late = deadline !== null && this.isInView(deadline, deadline)
      ? make("i", { class: "deadline", style: { left: `${this.place(deadline) * 100}%` } }, make("span", { text: "deadline" }))
      : null;
    this.band = make("i", { class: "band", hidden: true });
    fill(this.plot, ...lines, ...between, late, ...this.bars, this.band);

    const segments = gaps
      .filter(({ from, to, why }) => why.length > 0 && this.isInView(from, to))
      .map((gap) => make("i", { class: `gap ${gap.why.map(({ kind }) => kind).join(" ")}`, style: this.span(gap.from, gap.to) }, make("span", { text: SIGNS[gap.why[0].kind] })));
    const bad = notes
      .filter(({ at }) => this.isInView(at, at))
      .map((note) => make("i", { class: `note ${note.kind}`, text: SIGNS[note.kind], style: { left: `${this.place(note.at) * 100}%` } }));
    fill(this.marks, ...segments, ...bad);
    fill(this.axis, ...ticksBetween(view.from, view.to, this.plot.clientWidth || 1000).map(({ at, text, isDay }) =>
      make("span", { class: isDay ? "day" : undefined, text, style: { left: `${this.place(at) * 100}%` } }),
    ));
    this.select();
  }

  bar(capture, height) {
    const used = capture.cores ?? 0;
    const sampled = capture.wall > 0 ? capture.cpu / 1e9 / capture.wall : 0;
    const left = this.place(capture.start) * 100;
    const width = (this.place(capture.end) - this.place(capture.start)) * 100;
    return make(
      "div",
      {
        id: `capture-${capture.index}`,
        class: `capture ${capture.triggered ? "triggered" : "periodic"}${capture.warnings.length > 0 ? " warned" : ""}`,
        role: "option",
        "aria-label": captureLines(capture).join("; "),
        "data-index": capture.index,
        style: { left: `${left}%`, width: `${width}%`, height: height(Math.max(used, sampled)) },
      },
      make("i", { class: "sampled", style: { height: used > 0 ? `${Math.min(1, sampled / used) * 100}%` : "100%" } }),
    );
  }

  /** Shows which captures are chosen, without drawing them again. */
  select() {
    this.plot.classList.toggle("compares", view.other !== null);
    this.bars?.forEach((bar, index) => {
      if (bar === null) return;
      const isBase = view.base.has(index);
      const isOther = view.other?.has(index) ?? false;
      bar.classList.toggle("base", isBase);
      bar.classList.toggle("other", isOther);
      bar.setAttribute("aria-selected", String(isBase || isOther));
    });
  }

  millisAt(event) {
    const { left, width } = this.plot.getBoundingClientRect();
    return view.from + ((event.clientX - left) / width) * (view.to - view.from);
  }

  /** The capture that a pointer is at; null if none is near. */
  near(event) {
    const millis = this.millisAt(event);
    let nearest = null;
    let least = NEAR * this.perPixel();
    for (const capture of this.recording.captures) {
      const { start, index } = capture;
      const end = this.drawnEnd(capture);
      const distance = millis < start ? start - millis : millis > end ? millis - end : 0;
      if (distance <= least) [nearest, least] = [index, distance];
    }
    return nearest;
  }

  perPixel() {
    return (view.to - view.from) / this.plot.clientWidth;
  }

  /** Up to where a capture is seen, which for a short one is wider than it is. */
  drawnEnd({ start, end }) {
    return Math.max(end, start + THINNEST * this.perPixel());
  }

  press(event) {
    if (event.button !== 0) return;
    this.plot.setPointerCapture(event.pointerId);
    this.drag = { x: event.clientX, from: this.millisAt(event) };
  }

  move(event) {
    if (this.drag !== null && Math.abs(event.clientX - this.drag.x) >= STILL) {
      const [from, to] = inOrder(this.drag.from, this.millisAt(event));
      const span = this.span(from, to);
      this.band.hidden = false;
      this.band.style.setProperty("left", span.left);
      this.band.style.setProperty("width", span.width);
      const inside = this.within(from, to).length;
      return showTip([plural(inside, "capture"), `${moment(from)} and ${stretch(to - from)}`], event.clientX, event.clientY);
    }
    const index = this.near(event);
    if (index !== null) return showTip(captureLines(this.recording.captures[index]), event.clientX, event.clientY);
    const millis = this.millisAt(event);
    const gap = this.recording.gaps.find(({ from, to }) => from <= millis && millis <= to);
    if (gap !== undefined) return showTip(gapLines(gap), event.clientX, event.clientY);
    hideTip();
  }

  release(event) {
    if (this.drag === null) return;
    const { x, from } = this.drag;
    this.endDrag();
    if (Math.abs(event.clientX - x) >= STILL) {
      return pick(this.within(...inOrder(from, this.millisAt(event))), event.ctrlKey || event.metaKey ? "add" : "only");
    }
    const index = this.near(event);
    if (index === null) return;
    if (event.shiftKey && this.anchor !== null) {
      pick(rangeOf(this.anchor, index), "only");
    } else {
      this.anchor = index;
      pick([index], event.ctrlKey || event.metaKey ? "toggle" : "only");
    }
    this.cursorTo(index);
  }

  endDrag() {
    this.drag = null;
    this.band.hidden = true;
    hideTip();
  }

  within(from, to) {
    return this.recording.captures.filter((it) => this.drawnEnd(it) >= from && it.start <= to).map(({ index }) => index);
  }

  cursorTo(index) {
    this.bars[this.cursor]?.classList.remove("cursor");
    this.cursor = index;
    this.bars[index]?.classList.add("cursor");
    this.plot.setAttribute("aria-activedescendant", `capture-${index}`);
  }

  /** Gives one capture the keyboard's attention, and brings it into view. */
  point(index) {
    const capture = this.recording.captures[index];
    if (capture === undefined) return;
    if (!this.isInView(capture.start, capture.end)) {
      const half = (view.to - view.from) / 2;
      change({ from: capture.start - half, to: capture.start + half });
    }
    this.cursorTo(index);
    showTipAt(this.bars[index], captureLines(capture));
  }

  key(event) {
    if (event.altKey) return;
    const last = this.recording.captures.length - 1;
    const at = this.cursor ?? 0;
    const many = event.ctrlKey || event.metaKey;
    const go = (index) => {
      const target = Math.min(last, Math.max(0, index));
      if (event.shiftKey) {
        this.anchor ??= at;
        pick(rangeOf(this.anchor, target), "only");
      }
      this.point(target);
    };
    const moves = {
      ArrowLeft: () => go(at - 1),
      ArrowRight: () => go(at + 1),
      Home: () => go(0),
      End: () => go(last),
      PageUp: () => go(at - 10),
      PageDown: () => go(at + 10),
      Enter: () => this.keyPick(at, many),
      " ": () => this.keyPick(at, many),
      Escape: () => pick([], "only"),
      a: many ? () => pick(this.recording.captures.map(({ index }) => index), "only") : undefined,
    };
    const move = moves[event.key];
    if (move === undefined || last < 0) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  }

  keyPick(index, many) {
    this.anchor = index;
    pick([index], many ? "toggle" : "only");
    this.point(index);
  }
}

function inOrder(one, two) {
  return one <= two ? [one, two] : [two, one];
}

function rangeOf(one, two) {
  const [from, to] = inOrder(one, two);
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** Puts captures into the selection that picks go to. */
function pick(indices, how) {
  const now = view[view.active] ?? new Set();
  const chosen = new Set(how === "only" ? [] : now);
  for (const index of indices) {
    if (how === "toggle" && chosen.has(index)) chosen.delete(index);
    else chosen.add(index);
  }
  change({ [view.active]: chosen });
}
