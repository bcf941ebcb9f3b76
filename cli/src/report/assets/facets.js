// CPU by task and by thread; choosing one counts only that one.

class Facet {
  /** `by` is "task" or "thread". */
  constructor(recording, derived, by) {
    this.recording = recording;
    this.derived = derived;
    this.by = by;
    this.holder = byId(`${by}s`);
    watch(["base", "other", "task", "thread", "unit"], () => this.draw());
  }

  /** CPU of each, of the selection or of both that are compared. */
  sums(side) {
    return this.by === "task" ? side.byTask : side.byThread;
  }

  draw() {
    const { base, other, measure } = this.derived;
    const first = this.sums(base);
    const second = other === null ? null : this.sums(other);
    const chosen = view[this.by];
    const numbers = [...first.keys()].filter((it) => first[it] > 0 || second?.[it] > 0 || it === chosen);
    const size = (it) => first[it] + (second?.[it] ?? 0);
    numbers.sort((one, two) => size(two) - size(one) || one - two);
    const total = (sums) => sums.reduce((sum, it) => sum + it, 0);
    const wholes = [total(first), second === null ? 0 : total(second)];
    const hadFocus = this.holder.contains(document.activeElement);

    const option = (value, name, mine) => {
      const input = make("input", {
        type: "radio",
        name: `${this.by}-filter`,
        value: value ?? "all",
        onchange: () => change({ [this.by]: value, zoom: null }),
      });
      input.checked = value === chosen;
      return make(
        "label",
        { class: value === null ? "facet all" : "facet", title: name },
        input,
        make("bdi", { class: "facet-name", text: name }),
        make("span", { class: "facet-amount", text: this.amount(mine, wholes) }),
        make("span", { class: "meter" }, make("i", { style: { width: `${(mine[0] / (wholes[0] || 1)) * 100}%` } })),
        measure.compares
          ? make("span", { class: "meter other" }, make("i", { style: { width: `${(mine[1] / (wholes[1] || 1)) * 100}%` } }))
          : null,
      );
    };
    fill(
      this.holder,
      option(null, `All ${this.by}s`, wholes),
      ...numbers.map((it) => option(it, rootName(this.recording, this.by, it), [first[it], second?.[it] ?? 0])),
    );
    if (hadFocus) this.holder.querySelector("input:checked")?.focus();
  }

  amount([cpu, otherCpu], [whole, otherWhole]) {
    const { base, other, measure } = this.derived;
    if (!measure.compares) return `${cpuBriefly(cpu)} · ${percent(cpu / (whole || 1))}`;
    if (view.unit === "share") return `${percent(cpu / (whole || 1))} → ${percent(otherCpu / (otherWhole || 1))}`;
    return `${cores(cpu / 1e9 / (base.wall || 1))} → ${cores(otherCpu / 1e9 / (other.wall || 1))}`;
  }
}
