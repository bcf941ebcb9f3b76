// All frames, or only the application's own: what a library uses counts for who called it.

/** Shows the stacks of one of the two, in place: whoever draws need not know which. */
function chooseScope(recording, isOwn) {
  recording.scopes ??= {
    all: {
      stacks: recording.stacks,
      outermost: recording.outermost,
      rows: recording.captures.map(({ rows }) => rows.stack),
    },
  };
  const { scopes } = recording;
  if (isOwn) scopes.own ??= ownScope(recording, scopes.all);
  const scope = isOwn ? scopes.own : scopes.all;
  recording.stacks = scope.stacks;
  recording.outermost = scope.outermost;
  recording.captures.forEach(({ rows }, index) => (rows.stack = scope.rows[index]));
}

function ownScope(recording, all) {
  const { place, stacks } = withoutLibraries(all.stacks, recording.library);
  return {
    stacks,
    outermost: outermostOf(stacks, recording.names.length),
    rows: all.rows.map((rows) => rows.map((stack) => place[stack])),
  };
}

/** The stacks without the frames of libraries, and which of them each stack has become. */
function withoutLibraries(stacks, library) {
  const place = new Int32Array(stacks.size);
  const parents = [0];
  const functions = [0];
  const known = new Map();
  for (let stack = 1; stack < stacks.size; stack += 1) {
    const above = place[stacks.parent[stack]];
    const it = stacks.function[stack];
    if (library[it]) {
      place[stack] = above;
      continue;
    }
    const key = above * library.length + it;
    let number = known.get(key);
    if (number === undefined) {
      number = parents.length;
      known.set(key, number);
      parents.push(above);
      functions.push(it);
    }
    place[stack] = number;
  }
  return { place, stacks: linked(Int32Array.from(parents), Int32Array.from(functions)) };
}

function wireScope(recording) {
  watch(["own"], () => {
    chooseScope(recording, view.own);
    byId("own").setAttribute("aria-pressed", String(view.own));
  });
  const toggle = () => change({ own: !view.own, zoom: null });
  byId("own").addEventListener("click", toggle);
  return toggle;
}
