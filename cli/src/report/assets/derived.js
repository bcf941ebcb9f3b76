// What follows from the view and the recording, computed once for all who draw it.

class Derived {
  constructor(recording) {
    this.recording = recording;
    watch(["base", "other", "task", "thread", "unit", "own"], () => this.sum());
    watch(["search"], () => this.match());
  }

  sum() {
    this.base = sumUp(this.recording, view.base, view);
    this.other = view.other === null ? null : sumUp(this.recording, view.other, view);
    this.measure = measureOf(this.base, this.other, view.unit);
  }

  match() {
    this.matches = matchesOf(this.recording, view.search);
  }

  /** Why there is nothing to draw, in a sentence; null if there is something. */
  whyEmpty() {
    const { recording } = this;
    if (recording.captures.length === 0) {
      return recording.notes.length === 0
        ? "There are no captures in this directory."
        : "There are no captures here that can be read. What was found is listed under the time line.";
    }
    if (view.base.size === 0) {
      return `No capture is selected${view.other === null ? "" : " as the base"}. Click one on the time line, drag over several, or choose “Select all”.`;
    }
    if (view.other !== null && view.other.size === 0) {
      return "Nothing to compare with yet: click a capture on the time line, or drag over several.";
    }
    if (this.base.cpu + (this.other?.cpu ?? 0) > 0) return null;
    if (view.task === null && view.thread === null) {
      return "The selected captures hold no samples: the process used too little CPU time to be met while it did.";
    }
    const task = view.task === null ? "" : ` of task ${rootName(recording, "task", view.task)}`;
    const thread = view.thread === null ? "" : ` on thread ${rootName(recording, "thread", view.thread)}`;
    return `The selected captures hold no samples${task}${thread}.`;
  }
}
