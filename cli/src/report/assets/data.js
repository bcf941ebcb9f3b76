// The recording: unpacked, and as arrays that are quick to sum over.
//
// Stack 0 is the root. A stack comes after the one it extends, so one pass from
// the end to the start sums children into parents.

async function readRecording(element) {
  const packed = atob(element.textContent);
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return expand(JSON.parse(await new Response(plain).text()));
}

function expand(wire) {
  const strings = wire.strings.map(visible);
  const text = (number) => (number === null ? null : strings[number]);
  const stacks = expandStacks(wire.stacks);
  return {
    directory: visible(wire.directory),
    version: wire.version,
    from: wire.from,
    to: wire.to,
    deadline: wire.deadline,
    notes: wire.notes.map((note) => ({ ...note, entry: visible(note.entry), text: visible(note.text) })),
    gaps: wire.gaps,
    names: wire.functions.name.map(text),
    shorts: wire.functions.short.map(text),
    library: Uint8Array.from(wire.functions.library),
    stacks,
    outermost: outermostOf(stacks, wire.functions.name.length),
    tasks: wire.tasks.map(text),
    threads: wire.threads.map(text),
    labelTask: Int32Array.from(wire.labels.task),
    labelThread: Int32Array.from(wire.labels.thread),
    captures: wire.captures.map((capture, index) => expandCapture(capture, index, text)),
  };
}

function expandCapture(capture, index, text) {
  const { rows } = capture;
  const stack = Int32Array.from(rows.stack);
  for (let row = 1; row < stack.length; row += 1) stack[row] += stack[row - 1];
  return {
    ...capture,
    index,
    reason: text(capture.reason),
    build: text(capture.build),
    sampler: text(capture.sampler),
    rust: text(capture.rust),
    details: capture.details.map((line) => line.map(text)),
    warnings: capture.warnings.map(text),
    rows: {
      stack,
      label: Int32Array.from(rows.label),
      count: Float64Array.from(rows.count),
      cpu: Float64Array.from(rows.cpu),
    },
  };
}

function expandStacks(wire) {
  const parent = Int32Array.from(wire.up, (up, stack) => stack - up);
  return linked(parent, Int32Array.from(wire.function));
}

/** Stacks with the way from each to those that extend it. */
function linked(parent, functions) {
  const size = parent.length;
  const stacks = {
    size,
    parent,
    function: functions,
    // 0 is nobody's child or sibling, and stands for none.
    first: new Int32Array(size),
    next: new Int32Array(size),
  };
  for (let stack = size - 1; stack > 0; stack -= 1) {
    stacks.next[stack] = stacks.first[parent[stack]];
    stacks.first[parent[stack]] = stack;
  }
  return stacks;
}

/**
 * Which stacks end in a function that is not further up in them: a function's
 * cumulative time is the sum over these, or recursion would count twice.
 */
function outermostOf(stacks, functions) {
  const outermost = new Uint8Array(stacks.size);
  const open = new Int32Array(functions);
  const enter = (stack) => {
    const it = stacks.function[stack];
    outermost[stack] = open[it] === 0 ? 1 : 0;
    open[it] += 1;
  };
  const leave = (stack) => {
    open[stacks.function[stack]] -= 1;
  };
  let stack = 0;
  for (;;) {
    if (stacks.first[stack] !== 0) {
      stack = stacks.first[stack];
      enter(stack);
      continue;
    }
    while (stack !== 0 && stacks.next[stack] === 0) {
      leave(stack);
      stack = stacks.parent[stack];
    }
    if (stack === 0) return outermost;
    leave(stack);
    stack = stacks.next[stack];
    enter(stack);
  }
}
