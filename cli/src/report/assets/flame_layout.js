// Where each frame of the flame graph lies: the root above, callees below.

/** Most frames that are laid out, of one root level by level. */
const FRAMES_MAX = 4000;
/** Most levels below the root or the zoomed frame. */
const LEVELS_MAX = 250;

/**
 * Frames as `{ root, stack, depth, left, width, base, other, self, selfOther, parent,
 * children, above }`: `root` is a key of `roots` (null for everything), `stack` the
 * number of the stack it ends (0 for none), left and width are shares of the
 * whole, `above` says that it only leads to the zoomed frame.
 * Frames narrower than `narrowest` are left out and counted.
 */
function layoutFlame(recording, roots, { grouped, measure, zoom, narrowest }) {
  const sums = new StackSums(recording);
  const frames = [];
  let hidden = 0;
  const add = (frame) => {
    const parent = frames[frame.parent];
    if (parent !== undefined) parent.children.push(frames.length);
    frames.push({ children: [], above: false, selfBase: 0, selfOther: 0, ...frame });
    return frames.length - 1;
  };
  const widths = new Map();
  const all = { base: 0, other: 0 };
  for (const [key, rows] of roots) {
    const sum = { base: 0, other: 0 };
    rows.cpu.forEach((cpu, row) => (sum[rows.side[row] ? "other" : "base"] += cpu));
    all.base += sum.base;
    all.other += sum.other;
    widths.set(key, { ...sum, width: measure.width(sum.base, sum.other) });
  }
  const whole = measure.width(all.base, all.other);
  if (!(whole > 0)) return { frames, hidden, whole };

  const keys = [...roots.keys()].filter((key) => zoom === null || zoom.root === null || key === zoom.root);
  keys.sort((one, two) => widths.get(two).width - widths.get(one).width || one - two);
  const zoomed = zoom !== null && (zoom.root !== null || zoom.stack !== 0);
  const top = add({ root: null, stack: 0, depth: 0, left: 0, width: 1, parent: -1, above: zoomed, ...all });

  let left = 0;
  for (const key of keys) {
    const sum = widths.get(key);
    let scale = 1 / whole;
    if (zoomed) {
      sums.load(roots.get(key));
      const inside = zoom.stack === 0 ? sum.width : measure.width(sums.base[zoom.stack], sums.other[zoom.stack]);
      // What it was zoomed to is gone under the new filter or selection.
      if (!(inside > 0)) return layoutFlame(recording, roots, { grouped, measure, zoom: null, narrowest });
      scale = 1 / inside;
    } else if (sum.width * scale < narrowest || frames.length >= FRAMES_MAX) {
      hidden += 1;
      continue;
    } else {
      sums.load(roots.get(key));
    }
    let parent = top;
    if (grouped) {
      const width = zoomed ? 1 : sum.width * scale;
      const above = zoomed && zoom.stack !== 0;
      parent = add({ root: key, stack: 0, depth: 1, left, width, parent: top, above, base: sum.base, other: sum.other });
    }
    if (zoomed) {
      for (const stack of pathTo(recording.stacks, zoom.stack)) {
        const { depth } = frames[parent];
        parent = add({ root: key, stack, depth: depth + 1, left: 0, width: 1, parent, above: stack !== zoom.stack, ...sums.of(stack) });
      }
    }
    hidden += layoutBelow(recording.stacks, sums, frames, add, { parent, key, measure, scale, narrowest });
    sums.clear();
    left += sum.width * scale;
  }
  return { frames, hidden, whole };
}

/** Lays out all that is called by a frame; returns how many frames were left out. */
function layoutBelow(stacks, sums, frames, add, { parent, key, measure, scale, narrowest }) {
  let hidden = 0;
  const queue = [parent];
  const deepest = frames[parent].depth + LEVELS_MAX;
  for (let at = 0; at < queue.length; at += 1) {
    const frame = frames[queue[at]];
    const below = [];
    for (let stack = stacks.first[frame.stack]; stack !== 0; stack = stacks.next[stack]) {
      const width = measure.width(sums.base[stack], sums.other[stack]) * scale;
      if (width > 0) below.push({ stack, width });
    }
    below.sort((one, two) => two.width - one.width || one.stack - two.stack);
    let { left } = frame;
    for (const { stack, width } of below) {
      if (width < narrowest || frames.length >= FRAMES_MAX || frame.depth >= deepest) {
        hidden += 1;
        continue;
      }
      queue.push(add({ root: key, stack, depth: frame.depth + 1, left, width, parent: queue[at], ...sums.of(stack) }));
      left += width;
    }
  }
  return hidden;
}

/** The stacks that lead to `stack`, from the root's side, and itself. */
function pathTo(stacks, stack) {
  const path = [];
  for (let it = stack; it !== 0; it = stacks.parent[it]) path.unshift(it);
  return path;
}

/** Sums of the rows of one root by stack, callees included; cleared and used again. */
class StackSums {
  constructor(recording) {
    this.parent = recording.stacks.parent;
    const { size } = recording.stacks;
    this.size = size;
    this.base = new Float64Array(size);
    this.other = new Float64Array(size);
    this.selfBase = new Float64Array(size);
    this.selfOther = new Float64Array(size);
    this.isTouched = new Uint8Array(size);
    this.touched = [];
  }

  load(rows) {
    rows.stack.forEach((stack, row) => {
      (rows.side[row] ? this.selfOther : this.selfBase)[stack] += rows.cpu[row];
    });
    // Callees come after their callers. Many rows touch most stacks anyway.
    this.isDense = rows.stack.length * 8 > this.size;
    if (this.isDense) {
      for (let stack = this.size - 1; stack > 0; stack -= 1) this.addToCaller(stack);
      return;
    }
    for (const stack of rows.stack) {
      for (let it = stack; it !== 0 && !this.isTouched[it]; it = this.parent[it]) {
        this.isTouched[it] = 1;
        this.touched.push(it);
      }
    }
    this.touched = Int32Array.from(this.touched).sort();
    for (let at = this.touched.length - 1; at >= 0; at -= 1) this.addToCaller(this.touched[at]);
  }

  addToCaller(stack) {
    this.base[stack] += this.selfBase[stack];
    this.other[stack] += this.selfOther[stack];
    this.base[this.parent[stack]] += this.base[stack];
    this.other[this.parent[stack]] += this.other[stack];
  }

  of(stack) {
    return {
      base: this.base[stack],
      other: this.other[stack],
      selfBase: this.selfBase[stack],
      selfOther: this.selfOther[stack],
    };
  }

  clear() {
    const all = [this.base, this.other, this.selfBase, this.selfOther];
    if (this.isDense) for (const sums of all) sums.fill(0);
    for (const stack of this.touched) {
      for (const sums of all) sums[stack] = 0;
      this.isTouched[stack] = 0;
    }
    this.base[0] = 0;
    this.other[0] = 0;
    this.touched = [];
  }
}
