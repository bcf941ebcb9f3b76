// The flame graph: drawn, pointed at, and walked through with the keyboard.

const ROW = 20;
/** Frames narrower than this many pixels are not drawn. */
const NARROWEST = 0.7;
/** Frames narrower than this many pixels have no room for a line between them. */
const SLIM = 3;
const HUES = 10;

class Flame {
  constructor(recording, derived) {
    this.recording = recording;
    this.derived = derived;
    this.frames = [];
    this.elements = [];
    this.at = 0;
    this.element = make("div", {
      class: "flame",
      role: "tree",
      tabindex: "0",
      "aria-label": "Flame graph: arrow keys move, Enter zooms in, Escape zooms out",
      onkeydown: (event) => this.key(event),
      onfocus: () => this.point(this.at),
      onblur: hideTip,
      onclick: (event) => this.click(event),
      onpointermove: (event) => this.hover(event),
      onpointerleave: hideTip,
    });
    this.hues = recording.names.map((name, it) => (recording.library[it] ? "library" : `hue-${hash(familyOf(name)) % HUES}`));
    watch(["base", "other", "task", "thread", "by", "unit", "own", "zoom", "width"], () => this.draw());
    watch(["search", "base", "other", "task", "thread", "by", "unit", "own", "zoom", "width"], () => this.mark());
  }

  /** The name of a frame, and what it is for those who cannot see where it lies. */
  name(frame) {
    if (frame.stack !== 0) return this.recording.shorts[this.recording.stacks.function[frame.stack]];
    if (frame.root === null) return view.by === "none" ? "everything" : `all ${view.by}s`;
    return rootName(this.recording, view.by, frame.root);
  }

  draw() {
    const { measure } = this.derived;
    const holder = byId("flame");
    const why = this.derived.whyEmpty();
    byId("flame-note").textContent = "";
    byId("flame-key").hidden = !measure.compares || why !== null;
    if (why !== null) {
      this.frames = [];
      this.elements = [];
      fill(holder, empty(why));
      return;
    }
    if (this.element.parentNode !== holder) fill(holder, this.element);
    const selections = measure.compares ? [view.base, view.other] : [view.base];
    const roots = rowsByRoot(this.recording, selections, view);
    const layout = layoutFlame(this.recording, roots, {
      grouped: view.by !== "none",
      measure,
      zoom: view.zoom,
      narrowest: NARROWEST / (this.element.clientWidth || 1000),
    });
    this.frames = layout.frames;
    this.whole = layout.whole;
    this.at = Math.max(0, this.frames.findIndex((frame) => isZoom(frame)));
    this.drawFrames();
    if (layout.hidden > 0) {
      byId("flame-note").textContent =
        `${plural(layout.hidden, "frame")} too narrow or too deep to draw, and what they call: zoom in to see them.`;
    }
  }

  drawFrames() {
    const { measure } = this.derived;
    const most = measure.compares
      ? Math.max(...this.frames.map(({ base, other }) => Math.abs(measure.change(base, other))), Number.MIN_VALUE)
      : 1;
    const width = this.element.clientWidth || 1000;
    let deepest = 0;
    this.elements = this.frames.map((frame, number) => {
      deepest = Math.max(deepest, frame.depth);
      const colour = measure.compares ? changeClass(measure.change(frame.base, frame.other) / most) : this.colour(frame);
      return make("div", {
        id: `frame-${number}`,
        class: `frame ${colour}${frame.above ? " above" : ""}${frame.width * width < SLIM ? " slim" : ""}`,
        role: "treeitem",
        "aria-level": frame.depth + 1,
        "aria-label": `${this.name(frame)}: ${this.amount(frame)}`,
        "data-number": number,
        text: this.name(frame),
        style: {
          left: `${frame.left * 100}%`,
          width: `${frame.width * 100}%`,
          top: `${frame.depth * ROW}px`,
        },
      });
    });
    fill(this.element, ...this.elements);
    this.element.style.setProperty("height", `${(deepest + 1) * ROW}px`);
    this.element.setAttribute("aria-activedescendant", `frame-${this.at}`);
    hideTip();
  }

  colour(frame) {
    if (frame.stack === 0) return "root";
    return this.hues[this.recording.stacks.function[frame.stack]];
  }

  amount({ base, other }) {
    const { measure } = this.derived;
    if (!measure.compares) return `${cpuSeconds(base)}, ${percent(measure.share(base))}`;
    const { text, suffix } = measure;
    return (
      `${text(measure.ofBase(base))} in the base, ${text(measure.ofOther(other))} in the other` +
      ` (${signed(measure.change(base, other), text)}${suffix})`
    );
  }

  /** What a frame's tip says. */
  lines(frame) {
    const { measure } = this.derived;
    const full = frame.stack === 0 ? this.name(frame) : this.recording.names[this.recording.stacks.function[frame.stack]];
    const { base, other, selfBase, selfOther } = frame;
    if (measure.compares) {
      const lines = [full, this.amount(frame)];
      if (selfBase + selfOther > 0) lines.push(`itself ${this.amount({ base: selfBase, other: selfOther })}`);
      return lines;
    }
    const lines = [full, `${cpuSeconds(base)} with what it calls, ${percent(measure.share(base))}`];
    if (frame.stack !== 0) lines.push(`${cpuSeconds(selfBase)} itself`);
    const parent = this.frames[frame.parent];
    if (parent !== undefined && parent.parent >= 0) lines.push(`${percent(base / parent.base)} of its caller`);
    return lines;
  }

  /** Shows what the search found, without laying anything out again. */
  mark() {
    const { matches } = this.derived;
    const { stacks } = this.recording;
    this.element.classList.toggle("searched", matches !== null);
    this.elements.forEach((element, number) => {
      const { stack } = this.frames[number];
      element.classList.toggle("match", matches !== null && stack !== 0 && matches[stacks.function[stack]] === 1);
    });
  }

  zoomTo(number) {
    const frame = this.frames[number];
    if (frame === undefined) return;
    change({ zoom: frame.parent < 0 ? null : { root: frame.root, stack: frame.stack } });
  }

  click(event) {
    const number = numberOf(event.target);
    if (number !== null) this.zoomTo(number);
  }

  hover(event) {
    const number = numberOf(event.target);
    if (number === null) return hideTip();
    showTip(this.lines(this.frames[number]), event.clientX, event.clientY);
  }

  /** Gives one frame the keyboard's attention. */
  point(number) {
    const frame = this.frames[number];
    if (frame === undefined) return;
    this.elements[this.at]?.classList.remove("cursor");
    this.at = number;
    const element = this.elements[number];
    element.classList.add("cursor");
    this.element.setAttribute("aria-activedescendant", element.id);
    element.scrollIntoView({ block: "nearest" });
    showTipAt(element, this.lines(frame));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const frame = this.frames[this.at];
    if (frame === undefined) return;
    const siblings = frame.parent < 0 ? [this.at] : this.frames[frame.parent].children;
    const place = siblings.indexOf(this.at);
    const moves = {
      ArrowDown: () => this.point(frame.children[0]),
      ArrowUp: () => this.point(frame.parent),
      ArrowLeft: () => this.point(siblings[place - 1]),
      ArrowRight: () => this.point(siblings[place + 1]),
      Home: () => this.point(0),
      Enter: () => this.keyZoom(() => this.zoomTo(this.at)),
      " ": () => this.keyZoom(() => this.zoomTo(this.at)),
      Escape: () => this.keyZoom(() => change({ zoom: null })),
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  }

  keyZoom(zoom) {
    zoom();
    this.point(this.at);
  }
}

function isZoom(frame) {
  return view.zoom !== null && frame.root === view.zoom.root && frame.stack === view.zoom.stack;
}

function numberOf(target) {
  const number = target.dataset?.number;
  return number === undefined ? null : Number(number);
}

/** A class for a change that is `share` (from -1 to 1) of the largest one. */
function changeClass(share) {
  const size = Math.abs(share);
  if (size < 0.01) return "same";
  return `${share > 0 ? "slower" : "faster"}-${Math.ceil(4 * Math.sqrt(size))}`;
}

/** The name of a task or thread by its number. */
function rootName(recording, by, number) {
  const name = (by === "task" ? recording.tasks : recording.threads)[number];
  if (name !== null) return name;
  return by === "task" ? "(no task)" : "(no name)";
}
