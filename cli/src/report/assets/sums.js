// Sums over the chosen captures, under the filters.

/** Everything that is shown of one selection. CPU is in nanoseconds. */
function sumUp(recording, chosen, { task, thread }) {
  const { stacks, labelTask, labelThread } = recording;
  const sums = {
    captures: chosen.size,
    /** Seconds that were sampled. */
    wall: 0,
    cpu: 0,
    count: 0,
    self: new Float64Array(stacks.size),
    /** Under the other filter only: what choosing this one would show. */
    byTask: new Float64Array(recording.tasks.length),
    byThread: new Float64Array(recording.threads.length),
  };
  for (const index of chosen) {
    const { rows, wall } = recording.captures[index];
    sums.wall += wall;
    for (let row = 0; row < rows.stack.length; row += 1) {
      const itsTask = labelTask[rows.label[row]];
      const itsThread = labelThread[rows.label[row]];
      const cpu = rows.cpu[row];
      const taskFits = task === null || task === itsTask;
      const threadFits = thread === null || thread === itsThread;
      if (threadFits) sums.byTask[itsTask] += cpu;
      if (taskFits) sums.byThread[itsThread] += cpu;
      if (!taskFits || !threadFits) continue;
      sums.self[rows.stack[row]] += cpu;
      sums.cpu += cpu;
      sums.count += rows.count[row];
    }
  }
  sums.functions = byFunction(recording, sums.self);
  return sums;
}

/** Self and cumulative CPU of each function. */
function byFunction(recording, self) {
  const { stacks, outermost } = recording;
  const functions = {
    self: new Float64Array(recording.names.length),
    total: new Float64Array(recording.names.length),
  };
  const total = Float64Array.from(self);
  for (let stack = stacks.size - 1; stack > 0; stack -= 1) {
    const it = stacks.function[stack];
    functions.self[it] += self[stack];
    if (outermost[stack]) functions.total[it] += total[stack];
    total[stacks.parent[stack]] += total[stack];
  }
  return functions;
}

/** CPU of the stacks that have one of the functions marked in `matches` in them. */
function matchedCpu(recording, self, matches) {
  const { stacks } = recording;
  const inside = new Uint8Array(stacks.size);
  let sum = 0;
  for (let stack = 1; stack < stacks.size; stack += 1) {
    inside[stack] = inside[stacks.parent[stack]] | matches[stacks.function[stack]];
    if (inside[stack]) sum += self[stack];
  }
  return sum;
}

/** Which functions have `search` in their name, in any case; null for no search. */
function matchesOf(recording, search) {
  const needle = search.trim().toLowerCase();
  if (needle === "") return null;
  return Uint8Array.from(recording.names, (name) => (name.toLowerCase().includes(needle) ? 1 : 0));
}

/**
 * The filtered rows of both selections, by what stands at the root: a map from
 * the number of a task or thread (0 for all in one) to stacks and their CPU.
 */
function rowsByRoot(recording, selections, { task, thread, by }) {
  const { labelTask, labelThread } = recording;
  const roots = new Map();
  selections.forEach((chosen, side) => {
    for (const index of chosen) {
      const { rows } = recording.captures[index];
      for (let row = 0; row < rows.stack.length; row += 1) {
        const itsTask = labelTask[rows.label[row]];
        const itsThread = labelThread[rows.label[row]];
        if (task !== null && task !== itsTask) continue;
        if (thread !== null && thread !== itsThread) continue;
        const key = by === "task" ? itsTask : by === "thread" ? itsThread : 0;
        let root = roots.get(key);
        if (root === undefined) roots.set(key, (root = { stack: [], side: [], cpu: [] }));
        root.stack.push(rows.stack[row]);
        root.side.push(side);
        root.cpu.push(rows.cpu[row]);
      }
    }
  });
  return roots;
}

/**
 * How CPU is shown: seconds and shares of one selection, or a comparison of two
 * in CPU seconds per second ("cores") or in shares.
 */
function measureOf(base, other, unit) {
  const baseScale = unit === "share" ? 1 / (base.cpu || 1) : 1 / (1e9 * (base.wall || 1));
  if (other === null) return { compares: false, width: (cpu) => cpu, share: (cpu) => (base.cpu ? cpu / base.cpu : 0) };
  const otherScale = unit === "share" ? 1 / (other.cpu || 1) : 1 / (1e9 * (other.wall || 1));
  return {
    compares: true,
    text: unit === "share" ? percent : coresExactly,
    suffix: unit === "share" ? "" : " cores",
    ofBase: (cpu) => cpu * baseScale,
    ofOther: (cpu) => cpu * otherScale,
    change: (cpu, otherCpu) => otherCpu * otherScale - cpu * baseScale,
    // The mean, so that what vanished is as wide as what is new.
    width: (cpu, otherCpu) => (cpu * baseScale + otherCpu * otherScale) / 2,
  };
}
